// The page at /: what is on, a show and its seats, bookings. Each is an element
// of its own in the document's own tree, so that one style sheet serves all.
import { readReservation, type Reservation } from '@rowlock/client'
import { html, LitElement, nothing } from 'lit'
import { customElement, state } from 'lit/decorators.js'
import { keyed } from 'lit/directives/keyed.js'
import '../map/index.ts'
import './bookings.ts'
import { ask, client, known } from './api.ts'
import { holds, load, save } from './cart.ts'
import './events.ts'
import './leaving.ts'
import './show.ts'
import { go, otherLanguage, t } from './text.ts'

@customElement('rowlock-page')
class Page extends LitElement {
  @state() private address = location.search
  @state() private offline = !navigator.onLine
  @state() private turn = 0

  protected override createRenderRoot() {
    return this
  }

  override connectedCallback() {
    super.connectedCallback()
    addEventListener('popstate', this.moved)
    addEventListener('online', this.connection)
    addEventListener('offline', this.connection)
    document.addEventListener('click', this.link)
    void this.offered()
  }

  /** An offer's mail links to its reservation. */
  private async offered() {
    const reservationId = new URLSearchParams(this.address).get('reservation')
    if (!reservationId || !known()) return
    const { data } = await ask<Reservation>((headers) => readReservation({ client, headers, path: { reservationId } }))
    if (!data) return
    save(data.showId, { ...load(data.showId), lines: [], areas: [], reservationId, bookingId: undefined, pending: undefined })
    history.replaceState(null, '', `/?show=${data.showId}`)
    this.moved()
  }

  private readonly connection = () => (this.offline = !navigator.onLine)

  private readonly moved = () => {
    const before = this.view
    this.address = location.search
    if (this.view === before) return // other events of the same list, say
    scrollTo(0, 0)
    void this.updateComplete.then(() => {
      // Whoever cannot see it hears where they are.
      const main = this.querySelector<HTMLElement>('main')
      main?.focus({ preventScroll: true })
    })
  }

  /** What is shown, whatever is chosen in it. */
  private get view(): string {
    const q = new URLSearchParams(this.address)
    return q.get('show') ?? q.get('booking') ?? (q.has('bookings') ? 'bookings' : '')
  }

  private readonly link = (e: MouseEvent) => {
    const a = (e.target as Element).closest?.('a')
    if (!a || e.ctrlKey || e.metaKey || e.shiftKey || e.button || a.target || a.origin !== location.origin || a.pathname !== '/' || a.hash) return
    e.preventDefault()
    go(a.search)
  }

  protected override render() {
    const w = t.page
    const query = new URLSearchParams(this.address)
    const show = query.get('show'), booking = query.get('booking')
    void this.turn
    return html`
      <a class="skip" href="#main">${w.skip}</a>
      <header class="top">
        <a class="brand" href="/"><span class="mark" aria-hidden="true"><i></i><i class="on"></i><i></i></span>Rowlock</a>
        <nav aria-label="Rowlock">
          <a href="/?bookings" aria-current=${query.has('bookings') ? 'page' : nothing}>${w.bookings}</a>
          <button type="button" class="quiet" lang=${t.tag === 'en' ? 'ar' : 'en'} @click=${this.language}>${w.language}</button>
        </nav>
      </header>
      <div role="status">${this.offline ? html`<p class="strip">${w.offline}</p>` : nothing}</div>
      ${show ? nothing : holds().slice(0, 1).map((h) => html`<p class="strip">${w.stillHeld} <a href="/?show=${h.show}">${w.goOn}</a></p>`)}
      <main id="main" tabindex="-1">${
        show ? keyed(show, html`<rowlock-show .showId=${show} .tag=${t.tag}></rowlock-show>`)
          : booking ? keyed(booking, html`<rowlock-booking .bookingId=${booking} .tag=${t.tag}></rowlock-booking>`)
            : query.has('bookings') ? html`<rowlock-bookings .tag=${t.tag}></rowlock-bookings>`
              : html`<rowlock-events .address=${this.address} .tag=${t.tag}></rowlock-events>`}
      </main>
      ${'developers' in document.body.dataset ? html`<footer><a href="/developers">${w.developers}</a></footer>` : nothing}
    `
  }

  private language() {
    otherLanguage()
    this.turn++
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'rowlock-page': Page
  }
}
