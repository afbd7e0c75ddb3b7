// The door: tickets are checked in by camera, or by a code that is typed or
// comes from a hand scanner, which types as well.
import { checkIn, listShows, readAdmissions, type Admissions, type CheckIn, type Show } from '@rowlock/client'
import { html, nothing, type PropertyValues } from 'lit'
import { customElement, property, query, state } from 'lit/decorators.js'
import { answered, client, count, newKey, said, time, unsure, uuid, when, write } from './client.ts'
import { hasCamera, scan } from './scan.ts'
import { learnTitles, titles } from './shows.ts'
import { field, text, View } from './view.ts'

const words: Record<CheckIn['result'], string> = {
  admitted: 'Let in', already_used: 'Was here before', void: 'Void: given back', wrong_show: 'Ticket of another show', invalid: 'No ticket of ours',
}
const sameCodeMillis = 4000 // a code stays before the camera for a while
const dayMillis = 86_400_000

/** A scan that is to be told to the server, once, however often that takes. */
interface Scan {
  code: string
  gate: string
  show: string
  scanId: string
  key: string
}

interface Scanned {
  at: string
  check: CheckIn
}

@customElement('organiser-door')
export class Door extends View {
  @property() show = ''
  @state() private shows: Show[] | undefined
  @state() private inside: Admissions | undefined
  @state() private last: Scanned | undefined
  @state() private earlier: Scanned[] = []
  @state() private camera: AbortController | undefined
  @query('video') private video!: HTMLVideoElement
  @query('#code') private code!: HTMLInputElement
  private seen = { code: '', at: 0 }
  private readonly waiting: Scan[] = []
  private working = false
  private untold: Scan | undefined // nobody knows whether the server has heard of it

  override connectedCallback() {
    super.connectedCallback()
    this.keep(5000, async () => {
      if (!this.shows) {
        // A show without an end is over when it begins, and people are late.
        const from = new Date(Date.now() - dayMillis).toISOString()
        const shows = (await answered(listShows({ client, query: { limit: 200, from } }))).shows.filter((s) => s.status !== 'draft' && s.status !== 'cancelled')
        await learnTitles(shows.map((s) => s.eventId))
        this.shows = shows
      }
      await this.counted()
    })
  }

  override disconnectedCallback() {
    super.disconnectedCallback()
    this.camera?.abort()
  }

  override willUpdate(changed: PropertyValues<this>) {
    super.willUpdate(changed)
    if (changed.has('show')) {
      this.inside = undefined
      this.last = undefined
      this.earlier = []
      this.counted().catch((e) => (this.trouble = said(e)))
    }
  }

  private async counted() {
    const show = this.show
    if (!show) return
    const inside = await answered(readAdmissions({ client, path: { showId: show } }))
    if (show === this.show) this.inside = inside
  }

  /** Notes a scan. Hand scanners are faster than a bad line: they are told one after another, and none is passed over. */
  private check(given: string) {
    const code = given.trim().toUpperCase()
    if (!code) return
    const gate = (this.querySelector<HTMLInputElement>('#gate')?.value ?? '').trim()
    localStorage.setItem('rowlock-gate', gate)
    // A ticket that comes again because nobody knew what came of it is the same scan.
    this.waiting.push(this.untold?.code === code ? this.untold : { code, gate, show: this.show, scanId: uuid(), key: newKey() })
    void this.work()
  }

  private async work() {
    if (this.working) return
    this.working = true
    for (let scan = this.waiting.shift(); scan; scan = this.waiting.shift()) {
      const { code, gate, show, scanId, key } = scan
      this.trouble = ''
      try {
        const check = await write((headers) => checkIn({
          client, headers, body: { code, scanId, ...(gate ? { gate } : {}), ...(show ? { showId: show } : {}) },
        }), key)
        if (this.untold === scan) this.untold = undefined
        if (this.last) this.earlier = [this.last, ...this.earlier].slice(0, 20)
        this.last = { at: new Date().toISOString(), check }
        navigator.vibrate?.(check.admitted ? 60 : [120, 80, 120])
      } catch (e) {
        this.trouble = `${said(e)} This ticket was not checked: scan it again.`
        if (this.last) this.earlier = [this.last, ...this.earlier].slice(0, 20)
        this.last = undefined
        if (unsure(e)) this.untold = scan
        this.seen = { code: '', at: 0 }
      }
    }
    this.working = false
    this.counted().catch(() => undefined)
  }

