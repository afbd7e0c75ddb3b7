// One show as it sells: its figures as they change, its map, seats kept off
// sale and sold from there, and what steers the sale.
import {
  blockSeats, cancelShow, confirmReservation, pauseShow, placeReservation, publishShow, readAvailability, readSales, readSeats, readShow, releaseReservation,
  resumeShow, unblockSeats, type Availability, type Sales, type Show,
} from '@rowlock/client'
import { html, nothing, svg } from 'lit'
import { customElement, property, query, state } from 'lit/decorators.js'
import { Live } from '../map/live.ts'
import type { RowlockMap, Selection } from '../map/rowlock-map.ts'
import '../map/index.ts'
import { answered, client, count, many, money, Refusal, said, when, write } from './client.ts'
import { learnTitles, titles } from './shows.ts'
import { badge, field, text, View } from './view.ts'

/** What a waiting room says of itself. */
interface Queue {
  open: boolean
  waiting?: number
  settings?: { ratePerMinute?: number }
}

const settleMillis = 400 // changes come in bursts; figures are asked for after each

@customElement('organiser-show')
export class ShowView extends View {
  @property() show = ''
  @state() private facts: Show | undefined
  @state() private sales: Sales | undefined
  @state() private free: Availability | undefined
  @state() private queue: Queue | undefined
  @state() private condition: 'live' | 'asking' | 'away' | '' = ''
  @state() private selection: Selection | undefined
  @query('dialog') private dialog!: HTMLDialogElement
  @query('rowlock-map') private map!: RowlockMap
  private stream: Live | undefined
  private hasQueue = true // until the server says that it has none
  private soon: ReturnType<typeof setTimeout> | undefined

  override connectedCallback() {
    super.connectedCallback()
    this.keep(15_000, () => this.read())
    this.stream = new Live(client, this.show, {
      snapshot: () => this.changed(),
      changes: () => this.changed(),
      condition: (now) => (this.condition = now),
    })
    void this.stream.run()
  }

  override disconnectedCallback() {
    super.disconnectedCallback()
    this.stream?.stop()
    clearTimeout(this.soon)
  }

  private changed() {
    this.soon ??= setTimeout(() => {
      this.soon = undefined
      this.read().catch((e) => (this.trouble ||= said(e)))
    }, settleMillis)
  }

  private async read() {
    const path = { showId: this.show }
    const [facts, free, queue, sales] = await Promise.all([
      answered(readShow({ client, path })),
      answered(readAvailability({ client, path })),
      this.hasQueue ? answered<Queue>(client.get({ url: '/shows/{showId}/queue', path }) as never).catch((e) => {
        if (e instanceof Refusal && e.status === 404) this.hasQueue = false
        return undefined
      }) : undefined,
      this.may('sales:read') ? answered(readSales({ client, path })) : undefined,
    ])
    await learnTitles([facts.eventId])
    this.facts = facts
    this.free = free
    this.queue = queue
    this.sales = sales
  }

  override render() {
    const s = this.facts
    if (!s) return html`<h1>Show</h1>${this.news()}<p class="note">The show is coming …</p>`
    return html`
      <p class="back"><a href="#/">Shows</a></p>
      <h1>${titles.get(s.eventId) || 'Untitled'} ${badge(s.status)}</h1>
      <p class="lead">${when(s.startsAt, s.timeZone)}${s.venue ? `, ${s.venue.name}, ${s.venue.city}` : ''}${s.hall ? `, ${s.hall.name}` : ''}</p>
      ${this.news()}
      ${this.steering(s)}
      ${this.figures()}
      ${this.classes()}
      ${s.planId ? this.places(s) : nothing}
      <dialog aria-labelledby="sure">
        <h2 id="sure">Cancel this show?</h2>
        <p>For good: nothing can be held or sold any more, and every buyer gets all their money back${this.sales ? `, ${money(this.sales.takenAmount - this.sales.refundedAmount, s.currency)} in all` : ''}.</p>
        <form method="dialog" @submit=${(e: SubmitEvent) => (e.submitter as HTMLButtonElement).value === 'yes' && this.steer(cancelShow, 'The show is cancelled; buyers are being paid back.')}>
          <button value="no" autofocus>Keep it</button> <button value="yes" class="danger">Cancel the show</button>
        </form>
      </dialog>`
  }

