// The door: tickets are checked in by camera, or by a code that is typed or
// comes from a hand scanner, which types as well.
import { checkIn, listShows, readAdmissions, type Admissions, type CheckIn, type Show } from '@rowlock/client'
import { html, nothing, type PropertyValues } from 'lit'
import { customElement, property, query, state } from 'lit/decorators.js'
import { answered, client, count, said, time, when, write } from './client.ts'
import { hasCamera, scan } from './scan.ts'
import { learnTitles, titles } from './shows.ts'
import { field, text, View } from './view.ts'

const words: Record<CheckIn['result'], string> = {
  admitted: 'Let in', already_used: 'Was here before', void: 'Void: given back', wrong_show: 'Ticket of another show', invalid: 'No ticket of ours',
}
const sameCodeMillis = 4000 // a code stays before the camera for a while

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

  override connectedCallback() {
    super.connectedCallback()
    this.keep(5000, async () => {
      if (!this.shows) {
        const page = await answered(listShows({ client, query: { limit: 100 } }))
        await learnTitles(page.shows.map((s) => s.eventId))
        this.shows = page.shows
      }
      await this.counted()
    })
  }

  override disconnectedCallback() {
    super.disconnectedCallback()
    this.camera?.abort()
  }

  override willUpdate(changed: PropertyValues<this>) {
    if (changed.has('show')) {
      this.inside = undefined
      this.last = undefined
      this.earlier = []
      this.counted().catch((e) => (this.trouble = said(e)))
    }
  }

  private async counted() {
    if (this.show) this.inside = await answered(readAdmissions({ client, path: { showId: this.show } }))
  }

  private check(given: string) {
    const code = given.trim().toUpperCase()
    if (!code) return
    const gate = (this.querySelector<HTMLInputElement>('#gate')?.value ?? '').trim()
    localStorage.setItem('rowlock-gate', gate)
    void this.act(async () => {
      const scanId = uuid()
      const check = await write((headers) => checkIn({
        client, headers, body: { code, scanId, ...(gate ? { gate } : {}), ...(this.show ? { showId: this.show } : {}) },
      }))
      if (this.last) this.earlier = [this.last, ...this.earlier].slice(0, 20)
      this.last = { at: new Date().toISOString(), check }
      navigator.vibrate?.(check.admitted ? 60 : [120, 80, 120])
      void this.counted().catch(() => undefined)
    })
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
        if (this.busy || (code === this.seen.code && now - this.seen.at < sameCodeMillis)) {
          if (code === this.seen.code) this.seen.at = now
          return
        }
        this.seen = { code, at: now }
        this.check(code)
      })
    } catch (e) {
      this.trouble = `The camera cannot be used: ${said(e)}`
    } finally {
      this.camera = undefined
    }
  }

  override render() {
    const of = this.shows?.find((s) => s.showId === this.show)
    return html`<h1>Door</h1>
      ${of ? html`<p class="lead">${titles.get(of.eventId)}, ${when(of.startsAt, of.timeZone)}</p>` : nothing}
      ${this.news()}
      <div class="beside">
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
            <p class="actions"><button class="primary" ?disabled=${this.busy}>Check in</button>
              ${hasCamera() ? html`<button type="button" aria-pressed=${Boolean(this.camera)} @click=${this.look}>${this.camera ? 'Stop the camera' : 'Use the camera'}</button>` : nothing}</p>
          </form>
          ${this.camera ? html`<video muted playsinline aria-label="What the camera sees"></video>` : nothing}
        </div>
        <div class="panel">
          <div role="status" aria-live="assertive">${this.last ? this.result(this.last.check) : html`<p class="note">No ticket was checked yet.</p>`}</div>
          ${this.inside ? html`<p class="inside"><strong>${count(this.inside.heads)}</strong> of ${count(this.inside.tickets)} are in${this.inside.refused ? `; not let in: ${count(this.inside.refused)}` : ''}.</p>` : nothing}
          ${this.earlier.length ? html`<h2>Before</h2><ol class="scans">${this.earlier.map((s) => html`<li><time datetime=${s.at}>${time(s.at)}</time> ${words[s.check.result]}${s.check.ticket ? `, ${s.check.ticket.label}` : ''}</li>`)}</ol>` : nothing}
        </div>
      </div>`
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

function uuid(): string {
  const b = crypto.getRandomValues(new Uint8Array(16))
  b[6] = (b[6]! & 0x0f) | 0x40
  b[8] = (b[8]! & 0x3f) | 0x80
  const hex = Array.from(b, (v) => v.toString(16).padStart(2, '0')).join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