  private typed(e: SubmitEvent) {
    e.preventDefault()
    const form = e.target as HTMLFormElement
    this.check(text(form, 'code'))
    this.code.value = ''
    this.code.focus()
  }

  private async look() {
    if (this.camera) {
      this.camera.abort()
      return
    }
    const camera = (this.camera = new AbortController())
    await this.updateComplete
    try {
      await scan(this.video, camera.signal, (code) => {
        const now = performance.now()
        const same = code === this.seen.code && now - this.seen.at < sameCodeMillis
        this.seen = { code, at: now }
        if (!same) this.check(code)
      })
    } catch (e) {
      if (!camera.signal.aborted) this.trouble = `The camera cannot be used: ${said(e)}`
    } finally {
      this.camera = undefined
    }
  }

  override render() {
    const of = this.shows?.find((s) => s.showId === this.show)
    return html`<h1>Door</h1>
      ${of ? html`<p class="lead">${titles.get(of.eventId)}, ${when(of.startsAt, of.timeZone)}</p>` : nothing}
      ${this.news()}
      <div class="beside door">
        <div>
          <div class="pair">
            ${field('of', 'Show', html`<select id="of" @change=${(e: Event) => (location.hash = `#/door/${(e.target as HTMLSelectElement).value}`)}>
              <option value="" ?selected=${!this.show}>any of ours</option>
              ${(this.shows ?? []).map((s) => html`<option value=${s.showId} ?selected=${s.showId === this.show}>${titles.get(s.eventId) || 'Untitled'}, ${when(s.startsAt, s.timeZone)}</option>`)}
              ${this.show && this.shows && !of ? html`<option value=${this.show} selected>this show</option>` : nothing}
            </select>`)}
            ${field('gate', 'Gate', html`<input id="gate" maxlength="100" autocomplete="off" .value=${localStorage.getItem('rowlock-gate') ?? ''} />`)}
          </div>
          <form @submit=${this.typed}>
            ${field('code', 'Code of the ticket', html`<input id="code" name="code" required maxlength="1000" autocomplete="off" autocapitalize="characters" spellcheck="false" />`)}
            <p class="actions"><button class="primary">Check in</button>
              ${hasCamera() ? html`<button type="button" aria-pressed=${Boolean(this.camera)} @click=${this.look}>${this.camera ? 'Stop the camera' : 'Use the camera'}</button>` : nothing}</p>
          </form>
          ${this.camera ? html`<video muted playsinline aria-label="What the camera sees"></video>` : nothing}
        </div>
        <div class="panel">
          <div role="status" aria-live="assertive">${this.last ? this.result(this.last.check) : html`<p class="note">${this.earlier.length ? 'Scan the next ticket.' : 'No ticket was checked yet.'}</p>`}</div>
          ${this.inside ? html`<p class="inside"><strong>${count(this.inside.heads)}</strong> of ${count(this.inside.tickets)} are in${this.inside.refused ? `; not let in: ${count(this.inside.refused)}` : ''}.</p>` : nothing}
        </div>
      </div>
      ${this.earlier.length ? html`<h2>Before</h2><ol class="scans">${this.earlier.map((s) => html`<li><time datetime=${s.at}>${time(s.at)}</time> ${words[s.check.result]}${s.check.ticket ? `, ${s.check.ticket.label}` : ''}</li>`)}</ol>` : nothing}`
  }

  private result(c: CheckIn) {
    const t = c.ticket
    return html`<div class="result ${c.result}">
      <p class="verdict"><span aria-hidden="true">${c.admitted ? '✓' : '✕'}</span> ${words[c.result]}</p>
      ${t ? html`<p>${t.label}, ${t.ticketType}${t.holderName ? html`, <strong>${t.holderName}</strong>` : nothing}</p>
        ${this.may('sales:read') ? html`<p><a href="#/bookings/${t.bookingId}">Its booking</a></p>` : nothing}` : nothing}
      ${c.firstUsedAt ? html`<p>First at ${time(c.firstUsedAt)}${c.firstGate ? `, gate ${c.firstGate}` : ''}.</p>` : nothing}
    </div>`
  }
}
