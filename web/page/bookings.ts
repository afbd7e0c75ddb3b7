// My bookings, and one with its tickets.
import {
  cancelBooking, drawTicketSvg, listBookings, printTickets, readBooking, readEvent, readShow,
  type Booking, type Cancelled, type Event as Occasion, type Show, type Ticket,
} from '@rowlock/client'
import { html, LitElement, nothing, type PropertyValues } from 'lit'
import { customElement, property, query, state } from 'lit/decorators.js'
import { repeat } from 'lit/directives/repeat.js'
import { dayAndClock, money, when } from '../strings/index.ts'
import { ask, client, known, newKey, once } from './api.ts'
import { load, save } from './cart.ts'
import { go, named, t } from './text.ts'

interface Facts {
  show: Show
  event: Occasion | undefined
}

const seen = new Map<string, Promise<Facts | undefined>>()

/** What a show is, asked for once. */
function factsOf(showId: string): Promise<Facts | undefined> {
  let facts = seen.get(showId)
  if (!facts) {
    facts = (async () => {
      const { data: show } = await readShow({ client, path: { showId } })
      if (!show) return undefined
      return { show, event: (await readEvent({ client, path: { eventId: show.eventId } })).data }
    })()
    seen.set(showId, facts)
  }
  return facts
}

@customElement('rowlock-bookings')
class Bookings extends LitElement {
  @property({ attribute: false }) tag = ''
  @state() private bookings: Booking[] | undefined
  @state() private facts = new Map<string, Facts>()
  @state() private failed = false

  protected override createRenderRoot() {
    return this
  }

  override connectedCallback() {
    super.connectedCallback()
    if (known()) void this.open()
    else this.bookings = []
  }

  private async open() {
    const { data } = await ask((headers) => listBookings({ client, headers, query: { limit: 100 } }))
    this.failed = !data
    if (!data) return
    this.bookings = data.bookings
    for (const b of this.bookings) {
      void factsOf(b.showId).then((f) => {
        if (f) this.facts = new Map(this.facts).set(b.showId, f)
      })
    }
  }

  protected override render() {
    const w = t.page
    document.title = `${w.bookings} · Rowlock`
    return html`<h1>${w.bookings}</h1>
      ${this.failed ? html`<p role="alert">${w.broken} <button type="button" @click=${this.open}>${w.tryAgain}</button></p>` : nothing}
      ${this.bookings?.length === 0 ? html`<p class="empty" role="status">${w.noBookings}</p>` : nothing}
      <ul class="bookings">${this.bookings?.map((b) => {
        const f = this.facts.get(b.showId)
        return html`<li><a href=${`/?booking=${b.bookingId}`}>
          <b dir="auto">${f?.event?.title ?? '…'}</b>
          <span>${f ? when(t.tag, f.show.startsAt, f.show.timeZone, dayAndClock) : ''}</span>
          <span class="soft">${named(w.status, b.status)} · <span dir="ltr">${b.reference}</span> · ${money(t.tag, b.totalAmount, b.currency)}</span></a></li>`
      })}</ul>`
  }
}

@customElement('rowlock-booking')
class BookingView extends LitElement {
  @property({ attribute: false }) bookingId = ''
  @property({ attribute: false }) tag = ''
  @state() private booking: Booking | undefined
  @state() private facts: Facts | undefined
  @state() private lost = false
  @state() private codes = new Map<string, string>() // ticketId to picture
  @state() private giving = false
  @state() private chosen = 0 // tickets to be given back
  @state() private note = ''
  @state() private bad = ''
  @query('dialog') private dialog!: HTMLDialogElement

  protected override createRenderRoot() {
    return this
  }

  protected override updated(changed: PropertyValues<this>) {
    if (changed.has('bookingId')) void this.open()
  }

  private async open() {
    const { data, status } = await ask<Booking>((headers) => readBooking({ client, headers, path: { bookingId: this.bookingId } }))
    this.lost = !data && status !== 0
    if (!data) {
      if (!this.lost && this.isConnected) setTimeout(() => this.open(), 2000)
      return
    }
    this.booking = data
    // Not paid yet: what becomes of it comes by itself.
    if (data.status === 'pending' && this.isConnected) setTimeout(() => this.open(), 4000)
    document.title = `${data.reference} · Rowlock`
    this.facts = await factsOf(data.showId)
    for (const { ticketId, status } of data.tickets) {
      if (status === 'void' || this.codes.has(ticketId)) continue
      const { data: svg } = await ask<unknown>((headers) => drawTicketSvg({ client, headers, path: { ticketId }, parseAs: 'text' }))
      if (svg) this.codes = new Map(this.codes).set(ticketId, `data:image/svg+xml,${encodeURIComponent(String(svg))}`)
    }
  }

  private async print() {
    const { data } = await ask<unknown>((headers) => printTickets({ client, headers, path: { bookingId: this.bookingId }, parseAs: 'blob' }))
    if (!(data instanceof Blob)) return
    const a = document.createElement('a')
    a.href = URL.createObjectURL(data)
    a.download = `${this.booking!.reference}.pdf`
    a.click()
    setTimeout(() => URL.revokeObjectURL(a.href), 60_000)
  }

