// The list of shows, drafts among them.
import { listShows, readEvent, type Show } from '@rowlock/client'
import { html, nothing } from 'lit'
import { customElement, state } from 'lit/decorators.js'
import { answered, client, count, when } from './client.ts'
import { badge, field, View } from './view.ts'

/** Titles of events, by id, as far as they are known. */
export const titles = new Map<string, string>()

/** Learns the titles of these events, each asked for once. */
export async function learnTitles(ids: string[]) {
  await Promise.all([...new Set(ids)].filter((id) => !titles.has(id)).map(async (eventId) => {
    titles.set(eventId, '')
    try {
      titles.set(eventId, (await answered(readEvent({ client, path: { eventId } }))).title)
    } catch {
      titles.delete(eventId)
    }
  }))
}

const pageSize = 100

@customElement('organiser-shows')
export class Shows extends View {
  @state() private shows: Show[] | undefined
  @state() private next: string | undefined
  @state() private from = '' // a day; none: what is not over

  override connectedCallback() {
    super.connectedCallback()
    this.keep(5000, async () => {
      if (this.shows && this.shows.length > pageSize) return // somebody reads far down
      const from = this.from, page = await this.page()
      if (from === this.from) this.put(page)
    })
  }

  private async page(cursor?: string) {
    const from = this.from ? new Date(`${this.from}T00:00`).toISOString() : ''
    const page = await answered(listShows({ client, query: { limit: pageSize, ...(from ? { from } : {}), ...(cursor ? { cursor } : {}) } }))
    await learnTitles(page.shows.map((s) => s.eventId))
    return page
  }

  private put(page: { shows: Show[]; nextCursor?: string }, before: Show[] = []) {
    this.shows = [...before, ...page.shows]
    this.next = page.nextCursor
  }

  private since(e: Event) {
    this.from = (e.target as HTMLInputElement).value
    void this.load(() => this.page(), (page) => this.put(page))
  }

  override render() {
    return html`<h1>Shows</h1>${this.news()}
      ${field('from', 'From', html`<input id="from" type="date" max="9999-12-31" .value=${this.from} @change=${this.since} aria-describedby="from-hint" />`, 'Without a day: those that are not over')}
      ${!this.shows ? html`<p class="note">The shows are coming …</p>` : this.shows.length === 0
        ? html`<p class="note">There are none${this.from ? ' from that day on' : ' that are not over'}. ${this.may('catalogue:write') ? html`<a href="#/plans">Make one</a>.` : nothing}</p>`
        : html`<div class="scroll" role="region" aria-label="Shows" tabindex="0"><table>
            <thead><tr><th scope="col">Show</th><th scope="col">When</th><th scope="col">Where</th><th scope="col">State</th><th scope="col" class="number">Free</th></tr></thead>
            <tbody>${this.shows.map((s) => html`<tr>
              <th scope="row"><a href="#/shows/${s.showId}">${titles.get(s.eventId) || 'Untitled'}</a></th>
              <td>${when(s.startsAt, s.timeZone)}</td>
              <td>${s.venue?.name ?? '–'}${s.hall ? html` <small>${s.hall.name}</small>` : nothing}</td>
              <td>${badge(s.status)}${s.soldOut ? html` <span class="badge sold">sold out</span>` : nothing}</td>
              <td class="number">${count(s.availability.available)} <small>of ${count(s.availability.capacity)}</small></td>
            </tr>`)}</tbody></table></div>
          ${this.next ? html`<p><button type="button" @click=${() => this.load(() => this.page(this.next), (page) => this.put(page, this.shows))}>More shows</button></p>` : nothing}`}`
  }
}
