// A new show, from the room it is in to its prices: venue, hall, seating plan
// with its problems on the map, event, terms.
import {
  checkPlan, createHall, createShow, createVenue, importPlan, listEvents, listHalls, listPlans, listVenues, readPlan,
  type CheckedPlan, type CreateShowInputBody, type Event as Performed, type Hall, type PlanSummary, type Venue,
} from '@rowlock/client'
import { html, nothing } from 'lit'
import { customElement, state } from 'lit/decorators.js'
import { all, answered, client, count, many, when, write } from './client.ts'
import './problem-map.ts'
import { changedTerms, priceFields, pricesOf, termFields } from './terms.ts'
import { field, tell, text, View } from './view.ts'

type Format = 'pretix' | 'seatsio' | 'csv' | 'rowlock'
const kinds = ['concert', 'play', 'movie', 'match', 'festival', 'talk', 'other'] as const

@customElement('organiser-plans')
export class Plans extends View {
  @state() private venues: Venue[] | undefined
  @state() private halls: Hall[] = []
  @state() private plans: PlanSummary[] = []
  @state() private venue = ''
  @state() private hall = ''
  @state() private plan = ''
  @state() private categories: string[] = []
  @state() private file: { text: string; format: Format } | undefined
  @state() private rename = false
  @state() private checked: CheckedPlan | undefined
  @state() private at = -1
  @state() private events: Performed[] = []
  @state() private event = '' // one that is there already; "": a new one

  override connectedCallback() {
    super.connectedCallback()
    void this.load(() => Promise.all([venues(), all(async (cursor) => {
      const page = await answered(listEvents({ client, query: { limit: 200, ...cursor } }))
      return { ...page, list: page.events }
    })]), ([venues, events]) => {
      this.venues = venues
      this.events = events
    })
  }

  private choose(what: 'venue' | 'hall' | 'plan', id: string) {
    this.done = ''
    void this.load(async () => ({
      halls: what === 'venue' ? (id ? await halls(id) : []) : this.halls,
      plans: what === 'hall' && id ? await plans(id) : what === 'plan' ? this.plans : [],
      categories: what === 'plan' && id ? await categories(id) : [],
    }), (got) => {
      if (what === 'venue') this.venue = id
      if (what !== 'plan') this.hall = what === 'hall' ? id : ''
      this.plan = what === 'plan' ? id : ''
      Object.assign(this, got)
    })
  }

  override render() {
    return html`<h1>New show</h1>${this.news()}
      ${this.house()}
      ${this.hall ? this.seating() : nothing}
      ${this.plan ? this.terms() : nothing}`
  }

  private house() {
    return html`<section aria-labelledby="house"><h2 id="house">1. Where</h2>
      <div class="pair">
        ${field('venue', 'Venue', html`<select id="venue" @change=${(e: Event) => this.choose('venue', (e.target as HTMLSelectElement).value)}>
          <option value="">choose, or add one</option>${(this.venues ?? []).map((v) => html`<option value=${v.venueId} ?selected=${v.venueId === this.venue}>${v.name}, ${v.city}</option>`)}</select>`)}
        ${this.venue ? field('hall', 'Hall', html`<select id="hall" @change=${(e: Event) => this.choose('hall', (e.target as HTMLSelectElement).value)}>
          <option value="">choose, or add one</option>${this.halls.map((h) => html`<option value=${h.hallId} ?selected=${h.hallId === this.hall}>${h.name}</option>`)}</select>`) : nothing}
      </div>
      ${this.venue ? nothing : html`<details><summary>Add a venue</summary><form @submit=${this.addVenue}>
        <div class="pair">
          ${field('venue-name', 'Name', html`<input id="venue-name" name="name" required maxlength="200" />`)}
          ${field('city', 'City', html`<input id="city" name="city" required maxlength="200" />`)}
          ${field('country', 'Country', html`<input id="country" name="country" required pattern="[A-Za-z]{2}" maxlength="2" size="4" aria-describedby="country-hint" />`, 'Two letters, such as AT')}
          ${field('zone', 'Time zone', html`<input id="zone" name="zone" required maxlength="100" .value=${Intl.DateTimeFormat().resolvedOptions().timeZone} aria-describedby="zone-hint" />`, 'Such as Europe/Vienna')}
        </div><p><button ?disabled=${this.busy}>Add venue</button></p></form></details>`}
      ${this.venue && !this.hall ? html`<details ?open=${this.halls.length === 0}><summary>Add a hall</summary><form @submit=${this.addHall}>
        ${field('hall-name', 'Name', html`<input id="hall-name" name="name" required maxlength="200" />`)}
        <p><button ?disabled=${this.busy}>Add hall</button></p></form></details>` : nothing}
    </section>`
  }

