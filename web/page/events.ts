// What is on: city, day and kind, events and their shows.
import { listEvents, listFacets, type EventWithShows, type FacetsBody, type Show } from '@rowlock/client'
import { html, LitElement, nothing, type PropertyValues } from 'lit'
import { customElement, property, state } from 'lit/decorators.js'
import { clock, day, dayAndClock, money, when } from '../strings/index.ts'
import { client } from './api.ts'
import { go, named, t } from './text.ts'

const few = 0.1 // of the capacity: then it is said how many are left

@customElement('rowlock-events')
class Events extends LitElement {
  @property({ attribute: false }) address = ''
  @property({ attribute: false }) tag = ''
  @state() private facets: FacetsBody | undefined
  @state() private events: EventWithShows[] | undefined
  @state() private next: string | undefined
  @state() private failed = false
  private asked = 0

  protected override createRenderRoot() {
    return this
  }

  override connectedCallback() {
    super.connectedCallback()
    void listFacets({ client }).then(({ data }) => (this.facets = data))
  }

  protected override updated(changed: PropertyValues<this>) {
    if (changed.has('address')) void this.find()
    document.title = `${t.page.whatsOn} · Rowlock`
  }

  private async find(cursor?: string) {
    const turn = ++this.asked
    const q = new URLSearchParams(this.address)
    const query: Record<string, string> = {}
    for (const name of ['city', 'date', 'kind', 'q']) {
      const value = q.get(name)
      if (value) query[name] = value
    }
    if (cursor) query['cursor'] = cursor
    const { data } = await listEvents({ client, query })
    if (turn !== this.asked) return // somebody has chosen otherwise meanwhile
    this.failed = !data
    if (!data) return
    this.events = cursor ? [...(this.events ?? []), ...data.events] : data.events
    this.next = data.nextCursor
  }

  private choose(e: Event) {
    e.preventDefault()
    const form = (e.currentTarget as HTMLElement).closest('form')!
    const q = new URLSearchParams()
    for (const [name, value] of new FormData(form)) if (value) q.set(name, String(value))
    go(q.size ? `/?${q}` : '/')
  }

  protected override render() {
    const w = t.page
    const q = new URLSearchParams(this.address)
    const option = (value: string, text: string, now: string | null) => html`<option value=${value} ?selected=${value === (now ?? '')}>${text}</option>`
    return html`
      <section class="hero"><h1>${w.whatsOn}</h1><p>${w.lead}</p></section>
      <form class="filters" role="search" @change=${this.choose} @submit=${this.choose}>
        <label>${w.city}<select name="city">${option('', w.everywhere, q.get('city'))}
          ${this.facets?.cities.map((f) => option(f.value, f.value, q.get('city')))}</select></label>
        <label>${w.date}<input type="date" name="date" .value=${q.get('date') ?? ''}></label>
        <label>${w.kind}<select name="kind">${option('', w.everything, q.get('kind'))}
          ${this.facets?.kinds.map((f) => option(f.value, named(t.kinds, f.value), q.get('kind')))}</select></label>
        <label>${w.findWhat}<input type="search" name="q" .value=${q.get('q') ?? ''}></label>
      </form>
      ${this.failed ? html`<p role="alert">${t.map.failed} <button type="button" @click=${() => this.find()}>${w.tryAgain}</button></p>` : nothing}
      <div role="status">${!this.events ? nothing : this.events.length === 0 ? html`<p class="empty">${w.nothingOn}</p>`
        : html`<p class="sr">${this.next ? '' : w.found(this.events.length)}</p>`}</div>
      <ul class="events" aria-busy=${!this.events}>
        ${this.events?.map((e) => html`<li class="event">
          <div class="poster k-${e.kind}" aria-hidden="true"><span>${[...e.title][0]}</span></div>
          <div class="about">
            <p class="kind">${[named(t.kinds, e.kind), e.genre, e.durationMinutes && e.durationMinutes < 600 ? w.minutes(e.durationMinutes) : '', e.ageRating].filter(Boolean).join(' · ')}</p>
            <h2><bdi lang=${e.language ?? nothing}>${e.title}</bdi></h2>
            ${e.description ? html`<p class="say"><bdi lang=${e.language ?? nothing}>${e.description}</bdi></p>` : nothing}
            <ul class="shows">${e.shows.map((s) => this.show(s))}</ul>
          </div></li>`)}
      </ul>
      ${this.next ? html`<p class="center"><button type="button" @click=${() => this.find(this.next)}>${w.more}</button></p>` : nothing}
    `
  }

  private show(s: Show) {
    const w = t.page
    const least = Math.min(...s.prices.filter((p) => p.ticketType === 'standard').map((p) => p.amount))
    const left = s.availability.available
    const state = s.status === 'cancelled' ? w.cancelled
      : s.salesStartAt && !s.saleOpen && s.status === 'on_sale' ? w.notYet(when(t.tag, s.salesStartAt, s.timeZone, dayAndClock))
        : s.soldOut ? w.soldOut : left < s.availability.capacity * few ? w.fewLeft(left) : least < Infinity ? w.from(money(t.tag, least, s.currency)) : ''
    return html`<li><a class="chip" href="/?show=${s.showId}">
      <b>${when(t.tag, s.startsAt, s.timeZone, day)}</b> <span>${when(t.tag, s.startsAt, s.timeZone, clock)}</span>
      <small>${s.venue ? html`<span dir="auto">${s.venue.city}</span> · ` : nothing}${state}</small></a></li>`
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'rowlock-events': Events
  }
}
