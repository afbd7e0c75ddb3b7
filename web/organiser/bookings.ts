// Bookings: found by reference or by who bought, with all that happened to
// them, and given back.
import { cancelBooking, listBookings, listChanges, readBooking, readShow, type Booking, type Change, type Show, type Ticket } from '@rowlock/client'
import { html, nothing, type PropertyValues } from 'lit'
import { customElement, property, state } from 'lit/decorators.js'
import { all, answered, client, count, many, moment, money, time, when, write } from './client.ts'
import { learnTitles, titles } from './shows.ts'
import { badge, field, text, View } from './view.ts'

@customElement('organiser-bookings')
export class Bookings extends View {
  @property() booking = ''
  @property() show = '' // only of this show
  @state() private found: Booking[] | undefined
  @state() private next: string | undefined
  @state() private one: Booking | undefined
  @state() private of: Show | undefined
  @state() private story: Change[] = []
  @state() private chosen = new Set<string>()
  private asked = ''

  override connectedCallback() {
    super.connectedCallback()
    this.keep(5000, async () => {
      const b = this.one // what is under way ends by itself
      if (b && (b.status === 'pending' || b.refunds.some((f) => f.status === 'pending'))) this.put(await this.read(b.bookingId))
    })
  }

  override willUpdate(changed: PropertyValues<this>) {
    super.willUpdate(changed)
    if (changed.has('booking') || changed.has('show')) {
      this.done = ''
      this.one = undefined
      this.chosen = new Set()
      if (this.booking) void this.load(() => this.read(this.booking), (got) => this.put(got))
      else this.search(this.asked)
    }
  }

  private search(q: string, cursor?: string) {
    this.asked = q
    const before = cursor ? this.found ?? [] : []
    void this.load(() => answered(listBookings({
      client, query: { limit: 50, ...(q ? { q } : {}), ...(this.show ? { showId: this.show } : {}), ...(cursor ? { cursor } : {}) },
    })), (page) => {
      this.found = [...before, ...page.bookings]
      this.next = page.nextCursor
    })
  }

  private async read(bookingId: string) {
    const one = await answered(readBooking({ client, path: { bookingId } }))
    const of = await answered(readShow({ client, path: { showId: one.showId } }))
    await learnTitles([of.eventId])
    let story: Change[] = []
    if (this.may('sales:read')) {
      const changes = (about: { bookingId: string } | { reservationId: string }) => all(async (cursor) => {
        const page = await answered(listChanges({ client, query: { ...about, limit: 200, ...cursor } }))
        return { ...page, list: page.changes }
      })
      // The hold was there before the booking was.
      const both = await Promise.all([changes({ reservationId: one.reservationId }), changes({ bookingId })])
      story = [...new Map(both.flat().map((c) => [c.id, c])).values()].sort((a, b) => a.sequence - b.sequence || a.n - b.n)
    }
    return { one, of, story }
  }

  private put({ one, of, story }: { one: Booking; of: Show; story: Change[] }) {
    if (one.bookingId !== this.booking) return
    this.one = one
    this.of = of
    this.story = story
  }

  override render() {
    return this.booking ? this.detail() : this.list()
  }