  private addVenue(e: SubmitEvent) {
    e.preventDefault()
    const f = e.target as HTMLFormElement
    void this.act(async () => {
      const v = await write((headers) => createVenue({
        client, headers, body: { name: text(f, 'name'), city: text(f, 'city'), country: text(f, 'country').toUpperCase(), timeZone: text(f, 'zone') },
      }))
      this.venues = await venues()
      this.venue = v.venueId
      this.halls = []
      return 'The venue is added.'
    })
  }

  private addHall(e: SubmitEvent) {
    e.preventDefault()
    const f = e.target as HTMLFormElement
    void this.act(async () => {
      const h = await write((headers) => createHall({ client, headers, body: { venueId: this.venue, name: text(f, 'name') } }))
      this.halls = await halls(this.venue)
      this.hall = h.hallId
      this.plans = []
      return 'The hall is added.'
    })
  }

  private seating() {
    return html`<section aria-labelledby="seating"><h2 id="seating">2. Seats</h2>
      ${this.plans.length ? field('plan', 'Seating plan', html`<select id="plan" @change=${(e: Event) => this.choose('plan', (e.target as HTMLSelectElement).value)}>
        <option value="">choose, or import one</option>
        ${this.plans.map((p) => html`<option value=${p.planId} ?selected=${p.planId === this.plan}>version ${p.version}: ${p.name}, ${count(p.seatCount)} seats, of ${when(p.createdAt)}</option>`)}</select>`) : nothing}
      ${this.plan ? nothing : html`
      <form @submit=${(e: SubmitEvent) => e.preventDefault()}>
        <div class="pair">
          ${field('file', 'Plan document', html`<input id="file" type="file" accept=".json,.csv,application/json,text/csv" @change=${this.opened} aria-describedby="file-hint" />`, 'Of pretix, seats.io, CSV or Rowlock')}
          ${this.file ? field('format', 'Format', html`<select id="format" @change=${(e: Event) => { this.file = { ...this.file!, format: (e.target as HTMLSelectElement).value as Format }; this.check() }}>
            ${(['csv', 'pretix', 'seatsio', 'rowlock'] as const).map((f) => html`<option value=${f} ?selected=${f === this.file!.format}>${{ csv: 'CSV', pretix: 'pretix', seatsio: 'seats.io', rowlock: 'Rowlock' }[f]}</option>`)}</select>`) : nothing}
        </div>
        ${this.file ? html`<p><label><input type="checkbox" .checked=${this.rename} @change=${(e: Event) => { this.rename = (e.target as HTMLInputElement).checked; this.check() }} /> Give seats that are there twice a name of their own</label></p>` : nothing}
      </form>
      ${this.checked ? this.verdict(this.checked) : nothing}`}
    </section>`
  }

  private opened(e: Event) {
    const file = (e.target as HTMLInputElement).files?.[0]
    if (!file) return
    void file.text().then((text) => {
      this.file = { text, format: guess(file.name, text) }
      this.check()
    })
  }

  private document() {
    const f = this.file!
    // Documents are sent as they are, byte for byte.
    return {
      body: f.text as never, bodySerializer: (text: unknown) => text as string,
      headers: { 'Content-Type': f.format === 'csv' ? 'text/csv' : 'application/json' },
      query: { format: f.format, duplicates: this.rename ? ('rename' as const) : ('refuse' as const) },
    }
  }

  private check() {
    this.checked = undefined
    this.at = -1
    void this.load(() => answered(checkPlan({ client, ...this.document() })), (checked) => {
      this.checked = checked
      tell(checked.ok ? `No problems: ${many(checked.seats.length, 'seat')}.` : `${problems(checked.problemCount)}.`)
    })
  }

  private verdict(c: CheckedPlan) {
    return html`<div class="beside">
      <organiser-problem-map .who=${this.who} .checked=${c} .at=${this.at} @problem=${(e: CustomEvent<number>) => this.look(e.detail)}></organiser-problem-map>
      <div class="panel">
        <h3>${c.ok ? 'No problems' : problems(c.problemCount)}</h3>
        <p>${count(c.seats.length)} seats${c.areas.length ? `, ${count(c.areas.length)} areas` : ''}, in ${c.categories.join(', ') || 'no category'}.</p>
        ${c.problems.length ? html`<ol class="problems" tabindex="0" aria-label="Problems">${c.problems.map((p, i) => html`<li id="problem-${i}" class=${i === this.at ? 'at' : ''}>
          ${p.seat === undefined ? html`<code>${p.path}</code>` : html`<button type="button" aria-pressed=${i === this.at} @click=${() => (this.at = i)}><code>${p.path}</code> on the map</button>`} ${p.message}</li>`)}</ol>
          ${c.problemCount > c.problems.length ? html`<p class="note">and ${count(c.problemCount - c.problems.length)} more</p>` : nothing}` : nothing}
        ${c.warnings.length ? html`<details><summary>${count(c.warnings.length)} remarks</summary><ul class="problems">${c.warnings.map((w) => html`<li><code>${w.path}</code> ${w.message}</li>`)}</ul></details>` : nothing}
        <p><button type="button" class="primary" ?disabled=${!c.ok || this.busy} @click=${this.bringIn}>Import this plan</button></p>
      </div></div>`
  }

