// The places of a show: seats are kept off sale and put back, and places are
// sold at the counter, seats of a block from the block.
import {
  blockSeats, confirmReservation, listChanges, placeReservation, readSeats, releaseReservation, unblockSeats,
  type ConfirmReservationData, type MapSeat, type Show,
} from '@rowlock/client'
import { html, nothing } from 'lit'
import { customElement, property, query, state } from 'lit/decorators.js'
import type { RowlockMap, Selection } from '../map/rowlock-map.ts'
import '../map/index.ts'
import { all, answered, client, count, many, money, write } from './client.ts'
import { field, text, View } from './view.ts'

type Method = ConfirmReservationData['body']['paymentMethod']
const methods: [Method, string][] = [
  ['cash', 'Cash'], ['terminal', 'Card terminal'], ['invoice', 'Invoice'], ['comp', 'Nothing: it is given away'], ['external', 'Another system'],
]

/** Seats that are kept off sale together. */
interface Block {
  seats: MapSeat[]
  reason: string
}

@customElement('organiser-places')
export class Places extends View {
  @property({ attribute: false }) facts!: Show
  @state() private selection: Selection | undefined
  @state() private method: Method = 'cash'
  @state() private ticketType = 'standard'
  @state() private blocks: Map<string, Block> | undefined
  @query('rowlock-map') private map!: RowlockMap

  private get show() {
    return this.facts.showId
  }

  override render() {
    const s = this.selection, seats = s?.seats ?? [], areas = s?.areas ?? []
    const n = seats.length + areas.reduce((sum, a) => sum + a.quantity, 0)
    const labels = [...areas.map((a) => `${count(a.quantity)} × ${a.name}`), ...seats.map((c) => c.label)]
    const blocks = this.may('catalogue:write') || this.may('reservations:staff')
    const sells = this.may('reservations:staff') && this.may('bookings:confirm')
    return html`<section aria-labelledby="places">
      <h2 id="places">Places</h2>
      ${this.news()}
      <div class="beside">
        <rowlock-map show=${this.show} mode="organiser" @selection-change=${(e: CustomEvent<Selection>) => (this.selection = e.detail)}></rowlock-map>
        <div class="panel">
          <h3>${n ? `${count(n)} chosen` : 'Nothing chosen'}</h3>
          ${n === 0 ? html`<p class="note">${blocks || sells ? `Choose places on the map or in its list, to ${[blocks ? 'keep seats off sale or put them back' : '', sells ? 'sell here' : ''].filter(Boolean).join(', or to ')}.` : 'To block and to sell places needs more rights than you have.'}</p>` : html`
            <p class="labels">${labels.slice(0, 30).join(', ')}${labels.length > 30 ? ' …' : ''}</p>
            <p><button type="button" @click=${this.clear}>Choose nothing</button></p>
            ${blocks && seats.length ? html`<form @submit=${this.block}>
              ${field('reason', 'Keep off sale, because', html`<input id="reason" name="reason" required maxlength="500" />`)}
              <p class="actions"><button ?disabled=${this.busy}>Block</button> <button type="button" ?disabled=${this.busy} @click=${this.unblock}>Put back on sale</button></p>
            </form>` : nothing}
            ${sells ? this.till() : nothing}`}
        </div>
      </div>
      ${this.facts.planId && (this.may('sales:read') || this.may('reservations:staff')) ? html`<details @toggle=${(e: Event) => (e.currentTarget as HTMLDetailsElement).open && this.readBlocks()}>
        <summary>What is kept off sale</summary>
        ${this.blocks?.size === 0 ? html`<p class="note">Nothing is.</p>` : nothing}
        <ul class="blocks">${[...(this.blocks ?? [])].map(([, b]) => html`<li><strong>${b.reason || 'Blocked'}</strong>, ${many(b.seats.length, 'seat')}
          <span class="labels">${b.seats.slice(0, 12).map((seat) => seat.label).join(', ')}${b.seats.length > 12 ? ' …' : ''}</span>
          <button type="button" @click=${() => this.choose(b.seats)}>Choose them</button></li>`)}</ul>
      </details>` : nothing}
    </section>`
  }

  private till() {
    if (!this.facts.saleOpen) return html`<p class="note">Nothing is on sale now, so nothing can be sold here.</p>`
    const types = this.types(), total = this.total()
    return html`<form @submit=${this.sell}>
      <h3>Sell here</h3>
      ${types.length > 1 ? field('ticket-type', 'Ticket type of the seats', html`<select id="ticket-type" @change=${(e: Event) => (this.ticketType = (e.target as HTMLSelectElement).value)}>
        ${types.map((t) => html`<option ?selected=${t === this.typeOfSeats()}>${t}</option>`)}</select>`) : nothing}
      ${field('method', 'Paid by', html`<select id="method" name="method" @change=${(e: Event) => (this.method = (e.target as HTMLSelectElement).value as Method)}>
        ${methods.map(([m, words]) => html`<option value=${m} ?selected=${m === this.method}>${words}</option>`)}</select>`)}
      ${field('reference', 'Receipt or invoice', html`<input id="reference" name="reference" maxlength="200" ?required=${this.method !== 'comp' && total > 0} />`)}
      ${field('buyer', 'Name', html`<input id="buyer" name="buyer" maxlength="200" autocomplete="off" />`)}
      ${field('email', 'Mail', html`<input id="email" name="email" type="email" maxlength="320" autocomplete="off" aria-describedby="email-hint" />`, 'The tickets go there. Without name and mail, print them from the booking.')}
      <p><button class="primary" ?disabled=${this.busy}>${this.method === 'comp' ? 'Give away' : `Sell for ${money(total, this.facts.currency)}`}</button></p>
    </form>`
  }