  private steer(verb: typeof pauseShow | typeof cancelShow, words: string) {
    void this.act(async () => {
      await write((headers) => verb({ client, path: { showId: this.show }, headers }))
      await this.read()
      return words
    })
  }

  private setQueue(open: boolean) {
    void this.act(async () => {
      const url = open ? '/shows/{showId}/queue/open' : '/shows/{showId}/queue/close'
      await write((headers) => client.post({ url, path: { showId: this.show }, headers }) as never)
      await this.read()
      return open ? 'The waiting room is open: who wants to hold places needs a turn.' : 'The waiting room is closed: places can be held without a turn.'
    })
  }

  private steering(s: Show) {
    const button = (verb: typeof pauseShow, name: string, words: string, kind = '') =>
      html`<button type="button" class=${kind} ?disabled=${this.busy} @click=${() => this.steer(verb, words)}>${name}</button>`
    return html`<div class="actions">
      ${this.may('catalogue:write') ? html`
        ${s.status === 'draft' ? button(publishShow, 'Publish', 'It is on sale, within its sale window.', 'primary') : nothing}
        ${s.status === 'on_sale' ? button(pauseShow, 'Pause sales', 'Sales are paused. Live holds may still be paid.') : nothing}
        ${s.status === 'paused' ? button(resumeShow, 'Resume sales', 'It is on sale again.', 'primary') : nothing}
        ${this.queue && (s.status === 'on_sale' || s.status === 'paused') ? html`<button type="button" ?disabled=${this.busy} @click=${() => this.setQueue(!this.queue!.open)}>${this.queue.open ? 'Close' : 'Open'} the waiting room</button>` : nothing}
        ${s.status === 'cancelled' || s.status === 'ended' ? nothing : html`<button type="button" class="danger" ?disabled=${this.busy} @click=${() => this.dialog.showModal()}>Cancel show …</button>`}` : nothing}
      ${this.may('sales:read') ? html`<a class="button" href="#/bookings/of/${this.show}">Bookings</a>` : nothing}
      ${this.may('checkin') ? html`<a class="button" href="#/door/${this.show}">Door</a>` : nothing}
    </div>
    ${s.refunding ? html`<p class="note">Paying back: ${count(s.refunding.done)} bookings done, ${count(s.refunding.left)} left, ${count(s.refunding.refundsPending)} refunds on their way${s.refunding.refundsFailed ? html`, <strong>${count(s.refunding.refundsFailed)} refused</strong>` : nothing}.</p>` : nothing}`
  }

  private figures() {
    const f = this.free, n = this.sales
    const cell = (name: string, value: string, note = '') => html`<div><dt>${name}</dt><dd>${value}${note ? html` <small>${note}</small>` : nothing}</dd></div>`
    const share = (k: number) => (f && f.capacity > 0 ? `${Math.round((k * 100) / f.capacity)} %` : '')
    const q = this.queue
    const last = n ? lately(n, 1) : 0
    return html`<section aria-labelledby="figures">
      <h2 id="figures">Sale <small class="condition ${this.condition}">${{ live: 'live', asking: 'asked every few seconds', away: 'no connection', '': '' }[this.condition]}</small></h2>
      <dl class="figures">
        ${f ? html`${cell('Free', count(f.available), share(f.available))}${cell('Held', count(f.held), n ? many(n.holds, 'hold') : '')}
          ${cell('Sold', count(f.booked), share(f.booked))}${cell('Blocked', count(f.blocked))}` : nothing}
        ${n ? html`${cell('Places a minute', count(last), `${count(Math.round(lately(n, 10) / 10))} over ten`)}
          ${cell('Kept', money(n.takenAmount - n.refundedAmount, n.currency), many(n.bookings, 'booking'))}
          ${cell('In holds', money(n.heldAmount, n.currency), n.pending ? `${count(n.pending)} being paid` : '')}
          ${cell('Given back', money(n.refundedAmount, n.currency), n.refusedRefunds ? `${n.refusedRefunds} refused!` : '')}` : nothing}
        ${q ? cell('Waiting room', q.open ? 'open' : 'closed', q.open ? [q.waiting === undefined ? '' : `${count(q.waiting)} wait`, q.settings?.ratePerMinute ? `${count(q.settings.ratePerMinute)} a minute` : ''].filter(Boolean).join(', ') : '') : nothing}
      </dl>
      ${n ? bars(n) : nothing}
    </section>`
  }

