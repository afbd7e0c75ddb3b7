// Waiting for places of a sold-out show: joining, where one stands and why, and
// an offer.
import { joinWaitlist, leaveWaitlist, readWaitlistEntry, type Show, type WaitlistEntry } from '@rowlock/client'
import { html, LitElement, nothing, type PropertyValues } from 'lit'
import { customElement, property, state } from 'lit/decorators.js'
import { clock, when } from '../strings/index.ts'
import { ask, client, newKey, once } from './api.ts'
import { allowSound, ring } from './attention.ts'
import { entryOf, noteEntry } from './cart.ts'
import { t } from './text.ts'

const askMillis = 8_000

@customElement('rowlock-waitlist')
class Waitlist extends LitElement {
  @property({ attribute: false }) show!: Show
  @property({ attribute: false }) tag = ''
  /** Gets the reservation of an offer that is taken. */
  @property({ attribute: false }) taker!: (reservationId: string) => void
  @state() private entry: WaitlistEntry | undefined
  @state() private doing = false
  @state() private note = ''
  private asking: ReturnType<typeof setTimeout> | undefined

  protected override createRenderRoot() {
    return this
  }

  override connectedCallback() {
    super.connectedCallback()
    document.addEventListener('visibilitychange', this.woken)
  }

  override disconnectedCallback() {
    super.disconnectedCallback()
    clearTimeout(this.asking)
    document.removeEventListener('visibilitychange', this.woken)
  }

  protected override updated(changed: PropertyValues<this>) {
    // Something has become free, or is gone again.
    if (changed.has('show') && changed.get('show')?.soldOut !== this.show.soldOut) void this.ask()
  }

  private readonly woken = () => {
    if (document.visibilityState === 'visible') void this.ask()
  }

  private async ask() {
    clearTimeout(this.asking)
    const entryId = entryOf('waitlist', this.show.showId)
    if (!entryId) return
    const { data, problem } = await ask<WaitlistEntry>((headers) => readWaitlistEntry({ client, headers, path: { entryId } }))
    if (!this.isConnected) return
    if (data) this.take(data)
    else if (problem?.code === 'NOT_FOUND') this.forget()
    clearTimeout(this.asking)
    // A tab that nobody looks at asks, too: an offer does not wait for long.
    if (entryOf('waitlist', this.show.showId)) this.asking = setTimeout(() => this.ask(), askMillis * (0.75 + Math.random() / 2))
  }

  private take(entry: WaitlistEntry) {
    if (entry.status === 'offered' && this.entry?.status !== 'offered') ring()
    this.entry = entry
    if (entry.status === 'waiting' || entry.status === 'offered') return
    this.note = t.page.waitlistOver[entry.status] ?? ''
    this.forget()
  }

  private forget() {
    noteEntry('waitlist', this.show.showId, undefined)
    this.entry = undefined
  }

  private async join(e: SubmitEvent) {
    e.preventDefault()
    allowSound()
    const w = t.page
    const form = new FormData(e.currentTarget as HTMLFormElement)
    const text = (name: string) => String(form.get(name) ?? '').trim()
    const categories = form.getAll('category').map(String)
    this.doing = true
    this.note = ''
    const { data, problem, status } = await once<WaitlistEntry>(newKey(), (headers) => joinWaitlist({
      client, headers, path: { showId: this.show.showId },
      body: {
        partySize: Number(text('partySize')), buyer: { name: text('name'), email: text('email'), locale: t.tag },
        ...(categories.length ? { categories } : {}),
      },
    }), (so) => (this.note = so ? w.retrying : ''))
    this.doing = false
    const entryId = data?.entryId ?? problem?.waitlistEntryId
    if (entryId) {
      noteEntry('waitlist', this.show.showId, entryId)
      return this.ask()
    }
    this.note = status === 0 ? w.offline
      : problem?.code === 'PLACES_AVAILABLE' ? w.placesAvailable(problem.available ?? 0)
        : problem?.code === 'TOO_MANY_SEATS' ? w.limit(problem.limit ?? 0)
          : problem?.code === 'CUSTOMER_LIMIT_REACHED' ? w.customerLimit(problem.limit ?? 0)
            : problem ? w.wrong(problem.violations?.[0]?.message ?? problem.detail ?? problem.title) : w.broken
  }

  private async leave() {
    const entryId = this.entry?.entryId
    if (!entryId) return
    this.doing = true
    const { status } = await once<unknown>(newKey(), (headers) => leaveWaitlist({ client, headers, path: { entryId } }), (so) => (this.note = so ? t.page.retrying : ''))
    this.doing = false
    if (status === 0) {
      this.note = t.page.offline
      return
    }
    this.note = ''
    this.forget()
  }

  protected override render() {
    const w = t.page, e = this.entry, s = this.show
    const note = html`<div role="status">${this.note ? html`<p class="note">${this.note}</p>` : nothing}</div>`
    if (e) {
      return html`<section class="panel waitlist" aria-label=${w.waitlist}><h2>${w.waitlist}</h2>${note}
        <div role="status">${e.status === 'offered' && e.offer
          ? html`<p class="note good"><b>${w.offered}</b> ${w.offeredUntil(when(t.tag, e.offer.expiresAt, s.timeZone, clock))}</p>`
          : html`<p><b>${w.waitingFor(e.partySize)}</b>${e.categories.length ? html` · <span dir="auto">${e.categories.join(', ')}</span>` : nothing}</p>
            ${e.position ? html`<p>${w.waitlistPosition(e.position)}</p>` : nothing}
            ${e.reason ? html`<p class="soft">${w.waitReasons(e.available)[e.reason]}</p>` : nothing}`}</div>
        ${e.status === 'offered' && e.offer
          ? html`<button type="button" class="main" @click=${() => this.taker(e.offer!.reservationId)}>${w.takeOffer}</button>`
          : e.buyer ? html`<p class="soft">${w.offersMailed} <bdi>${e.buyer.email}</bdi></p>` : nothing}
        <button type="button" class="quiet" ?disabled=${this.doing} @click=${this.leave}>${w.leaveWaitlist}</button></section>`
    }
    const few = s.availability.available < s.maxPlacesPerReservation
    if (!s.saleOpen || !(s.soldOut || few)) return this.note ? note : nothing
    const categories = [...new Set(s.prices.map((p) => p.category))]
    return html`<section class="panel waitlist" aria-label=${w.waitlist}><details ?open=${s.soldOut}><summary><h2>${w.waitlist}</h2></summary>${note}
      <p class="soft">${w.waitlistWhy}</p>
      <form @submit=${this.join}><fieldset ?disabled=${this.doing}>
        <label>${w.partySize}<input name="partySize" type="number" inputmode="numeric" required min="1" max=${s.maxPlacesPerReservation} value="2"></label>
        ${categories.length > 1 ? html`<fieldset><legend class="soft">${w.whichCategories}</legend>
          ${categories.map((c) => html`<label class="choice"><input type="checkbox" name="category" value=${c}> <span dir="auto">${c}</span></label>`)}</fieldset>` : nothing}
        <label>${w.buyerName}<input name="name" required maxlength="200" autocomplete="name" dir="auto"></label>
        <label>${w.email}<input name="email" type="email" required maxlength="254" autocomplete="email" dir="ltr"></label>
      </fieldset><button class="main" ?disabled=${this.doing}>${w.joinWaitlist}</button></form></details></section>`
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'rowlock-waitlist': Waitlist
  }
}
