// The waiting room of a show: who waits, how fast they are let in, and what
// steers it.
import { amendShow, closeQueue, drawQueue, openQueue, readQueue, type AmendShowInputBody, type WaitingRoom } from '@rowlock/client'
import { html, nothing } from 'lit'
import { customElement, property, state } from 'lit/decorators.js'
import { keyed } from 'lit/directives/keyed.js'
import { answered, client, count, many, time, write } from './client.ts'
import { changed } from './terms.ts'
import { badge, field, text, View } from './view.ts'

const reasons: Record<string, string> = {
  before_sales: 'the sale has not begun', paused: 'sales are paused', sold_out: 'everything is sold', closed: 'it was closed by hand', calm: 'it closed by itself, as the crowd has gone',
  cancelled: 'the show is cancelled', ended: 'the show is over', after_sales: 'the sale is over', draft: 'the show is a draft',
}

/** Settings that are numbers: name, label, hint, least, most. */
const settings = [
  ['threshold', 'Crowd', 'Arrivals in ten seconds, or people who joined before the sale, above which it opens by itself', 1, 10_000_000],
  ['ratePerMinute', 'Let in a minute', 'People', 1, 1_000_000],
  ['admissionSeconds', 'Time to begin', 'Seconds to hold something once it is one’s turn', 1, 3600],
  ['sessionSeconds', 'Time to choose', 'Seconds to hold again, from the first hold', 1, 86_400],
  ['returnSeconds', 'Time to come back', 'Seconds, once, after a missed turn', 0, 86_400],
  ['sizeMax', 'At most wait', 'People; 0: any number', 0, 100_000_000],
] as const

@customElement('organiser-queue')
export class Queue extends View {
  @property() show = ''
  @property({ type: Boolean }) running = false // the show is on sale or paused
  @state() private room: WaitingRoom | undefined
  @state() private was: WaitingRoom['settings'] | undefined // as the form began

  override connectedCallback() {
    super.connectedCallback()
    this.keep(3000, () => this.read())
  }

  private async read() {
    this.room = await answered(readQueue({ client, path: { showId: this.show } }))
  }

  override render() {
    const q = this.room
    if (!q) return this.news()
    const cell = (name: string, value: string, note = '') => html`<div><dt>${name}</dt><dd>${value}${note ? html` <small>${note}</small>` : nothing}</dd></div>`
    const why = q.reason ? reasons[q.reason] ?? q.reason : ''
    return html`<section aria-labelledby="queue">
      <h2 id="queue">Waiting room ${badge(q.open ? 'open' : 'closed')}</h2>
      ${this.news()}
      ${q.open || q.joined > 0 ? html`<dl class="figures">
        ${cell('Wait', count(q.waiting), q.settings.sizeMax ? `at most ${count(q.settings.sizeMax)}` : '')}
        ${cell('Were called', count(q.head), `of ${count(q.joined)} who joined`)}
        ${cell('Let in a minute', count(q.settings.ratePerMinute))}
      </dl>` : nothing}
      <p class="note">${q.open ? (why ? `Nobody is let in: ${why}.` : 'Who wants to hold places needs a turn; staff does not.')
        : `${why ? `Closed: ${why}. ` : ''}${q.joinable ? 'People can join already; they are drawn when the sale begins.' : 'Places can be held without a turn, while they are on sale.'}`}
        ${q.draw ? html`<br />Draw ${q.draw.draw}: ${many(q.draw.entries, 'entry', 'entries')}, ${q.draw.drawnAt ? `drawn at ${time(q.draw.drawnAt)}` : 'not drawn yet'}${q.draw.beacon ? `, by ${q.draw.beacon}` : ''}.` : nothing}</p>
      ${this.may('catalogue:write') ? html`
        ${this.running ? html`<p class="actions"><button type="button" ?disabled=${this.busy} @click=${() => this.set(!q.open)}>${q.open ? 'Close' : 'Open'} the waiting room</button></p>` : nothing}
        ${q.draw?.beacon && !q.draw.drawnAt ? html`<form @submit=${this.draw}>
          ${field('said', `What ${q.draw.beacon} said`, html`<input id="said" name="said" required maxlength="500" autocomplete="off" aria-describedby="said-hint" />`, 'Letter by letter, within a minute of the beginning of the sale')}
          <p><button ?disabled=${this.busy}>Draw</button></p></form>` : nothing}
        <details @toggle=${(e: Event) => (this.was = (e.currentTarget as HTMLDetailsElement).open ? q.settings : undefined)}><summary>Its settings</summary>
          ${this.was ? keyed(this.was, this.form(this.was)) : nothing}</details>` : nothing}
    </section>`
  }

  private form(was: WaitingRoom['settings']) {
    return html`<form @submit=${this.save}><div class="pair">
        ${field('mode', 'Opens', html`<select id="mode" name="mode">
          <option value="off" ?selected=${was.mode === 'off'}>by hand only</option>
          <option value="automatic" ?selected=${was.mode === 'automatic'}>by itself when there is a crowd</option></select>`)}
        ${settings.map(([name, label, hint, min, max]) => field(name, label,
          html`<input id=${name} name=${name} type="number" required min=${min} max=${max} value=${was[name]} aria-describedby="${name}-hint" />`, hint))}
        ${field('beacon', 'Beacon', html`<input id="beacon" name="beacon" maxlength="500" value=${was.beacon ?? ''} aria-describedby="beacon-hint" />`, 'A public value to draw by, named before; empty: the entries themselves')}
      </div><p><button class="primary" ?disabled=${this.busy}>Save</button></p></form>`
  }

  private set(open: boolean) {
    void this.act(async () => {
      await write((headers) => (open ? openQueue : closeQueue)({ client, path: { showId: this.show }, headers }))
      await this.read()
      return open ? 'The waiting room is open.' : 'The waiting room is closed.'
    })
  }

  private draw(e: SubmitEvent) {
    e.preventDefault()
    const publicValue = text(e.target as HTMLFormElement, 'said')
    void this.act(async () => {
      await write((headers) => drawQueue({ client, path: { showId: this.show }, headers, body: { publicValue } }))
      await this.read()
      return 'They are drawn.'
    })
  }

  private save(e: SubmitEvent) {
    e.preventDefault()
    const form = e.target as HTMLFormElement, was = this.was!
    void this.act(async () => {
      const queue: NonNullable<AmendShowInputBody['queue']> = {}
      for (const [name] of settings) {
        const value = changed(form, name)
        if (value !== undefined) queue[name] = Number(value)
      }
      const beacon = changed(form, 'beacon'), mode = text(form, 'mode') as 'off' | 'automatic'
      if (beacon !== undefined) queue.beacon = beacon
      if (mode !== was.mode) queue.mode = mode
      if (Object.keys(queue).length === 0) return 'Nothing was changed.'
      await write((headers) => amendShow({ client, path: { showId: this.show }, headers, body: { queue } }))
      await this.read()
      this.was = this.room!.settings
      return 'Saved.'
    })
  }
}