  private list() {
    return html`<h1>Bookings</h1>${this.news()}
      <form class="search" role="search" @submit=${(e: SubmitEvent) => { e.preventDefault(); this.search(text(e.target as HTMLFormElement, 'q')) }}>
        ${field('q', 'Reference, or name, mail or phone of the buyer', html`<input id="q" name="q" type="search" maxlength="200" autocomplete="off" .value=${this.asked} />`)}
        <p><button class="primary">Find</button> ${this.show ? html`<a href="#/bookings">of all shows</a>` : nothing}</p>
      </form>
      <p class="note" role="status">${this.found ? `${count(this.found.length)}${this.next ? ' and more' : ''} found${this.show ? ' in this show' : ''}.` : 'Looking …'}</p>
      ${this.found?.length ? html`<div class="scroll" role="region" aria-label="Bookings" tabindex="0"><table>
        <thead><tr><th scope="col">Reference</th><th scope="col">Buyer</th><th scope="col">State</th><th scope="col">Places</th><th scope="col" class="number">Price</th><th scope="col">Made</th></tr></thead>
        <tbody>${this.found.map((b) => html`<tr>
          <th scope="row"><a href="#/bookings/${b.bookingId}"><code>${b.reference}</code></a></th>
          <td>${b.buyer?.name ?? html`<small>${b.customerId}</small>`}</td><td>${badge(b.status)}</td>
          <td>${places(b.tickets)}</td>
          <td class="number">${money(b.totalAmount, b.currency)}${b.refundedAmount ? html`<br /><small>${money(b.refundedAmount, b.currency)} back</small>` : nothing}</td>
          <td>${when(b.createdAt)}</td></tr>`)}</tbody></table></div>
        ${this.next ? html`<p><button type="button" @click=${() => this.search(this.asked, this.next)}>More</button></p>` : nothing}` : nothing}`
  }

  private detail() {
    const b = this.one
    if (!b) return html`<p class="back"><a href="#/bookings">Bookings</a></p><h1>Booking</h1>${this.news()}${this.trouble ? nothing : html`<p class="note">The booking is coming …</p>`}`
    const zone = this.of?.timeZone
    const live = b.tickets.filter((t) => t.status !== 'void')
    return html`<p class="back"><a href="#/bookings">Bookings</a></p>
      <h1>Booking <code>${b.reference}</code> ${badge(b.status)}</h1>
      <p class="lead"><a href="#/shows/${b.showId}">${titles.get(this.of?.eventId ?? '') || 'Show'}</a>${this.of ? `, ${when(this.of.startsAt, zone)}` : ''}</p>
      ${this.news()}
      <dl class="facts">
        <dt>Buyer</dt><dd>${b.buyer ? html`${b.buyer.name}${b.buyer.email ? html`, <a href="mailto:${b.buyer.email}">${b.buyer.email}</a>` : nothing}${b.buyer.phone ? `, ${b.buyer.phone}` : ''}` : 'nobody was named'}</dd>
        <dt>Price</dt><dd>${money(b.totalAmount, b.currency)}${b.refundedAmount ? `, ${money(b.refundedAmount, b.currency)} given back` : ''}</dd>
        <dt>Payment</dt><dd>${b.paymentStatus}${b.payments.map((p) => html`<br /><small>${p.method} at ${p.gateway}: ${p.status}${p.declineCode ? ` (${p.declineCode})` : ''}, ${money(p.amount, b.currency)}, ${when(p.createdAt, zone)}</small>`)}</dd>
        ${b.refunds.length ? html`<dt>Refunds</dt><dd>${b.refunds.map((f) => html`<div>${money(f.amount, f.currency)}, ${f.status}${f.failure ? html` <strong>(${f.failure})</strong>` : nothing}, because of ${f.reason.replaceAll('_', ' ')}, ${when(f.createdAt, zone)}</div>`)}</dd>` : nothing}
      </dl>
      ${b.tickets.length ? html`<section aria-labelledby="tickets"><h2 id="tickets">Tickets</h2>
        <form @submit=${this.giveBack}>
        <div class="scroll" role="region" aria-label="Tickets of the booking" tabindex="0"><table>
          <thead><tr>${this.may('refunds') ? html`<th scope="col"><span class="hidden">Give back</span></th>` : nothing}<th scope="col">Place</th><th scope="col">Type</th><th scope="col">Name</th><th scope="col">State</th><th scope="col" class="number">Price</th></tr></thead>
          <tbody>${b.tickets.map((t) => html`<tr>
            ${this.may('refunds') ? html`<td><input type="checkbox" aria-label="Give back ${t.label}" ?disabled=${t.status === 'void' || this.busy} .checked=${this.chosen.has(t.ticketId)} @change=${() => this.toggle(t)} /></td>` : nothing}
            <th scope="row">${t.label}</th><td>${t.ticketType}</td><td>${t.holderName ?? ''}</td>
            <td>${badge(t.status)}${t.usedAt ? html` <small>${time(t.usedAt, zone)}${t.usedGate ? `, ${t.usedGate}` : ''}</small>` : nothing}</td>
            <td class="number">${money(t.price, t.currency)}</td></tr>`)}</tbody></table></div>
        <p class="actions">
          ${live.length ? html`<a class="button" href="/api/v1/bookings/${b.bookingId}/tickets.pdf${live.length > 200 ? '?limit=200' : ''}" target="_blank" rel="noopener">Print tickets</a>` : nothing}
          ${this.may('refunds') && live.length ? html`<button class="danger" ?disabled=${this.busy}>${this.chosen.size ? `Give back ${count(this.chosen.size)} and refund` : 'Cancel and refund all'}</button>` : nothing}
        </p></form></section>` : b.status === 'pending' && this.may('refunds') ? html`<form @submit=${this.giveBack}><p><button class="danger" ?disabled=${this.busy}>Take this booking back</button></p></form>` : nothing}
      ${this.story.length ? html`<section aria-labelledby="story"><h2 id="story">Story</h2>
        <ol class="story">${this.story.map((c) => html`<li>
          <time datetime=${c.at}>${moment(c.at, zone)}</time>
          <p><strong>${sentence(c)}</strong>${c.amount ? ` ${money(c.amount, b.currency)}` : ''} <small>by ${c.actor}${c.reason ? `, ${c.reason.replaceAll('_', ' ')}` : ''}${c.note ? `: ${c.note}` : ''}</small></p>
          ${c.after.seats.length ? html`<p class="labels">${c.after.seats.slice(0, 12).map((s) => `${s.label} ${s.status}`).join(', ')}${c.after.seats.length > 12 ? ' …' : ''}</p>` : nothing}
        </li>`)}</ol></section>` : nothing}`
  }