  private classes() {
    const f = this.free
    if (!f) return nothing
    return html`<div class="scroll" role="region" aria-label="By category" tabindex="0"><table>
      <thead><tr><th scope="col">Category</th>${['Places', 'Free', 'Held', 'Sold', 'Blocked'].map((h) => html`<th scope="col" class="number">${h}</th>`)}</tr></thead>
      <tbody>${f.categories.map((c) => html`<tr><th scope="row">${c.category}</th>
        ${[c.capacity, c.available, c.held, c.booked, c.blocked].map((v) => html`<td class="number">${count(v)}</td>`)}</tr>`)}</tbody>
    </table></div>`
  }

  private places(s: Show) {
    const chosen = this.selection?.seats ?? []
    const blocks = this.may('catalogue:write') || this.may('reservations:staff')
    const sells = this.may('reservations:staff') && this.may('bookings:confirm')
    return html`<section aria-labelledby="places">
      <h2 id="places">Places</h2>
      <div class="beside">
        <rowlock-map show=${this.show} mode="organiser" @selection-change=${(e: CustomEvent<Selection>) => (this.selection = e.detail)}></rowlock-map>
        <div class="panel">
          <h3>${chosen.length ? `${count(chosen.length)} chosen` : 'Nothing chosen'}</h3>
          ${chosen.length === 0 ? html`<p class="note">Choose seats on the map or in its list: to keep them off sale, to put them back, or to sell them here.</p>` : html`
            <p class="labels">${chosen.slice(0, 30).map((c) => c.label).join(', ')}${chosen.length > 30 ? ' …' : ''}</p>
            ${blocks ? html`<form @submit=${this.block}>
              ${field('reason', 'Keep off sale, because', html`<input id="reason" name="reason" required maxlength="500" />`)}
              <p><button ?disabled=${this.busy}>Block</button> <button type="button" ?disabled=${this.busy} @click=${this.unblock}>Put back on sale</button></p>
            </form>` : nothing}
            ${sells ? html`<form @submit=${this.sell}>
              <h3>Sell here</h3>
              ${field('method', 'Paid by', html`<select id="method" name="method"><option value="cash">Cash</option><option value="terminal">Card terminal</option><option value="invoice">Invoice</option><option value="comp">Nothing: it is given away</option><option value="external">Another system</option></select>`)}
              ${field('reference', 'Receipt or invoice', html`<input id="reference" name="reference" maxlength="200" aria-describedby="reference-hint" />`, 'Needed unless it costs nothing.')}
              ${field('buyer', 'Name', html`<input id="buyer" name="buyer" maxlength="200" autocomplete="off" />`)}
              ${field('email', 'Mail', html`<input id="email" name="email" type="email" maxlength="320" autocomplete="off" aria-describedby="email-hint" />`, 'The tickets go there. With a name only, print them from the booking.')}
              <p><button class="primary" ?disabled=${this.busy}>Sell for ${money(this.selection?.total ?? 0, s.currency)}</button></p>
            </form>` : nothing}`}
        </div>
      </div>
    </section>`
  }

  private clear() {
    this.map.choose([])
    this.selection = undefined
  }

  private chosenSeats() {
    return (this.selection?.seats ?? []).map(({ seatId }) => ({ seatId }))
  }