  private price(category: string, ticketType: string): number | undefined {
    return this.facts.prices.find((p) => p.category === category && p.ticketType === ticketType)?.amount
  }

  /** The ticket types that all chosen seats have a price for. */
  private types(): string[] {
    const categories = [...new Set((this.selection?.seats ?? []).map((s) => s.category))]
    if (categories.length === 0) return []
    return [...new Set(this.facts.prices.map((p) => p.ticketType))].filter((t) => categories.every((c) => this.price(c, t) !== undefined))
  }

  private typeOfSeats(): string {
    return this.types().includes(this.ticketType) ? this.ticketType : 'standard'
  }

  private total(): number {
    const s = this.selection, type = this.typeOfSeats()
    return (s?.seats ?? []).reduce((n, seat) => n + (this.price(seat.category, type) ?? 0), 0) + (s?.areas ?? []).reduce((n, a) => n + a.price * a.quantity, 0)
  }

  private choose(seats: { seatId: string }[]) {
    this.map.choose(seats)
    this.selection = this.map.selection
  }

  private clear() {
    this.choose([])
  }

  private seats() {
    return (this.selection?.seats ?? []).map(({ seatId }) => ({ seatId }))
  }

  private block(e: SubmitEvent) {
    e.preventDefault()
    const form = e.target as HTMLFormElement
    const seats = this.seats(), reason = text(form, 'reason')
    void this.act(async () => {
      const done = await write((headers) => blockSeats({ client, path: { showId: this.show }, headers, body: { seats, reason } }))
      await this.changed()
      return `${many(done.seatCount, 'seat')} off sale.`
    })
  }

  private unblock() {
    const seats = this.seats()
    void this.act(async () => {
      const done = await write((headers) => unblockSeats({ client, path: { showId: this.show }, headers, body: { seats } }))
      await this.changed()
      return `${many(done.seatCount, 'seat')} on sale again.`
    })
  }

  private async changed() {
    this.clear()
    if (this.blocks) await this.readBlocks()
  }

  /** Holds the places, seats of a block from the block, and books them at once. */
  private sell(e: SubmitEvent) {
    e.preventDefault()
    const form = e.target as HTMLFormElement, ticketType = this.typeOfSeats()
    const seats = this.seats().map((s) => ({ ...s, ticketType }))
    const areas = (this.selection?.areas ?? []).map(({ areaId, ticketType, quantity }) => ({ areaId, ticketType, quantity }))
    const email = text(form, 'email'), name = text(form, 'buyer'), paymentReference = text(form, 'reference'), paymentMethod = this.method
    void this.act(async () => {
      if (name && !email) throw new Error('A name needs a mail address; leave both empty to sell without.')
      if (email && !name) throw new Error('A mail address needs a name.')
      const fromBlockId = seats.length ? await this.blockOf(seats) : undefined
      const hold = await write((headers) => placeReservation({
        client, headers, body: {
          showId: this.show, customerId: 'box-office', ...(seats.length ? { seats } : {}), ...(areas.length ? { areas } : {}), ...(fromBlockId ? { fromBlockId } : {}),
        },
      }))
      try {
        const booking = await write((headers) => confirmReservation({
          client, headers, path: { reservationId: hold.reservationId },
          body: { paymentMethod, ...(paymentReference ? { paymentReference } : {}), ...(email ? { buyer: { name, email } } : {}) },
        }))
        this.clear()
        location.hash = `#/bookings/${booking.bookingId}`
      } catch (refused) {
        await write((headers) => releaseReservation({ client, headers, path: { reservationId: hold.reservationId } })).catch(() => undefined)
        throw refused
      }
    })
  }

  private async blockedSeats(): Promise<MapSeat[]> {
    return (await answered(readSeats({ client, path: { showId: this.show }, query: { view: 'staff', status: 'blocked' } }))).seats
  }

  /** The block that some of the seats are in. A sale takes one block's seats, and free ones. */
  private async blockOf(seats: { seatId: string }[]): Promise<string | undefined> {
    const wanted = new Set(seats.map((s) => s.seatId))
    const blocks = new Set((await this.blockedSeats()).filter((s) => wanted.has(s.seatId)).map((s) => s.blockId))
    if (blocks.size > 1) throw new Error('These seats are in different blocks: sell those of one block at a time.')
    return [...blocks][0]
  }

  private readBlocks() {
    return this.load(async () => {
      const [seats, changes] = await Promise.all([this.blockedSeats(), this.may('sales:read') ? all(async (cursor) => {
        const page = await answered(listChanges({ client, query: { showId: this.show, type: 'place.blocked', limit: 200, ...cursor } }))
        return { ...page, list: page.changes }
      }) : []])
      const reasons = new Map(changes.map((c) => [c.object.id, c.note]))
      const blocks = new Map<string, Block>()
      for (const seat of seats) {
        const id = seat.blockId ?? ''
        if (!blocks.has(id)) blocks.set(id, { seats: [], reason: reasons.get(id) ?? '' })
        blocks.get(id)!.seats.push(seat)
      }
      return blocks
    }, (blocks) => (this.blocks = blocks))
  }
}