  private toggle(t: Ticket) {
    const chosen = new Set(this.chosen)
    if (!chosen.delete(t.ticketId)) chosen.add(t.ticketId)
    this.chosen = chosen
  }

  private giveBack(e: SubmitEvent) {
    e.preventDefault()
    const b = this.one!, ticketIds = [...this.chosen]
    const what = ticketIds.length ? `${ticketIds.length} of the tickets` : 'the whole booking'
    if (!confirm(`Cancel ${what}, and give all of that money back? It cannot be undone.`)) return
    void this.act(async () => {
      const done = await write((headers) => cancelBooking({
        client, headers, path: { bookingId: b.bookingId }, ...(ticketIds.length ? { body: { ticketIds } } : {}),
      }))
      this.chosen = new Set()
      this.put(await this.read(b.bookingId))
      const back = done.refunds.reduce((sum, f) => sum + f.amount, 0)
      return `${many(done.seatsReleased.length, 'place')} free again; ${money(back, b.currency)} goes back.`
    })
  }
}

function places(tickets: Ticket[]): string {
  const live = tickets.filter((t) => t.status !== 'void')
  return live.slice(0, 4).map((t) => t.label).join(', ') + (live.length > 4 ? ` and ${live.length - 4} more` : '')
}

/** A change in words. */
function sentence(c: Change): string {
  const words: Record<string, string> = {
    'reservation.created': 'Places held', 'reservation.changed': 'Selection changed', 'reservation.extended': 'Hold extended',
    'reservation.consumed': 'Hold turned into the booking', 'reservation.expired': 'Hold ran out', 'reservation.cancelled': 'Hold let go',
    'booking.created': 'Booking begun', 'booking.confirmed': 'Booking confirmed', 'booking.failed': 'Paid too late for its places',
    'booking.expired': 'Not paid in time', 'booking.cancelled': 'Booking cancelled',
    'payment.created': 'Payment begun', 'payment.succeeded': 'Paid', 'payment.failed': 'Payment failed',
    'refund.created': 'Refund begun', 'refund.succeeded': 'Refunded', 'refund.failed': 'Refund refused',
    'ticket.issued': 'Tickets issued', 'ticket.used': 'Admitted at the door', 'ticket.void': 'Tickets void',
  }
  return words[c.type] ?? c.type
}
