// One show as it sells: its figures as they change, and what steers the sale.
import {
  cancelShow, pauseShow, publishShow, readAvailability, readSales, readShow, resumeShow, type Availability, type Sales, type Show,
} from '@rowlock/client'
import { html, nothing, svg } from 'lit'
import { customElement, property, query, state } from 'lit/decorators.js'
import { Live } from '../map/live.ts'
import { answered, client, count, many, money, when, write } from './client.ts'
import './places.ts'
import './queue.ts'
import { learnTitles, titles } from './shows.ts'
import './terms.ts'
import { badge, View } from './view.ts'

const settleMillis = 400 // changes come in bursts; figures are asked for after each

@customElement('organiser-show')
export class ShowView extends View {
  @property() show = ''
  @state() private facts: Show | undefined
  @state() private sales: Sales | undefined
  @state() private free: Availability | undefined
  @state() private condition: 'live' | 'asking' | 'away' | '' = ''
  @query('dialog') private dialog!: HTMLDialogElement
  private stream: Live | undefined
  private stale = false // something changed since the figures were asked for
  private asking = false
  private reads = 0

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
  }

  /** Asks for the figures once more, and never for two at a time: a hot show changes all the while. */
  private async changed() {
    this.stale = true
    if (this.asking) return
    this.asking = true
    while (this.stale && this.isConnected) {
      await new Promise((done) => setTimeout(done, settleMillis))
      this.stale = false
      await this.fresh(() => this.read())
    }
    this.asking = false
  }

  private async read() {
    const path = { showId: this.show }, turn = ++this.reads
    const [facts, free, sales] = await Promise.all([
      answered(readShow({ client, path })),
      answered(readAvailability({ client, path })),
      this.may('sales:read') ? answered(readSales({ client, path })) : undefined,
    ])
    await learnTitles([facts.eventId])
    if (turn !== this.reads) return // who asked later is answered with later figures
    this.facts = facts
    this.free = free
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
      <organiser-queue .who=${this.who} .show=${this.show} ?running=${s.status === 'on_sale' || s.status === 'paused'}></organiser-queue>
      <organiser-places .who=${this.who} .facts=${s}></organiser-places>
      ${this.may('catalogue:write') && s.status !== 'cancelled' ? html`<section aria-labelledby="change"><h2 id="change">Change it</h2>
        <organiser-terms .who=${this.who} .show=${this.show} @changed=${() => this.fresh(() => this.read())}></organiser-terms></section>` : nothing}
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

  private steering(s: Show) {
    const button = (verb: typeof pauseShow, name: string, words: string, kind = '') =>
      html`<button type="button" class=${kind} ?disabled=${this.busy} @click=${() => this.steer(verb, words)}>${name}</button>`
    return html`<div class="actions">
      ${this.may('catalogue:write') ? html`
        ${s.status === 'draft' ? button(publishShow, 'Publish', 'It is on sale, within its sale window.', 'primary') : nothing}
        ${s.status === 'on_sale' ? button(pauseShow, 'Pause sales', 'Sales are paused. Live holds may still be paid.') : nothing}
        ${s.status === 'paused' ? button(resumeShow, 'Resume sales', 'It is on sale again.', 'primary') : nothing}
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