  private look(i: number) {
    this.at = i
    void this.updateComplete.then(() => this.querySelector(`#problem-${i}`)?.scrollIntoView({ block: 'nearest' }))
  }

  private bringIn() {
    void this.act(async () => {
      const d = this.document()
      const done = await write((key) => importPlan({ client, ...d, headers: { ...d.headers, ...key }, path: { hallId: this.hall } }))
      this.plans = await plans(this.hall)
      this.categories = await categories(done.planId)
      this.checked = this.file = undefined
      this.plan = done.planId
      return `Version ${done.version} is imported: ${count(done.seatCount)} seats.`
    })
  }

  private terms() {
    const zone = this.zone
    return html`<section aria-labelledby="terms"><h2 id="terms">3. What, when, for how much</h2>
      <form @submit=${this.make}>
        <div class="pair">
          ${this.events.length ? field('event', 'Event', html`<select id="event" @change=${(e: Event) => (this.event = (e.target as HTMLSelectElement).value)}>
            <option value="">a new one</option>${this.events.map((v) => html`<option value=${v.eventId} ?selected=${v.eventId === this.event}>${v.title}</option>`)}</select>`) : nothing}
          ${this.event ? nothing : html`${field('title', 'Title', html`<input id="title" name="title" required maxlength="200" />`)}
            ${field('kind', 'Kind', html`<select id="kind" name="kind">${kinds.map((k) => html`<option>${k}</option>`)}</select>`)}`}
          ${field('currency', 'Currency', html`<input id="currency" name="currency" required pattern="[A-Za-z]{3}" maxlength="3" size="5" value="EUR" />`)}
        </div>
        ${termFields(zone)}
        ${priceFields(this.prices, '')}
        <p><label><input type="checkbox" name="publish" checked /> Put it on sale at once</label></p>
        <p><button class="primary" ?disabled=${this.busy}>Create show</button></p>
      </form></section>`
  }

  private get zone() {
    return this.venues?.find((v) => v.venueId === this.venue)?.timeZone ?? 'UTC'
  }

  private get prices() {
    return this.categories.map((category) => ({ category, ticketType: 'standard' }))
  }

  private make(e: SubmitEvent) {
    e.preventDefault()
    const f = e.target as HTMLFormElement
    void this.act(async () => {
      const currency = text(f, 'currency').toUpperCase(), kind = text(f, 'kind') as (typeof kinds)[number]
      const body = {
        ...changedTerms(f, this.zone), ...(this.event ? { eventId: this.event } : { event: { kind, title: text(f, 'title') } }),
        planId: this.plan, currency, prices: pricesOf(f, this.prices, currency), publish: new FormData(f).has('publish'),
      } as CreateShowInputBody // nothing in an empty form can be null
      const show = await write((headers) => createShow({ client, headers, body }))
      location.hash = `#/shows/${show.showId}`
    })
  }
}

const venues = () => all(async (cursor) => {
  const page = await answered(listVenues({ client, query: { limit: 200, ...cursor } }))
  return { ...page, list: page.venues }
})

const halls = (venueId: string) => all(async (cursor) => {
  const page = await answered(listHalls({ client, query: { venueId, limit: 200, ...cursor } }))
  return { ...page, list: page.halls }
})

const plans = async (hallId: string) => (await answered(listPlans({ client, path: { hallId }, query: { limit: 50 } }))).plans

const categories = async (planId: string) => (await answered(readPlan({ client, path: { planId } }))).categories.map((c) => c.name)

const problems = (n: number) => many(n, 'problem')

function guess(name: string, text: string): Format {
  if (/\.csv$/i.test(name) || !/^\s*[{[]/.test(text)) return 'csv'
  if (text.includes('"rowlockPlan"')) return 'rowlock'
  return text.includes('"subChart"') || text.includes('"categoryKey"') ? 'seatsio' : 'pretix'
}
