// The list of shows, drafts among them.
import { listShows, readEvent, type Show } from '@rowlock/client'
import { html, nothing } from 'lit'
import { customElement, state } from 'lit/decorators.js'
import { answered, client, count, when } from './client.ts'
import { badge, View } from './view.ts'

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

@customElement('organiser-shows')
export class Shows extends View {
  @state() private shows: Show[] | undefined
  @state() private next: string | undefined

  override connectedCallback() {
    super.connectedCallback()
    this.keep(5000, async () => {
      if (this.shows && this.shows.length > 100) return // somebody reads far down
      const page = await answered(listShows({ client, query: { limit: 100 } }))
      await learnTitles(page.shows.map((s) => s.eventId))
      this.shows = page.shows
      this.next = page.nextCursor
      this.trouble = ''
    })
  }

  private more() {
    void this.act(async () => {
      const page = await answered(listShows({ client, query: { limit: 100, cursor: this.next! } }))
      await learnTitles(page.shows.map((s) => s.eventId))
      this.shows = [...(this.shows ?? []), ...page.shows]
      this.next = page.nextCursor
    })
  }

  override render() {
    return html`<h1>Shows</h1>${this.news()}
      ${!this.shows ? html`<p class="note">The shows are coming …</p>` : this.shows.length === 0
        ? html`<p class="note">There are none that are not over. ${this.may('catalogue:write') ? html`<a href="#/plans">Make one</a>.` : nothing}</p>`
        : html`<div class="scroll" role="region" aria-label="Shows" tabindex="0"><table>
            <thead><tr><th scope="col">Show</th><th scope="col">When</th><th scope="col">Where</th><th scope="col">State</th><th scope="col" class="number">Free</th></tr></thead>
            <tbody>${this.shows.map((s) => html`<tr>
              <th scope="row"><a href="#/shows/${s.showId}">${titles.get(s.eventId) || 'Untitled'}</a></th>
              <td>${when(s.startsAt, s.timeZone)}</td>
              <td>${s.venue?.name ?? '–'}${s.hall ? html` <small>${s.hall.name}</small>` : nothing}</td>
              <td>${badge(s.status)}${s.soldOut ? html` <span class="badge sold">sold out</span>` : nothing}</td>
              <td class="number">${count(s.availability.available)} <small>of ${count(s.availability.capacity)}</small></td>
            </tr>`)}</tbody></table></div>
          ${this.next ? html`<p><button type="button" ?disabled=${this.busy} @click=${this.more}>More shows</button></p>` : nothing}`}`
  }
}