  private block(e: SubmitEvent) {
    e.preventDefault()
    const form = e.target as HTMLFormElement
    const seats = this.chosenSeats(), reason = text(form, 'reason')
    void this.act(async () => {
      const done = await write((headers) => blockSeats({ client, path: { showId: this.show }, headers, body: { seats, reason } }))
      this.clear()
      form.reset()
      return `${many(done.seatCount, 'seat')} off sale.`
    })
  }

  private unblock() {
    const seats = this.chosenSeats()
    void this.act(async () => {
      const done = await write((headers) => unblockSeats({ client, path: { showId: this.show }, headers, body: { seats } }))
      this.clear()
      return `${many(done.seatCount, 'seat')} on sale again.`
    })
  }

  /** Holds the seats, those of a block from the block, and books them at once. */
  private sell(e: SubmitEvent) {
    e.preventDefault()
    const form = e.target as HTMLFormElement
    const seats = this.chosenSeats()
    const email = text(form, 'email'), name = text(form, 'buyer'), paymentReference = text(form, 'reference')
    const paymentMethod = text(form, 'method') as 'cash' | 'terminal' | 'invoice' | 'comp' | 'external'
    void this.act(async () => {
      if (name && !email) throw new Error('A name needs a mail address; leave both empty to sell without.')
      if (email && !name) throw new Error('A mail address needs a name.')
      const fromBlockId = await this.blockOf(seats)
      const hold = await write((headers) => placeReservation({
        client, headers, body: { showId: this.show, seats, customerId: 'box-office', ...(fromBlockId ? { fromBlockId } : {}) },
      }))
      try {
        const booking = await write((headers) => confirmReservation({
          client, headers, path: { reservationId: hold.reservationId },
          body: { paymentMethod, ...(paymentReference ? { paymentReference } : {}), ...(email ? { buyer: { name, email } } : {}) },
        }))
        this.clear()
        form.reset()
        location.hash = `#/bookings/${booking.bookingId}`
      } catch (refused) {
        await write((headers) => releaseReservation({ client, headers, path: { reservationId: hold.reservationId } })).catch(() => undefined)
        throw refused
      }
    })
  }

  /** The block that some of the seats are in. A sale takes one block's seats, and free ones. */
  private async blockOf(seats: { seatId: string }[]): Promise<string | undefined> {
    const wanted = new Set(seats.map((s) => s.seatId))
    const { seats: blocked } = await answered(readSeats({ client, path: { showId: this.show }, query: { view: 'staff', status: 'blocked' } }))
    const blocks = new Set(blocked.filter((s) => wanted.has(s.seatId)).map((s) => s.blockId))
    if (blocks.size > 1) throw new Error('These seats are in different blocks: sell those of one block at a time.')
    return [...blocks][0]
  }
}

/** Places sold in the last whole minutes. */
function lately(n: Sales, minutes: number): number {
  const until = Math.floor(Date.parse(n.asOf) / 60_000) * 60_000
  const inside = n.minutes.filter((m) => Date.parse(m.at) < until && Date.parse(m.at) >= until - minutes * 60_000)
  return inside.reduce((sum, m) => sum + m.places, 0)
}

/** The last hour, a bar a minute. */
function bars(n: Sales) {
  if (n.minutes.length === 0) return nothing
  const last = Math.floor(Date.parse(n.asOf) / 60_000)
  const most = Math.max(...n.minutes.map((m) => m.places))
  const total = n.minutes.reduce((sum, m) => sum + m.places, 0)
  return html`<figure class="hour">
    <svg viewBox="0 0 240 40" preserveAspectRatio="none" role="img" aria-label="Places sold in each minute of the last hour: ${count(total)} in all, at most ${count(most)} in one.">
      ${n.minutes.map((m) => {
        const ago = last - Math.floor(Date.parse(m.at) / 60_000)
        const h = (m.places / most) * 38
        return svg`<rect x=${(59 - ago) * 4} y=${40 - h} width="3" height=${h}></rect>`
      })}
    </svg>
    <figcaption>Places sold in each minute of the last hour; the highest bar is ${count(most)}.</figcaption>
  </figure>`
}