  private async giveBack(e: SubmitEvent) {
    e.preventDefault()
    const ticketIds = new FormData(e.currentTarget as HTMLFormElement).getAll('ticket').map(String)
    if (!ticketIds.length) return
    this.giving = true
    this.bad = ''
    const valid = this.booking!.tickets.filter((k) => k.status === 'valid')
    const { data, problem, status } = await once<Cancelled>(newKey(), (headers) => cancelBooking({
      client, headers, path: { bookingId: this.bookingId }, body: ticketIds.length === valid.length ? {} : { ticketIds },
    }), (so) => (this.bad = so ? t.page.retrying : ''))
    this.giving = false
    if (!data) {
      this.bad = status === 0 ? t.page.offline : problem ? t.page.wrong(problem.detail ?? problem.title) : t.page.broken
      return
    }
    this.dialog.close()
    const given = new Set(this.booking!.refunds.map((r) => r.refundId))
    const amount = data.refunds.filter((r) => !given.has(r.refundId)).reduce((n, r) => n + r.amount, 0)
    this.note = t.page.givenBack(money(t.tag, amount, this.booking!.currency))
    await this.open()
  }

  private readonly ask = () => {
    this.bad = ''
    this.dialog.showModal()
    this.count()
  }

  private count() {
    this.chosen = this.dialog.querySelectorAll('input:checked').length
  }

  /** Goes on paying, in this tab, for what was begun in another. */
  private readonly pay = () => {
    const { showId, bookingId, reservationId } = this.booking!
    save(showId, { ...load(showId), lines: [], areas: [], bookingId, reservationId, pending: undefined })
    go(`/?show=${showId}`)
  }

  protected override render() {
    const w = t.page, b = this.booking, f = this.facts
    if (this.lost) return html`<p class="empty" role="alert">${w.notFound}</p><p class="center"><a href="/?bookings">${w.bookings}</a></p>`
    if (!b) return html`<p class="empty" role="status">…</p>`
    const valid = b.tickets.filter((k) => k.status === 'valid')
    const terms = f?.show.cancellation
    const until = terms && f ? new Date(Date.parse(f.show.startsAt) - terms.untilMinutesBeforeStart * 60_000) : undefined
    const can = terms && until && until.getTime() > Date.now() && f?.show.status !== 'cancelled' && b.status === 'confirmed' && valid.length > 0
    return html`
      <header class="occasion">
        <p><a href="/?bookings"><span class="arrow" aria-hidden="true">←</span> ${w.bookings}</a></p>
        ${new URLSearchParams(location.search).has('new') && b.status === 'confirmed' ? html`<p class="note good" role="status">${w.thanks}</p>` : nothing}
        ${this.note ? html`<p class="note" role="status">${this.note}</p>` : nothing}
        <h1><bdi lang=${f?.event?.language ?? nothing}>${f?.event?.title ?? w.reference}</bdi></h1>
        <p class="facts">${f ? html`<b>${when(t.tag, f.show.startsAt, f.show.timeZone, { ...dayAndClock, year: 'numeric' })}</b>
          ${f.show.venue ? html` · <span dir="auto">${f.show.venue.name}, ${f.show.venue.city}</span>` : nothing}` : nothing}</p>
        <p>${w.reference} <b class="reference" dir="ltr">${b.reference}</b> · ${named(w.status, b.status)} · ${money(t.tag, b.totalAmount, b.currency)}
          ${b.refundedAmount ? html` · ${w.refunded(money(t.tag, b.refundedAmount, b.currency))}` : nothing}</p>
        ${b.buyer && b.status === 'confirmed' ? html`<p class="soft">${w.sentTo(b.buyer.email)}</p>` : nothing}
      </header>
      <ul class="tickets">${b.tickets.map((k) => this.ticket(k))}</ul>
      ${b.status === 'confirmed' ? html`<p class="actions"><button type="button" @click=${this.print}>${w.pdf}</button>
        ${can ? html`<button type="button" @click=${this.ask}>${w.giveBack}</button>` : nothing}</p>
        <p class="soft">${!f ? nothing : !terms ? w.noTerms : can ? w.terms(terms.refundPercent, when(t.tag, until!.toISOString(), f.show.timeZone, dayAndClock)) : w.termsOver}</p>` : nothing}
      ${b.status === 'pending' ? html`<p class="actions"><button type="button" class="main" @click=${this.pay}>${w.payNow}</button></p>` : nothing}
      <dialog aria-labelledby="give"><form @submit=${this.giveBack} @change=${this.count}>
        <h2 id="give">${w.giveBackWhich}</h2>
        <div role="alert">${this.bad ? html`<p class="note bad">${this.bad}</p>` : nothing}</div>
        ${repeat(valid, (k) => k.ticketId, (k) => html`<label class="choice"><input type="checkbox" name="ticket" value=${k.ticketId} checked> <span dir="auto">${k.label}</span></label>`)}
        <p class="actions"><button class="main" ?disabled=${this.giving || this.chosen === 0}>${w.confirmCancel(this.chosen)}</button>
        <button type="button" @click=${() => this.dialog.close()}>${w.keep}</button></p></form></dialog>`
  }

  private ticket(k: Ticket) {
    const w = t.page
    const code = this.codes.get(k.ticketId)
    return html`<li class="ticket ${k.status}">
      ${k.status !== 'void' && code ? html`<img src=${code} alt=${w.qr(k.label)} width="180" height="180">` : html`<span class="blank" aria-hidden="true"></span>`}
      <div><b class="label" dir="auto">${k.label}</b><p>${named(t.types, k.ticketType)} · ${money(t.tag, k.price, k.currency)}</p>
        ${k.holderName ? html`<p dir="auto">${k.holderName}</p>` : nothing}<p class="soft">${named(w.status, k.status)}</p></div></li>`
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'rowlock-bookings': Bookings
    'rowlock-booking': BookingView
  }
}
