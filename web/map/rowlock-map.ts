// <rowlock-map show="…" base="https://…">: the seats of a show, to look at and
// to choose from, as they are now.
//
// It holds nothing by itself: it says what somebody has chosen
// ("selection-change") and which of it somebody else took ("seat-taken"); the
// page around it makes the reservation and tells it by `hold`.
import { readAvailability, readPlan, readShow, type AreaCount, type Plan, type Show } from '@rowlock/client'
import { createClient, createConfig, type Client } from '@rowlock/client/client'
import { select } from 'd3-selection'
import 'd3-transition'
import { zoom, zoomIdentity, type D3ZoomEvent, type ZoomBehavior } from 'd3-zoom'
import { html, LitElement, nothing, type PropertyValues } from 'lit'
import { customElement, property, query, state } from 'lit/decorators.js'
import { money, stringsOf, type Strings } from '../strings/index.ts'
import { Hall, type Row, type Seat, type Section } from './layout.ts'
import { Live, type AreaNews, type ShowNews } from './live.ts'
import { Painter } from './paint.ts'
import { dark, light, seatIcon, type Letter, type Scheme } from './shapes.ts'
import { style } from './style.ts'

/** A seat that was chosen. */
export interface ChosenSeat {
  seatId: string
  label: string
  section: string
  row: string
  seat: string
  category: string
  /** Price of the standard ticket type, in the currency's minor unit. */
  price: number
}

/** Places of an area that were chosen. */
export interface ChosenArea {
  areaId: string
  name: string
  category: string
  ticketType: string
  quantity: number
  /** Price of one, in the currency's minor unit. */
  price: number
}

/** The detail of "selection-change". */
export interface Selection {
  seats: ChosenSeat[]
  areas: ChosenArea[]
  /** In the currency's minor unit, with standard prices for the seats. */
  total: number
  currency: string
}

/** What is held for the one who looks. */
export interface Hold {
  seats: { seatId: string }[]
  areas: { areaId: string; ticketType: string; quantity: number }[]
}

const letters: Record<string, Letter> = { available: 'a', held: 'h', booked: 'b', blocked: 'x' }
const largeSection = 1500 // seats from which on only some rows are in the document
const rowsAround = 10
const tellEvery = 12_000 // milliseconds between news of others for screen readers
const smallSeat = 10 // pixels of a seat below which a click comes nearer instead
const smallForFingers = 18
const nearer = 30
const recountMillis = 200 // between looks at what many changes have made of the counts and the list
const againMillis = 3_000 // before seats that could not be had are asked for again
const termsMillis = 3_000 // within which viewers who are told that a show has changed read it

@customElement('rowlock-map')
export class RowlockMap extends LitElement {
  static override styles = style

  /** The show's id. */
  @property() show = ''
  /** Address of the server; the page's own if it is not given. */
  @property() base = ''
  /** Language of the map; that of the page around it if it is not given. */
  @property() override lang = ''
  /** "organiser": every seat may be chosen, whatever it is, and any number. */
  @property() mode: '' | 'organiser' = ''
  /** Nothing can be chosen while the page asks the server; nothing counts as taken. */
  @property({ type: Boolean }) busy = false
  /** What is held for the one who looks: these places are theirs. Setting it sets the selection, too. */
  @property({ attribute: false }) hold: Hold | null = null

  @state() private hall: Hall | undefined
  @state() private facts: Show | undefined
  @state() private trouble: '' | 'failed' | 'away' = ''
  @state() private asList = false
  @state() private section = 0
  @state() private at: Seat | undefined // where the keyboard is
  @state() private counted = 0 // raised when counts have changed
  private readonly areas = new Map<string, AreaCount>()
  private readonly chosen = new Map<string, Seat>()
  private readonly quantities = new Map<string, number>() // areaId, space, ticketType

  @query('.stage') private stage!: HTMLElement
  @query('canvas') private canvas!: HTMLCanvasElement
  @query('.tip') private tip!: HTMLElement
  @query('[aria-live]') private teller!: HTMLElement

  private painter: Painter | undefined
  private zoomer!: ZoomBehavior<HTMLCanvasElement, unknown>
  private client!: Client
  private live: Live | undefined
  private hover: Seat | undefined
  private moved = false // by hand; until then the map fits itself to its window
  private readonly sizes = new ResizeObserver(() => this.fitWindow())
  private readonly darkness = matchMedia('(prefers-color-scheme: dark)')
  private readonly stillness = matchMedia('(prefers-reduced-motion: reduce)')
  private news = { taken: 0, freed: 0, timer: 0 }
  private recounting = 0
  private rereading = 0
  private loads = 0

  private get words(): Strings {
    return stringsOf(this.lang || (this.closest('[lang]') as HTMLElement | null)?.lang || document.documentElement.lang || 'en')
  }

  /** What is chosen now. */
  get selection(): Selection {
    const seats = [...this.chosen.values()].map((s) => this.chosenSeat(s))
    const areas = [...this.quantities].flatMap(([key, quantity]): ChosenArea[] => {
      const [areaId = '', ticketType = ''] = key.split(' ')
      const area = this.areas.get(areaId)
      if (!area) return []
      return [{ areaId, ticketType, quantity, name: area.name, category: area.category, price: this.price(area.category, ticketType) }]
    })
    const total = seats.reduce((n, s) => n + s.price, 0) + areas.reduce((n, a) => n + a.price * a.quantity, 0)
    return { seats, areas, total, currency: this.facts?.currency ?? '' }
  }

  /** Chooses these and nothing else, as far as they are free; answers with those that are not. */
  choose(seats: { seatId: string }[], areas: Hold['areas'] = []): ChosenSeat[] {
    this.chosen.clear()
    this.quantities.clear()
    const gone: ChosenSeat[] = []
    for (const { seatId } of seats) {
      const seat = this.hall?.byId.get(seatId)
      if (!seat) continue
      if (this.free(seat)) this.chosen.set(seatId, seat)
      else gone.push(this.chosenSeat(seat))
    }
    for (const a of areas) if (a.quantity > 0) this.quantities.set(`${a.areaId} ${a.ticketType}`, a.quantity)
    this.mark()
    return gone
  }

  /** Lets go of seats that somebody else has; "selection-change" and "seat-taken" follow. */
  drop(seatIds: string[]) {
    const lost = seatIds.map((id) => this.chosen.get(id)).filter((s) => s !== undefined)
    for (const s of lost) {
      this.chosen.delete(s.seatId)
      if (s.status === 'a') this.set([[s, 'h']]) // the stream will say so, too
    }
    if (lost.length === 0) return
    this.say(this.words.map.taken(lost.map((s) => s.label).join(', ')))
    this.mark()
    this.announce()
    this.dispatchEvent(new CustomEvent('seat-taken', { detail: { seats: lost.map((s) => this.chosenSeat(s)) }, bubbles: true, composed: true }))
  }

  override connectedCallback() {
    super.connectedCallback()
    this.darkness.addEventListener('change', this.recolour)
    if (this.hasUpdated) {
      this.sizes.observe(this.stage)
      void this.load()
    }
  }

  override disconnectedCallback() {
    super.disconnectedCallback()
    this.live?.stop()
    this.painter?.stop()
    this.sizes.disconnect()
    clearTimeout(this.news.timer)
    clearTimeout(this.recounting)
    clearTimeout(this.rereading)
    this.recounting = this.rereading = this.news.timer = 0
    this.darkness.removeEventListener('change', this.recolour)
  }

  protected override firstUpdated() {
    this.painter = new Painter(this.canvas)
    this.recolour()
    this.zoomer = zoom<HTMLCanvasElement, unknown>()
      .clickDistance(6)
      .filter((e: MouseEvent) => (!e.ctrlKey || e.type === 'wheel') && !e.button && e.type !== 'dblclick')
      .on('zoom', (e: D3ZoomEvent<HTMLCanvasElement, unknown>) => {
        if (e.sourceEvent) this.moved = true
        this.painter!.move(e.transform)
        this.point(undefined)
      })
    select(this.canvas).call(this.zoomer)
    this.sizes.observe(this.stage)
    this.painter.painted = () => {
      performance.mark('rowlock-map-painted')
      this.dispatchEvent(new CustomEvent('map-ready', { bubbles: true, composed: true }))
    }
  }

  protected override updated(changed: PropertyValues<this>) {
    if (changed.has('show') || changed.has('base')) void this.load()
    if (changed.has('hold') && this.hall) this.takeHold(changed.get('hold'))
    if (changed.has('busy') && !this.busy) this.look()
  }

  private readonly recolour = () => {
    this.painter!.scheme = this.scheme
    this.requestUpdate()
  }

  private get scheme(): Scheme {
    return this.darkness.matches ? dark : light
  }

  private async load() {
    this.live?.stop()
    this.hall = undefined
    this.trouble = ''
    this.chosen.clear()
    this.quantities.clear()
    this.areas.clear()
    clearTimeout(this.rereading)
    const turn = ++this.loads
    if (!this.show) return
    const show = this.show
    this.client = createClient(createConfig({ baseUrl: `${(this.base || location.origin).replace(/\/+$/, '')}/api/v1` }))
    const path = { showId: show }
    const [facts, now] = await Promise.all([readShow({ client: this.client, path }), readAvailability({ client: this.client, path })])
    let plan: Plan | undefined
    if (now.data?.planId) plan = (await readPlan({ client: this.client, path: { planId: now.data.planId } })).data
    if (turn !== this.loads || !this.isConnected) return
    if (!facts.data || !now.data || (now.data.planId && !plan)) {
      this.trouble = 'failed'
      const status = facts.response?.status ?? 0
      if (status !== 404 && status !== 422) this.rereading = window.setTimeout(() => this.load(), againMillis * (1 + Math.random()))
      return
    }
    this.facts = facts.data
    // A stock without a hall has areas only.
    const hall = new Hall(plan ?? { planId: '', hallId: '', name: '', version: 0, seatCount: 0, categories: [], areas: [], seats: [], drawing: [] })
    for (const a of now.data.areas) this.areas.set(a.areaId, a)
    hall.seats.forEach((s, i) => (s.status = (now.data.statuses[i] as Letter) ?? 'x'))
    this.hall = hall
    this.section = 0
    this.at = hall.sections[0]?.rows[0]?.seats[0]
    this.moved = false
    this.painter!.show(hall)
    this.fitWindow()
    this.takeHold(null)
    this.live = new Live(this.client, show, {
      snapshot: (_, statuses, areas) => this.snapshot(statuses, areas),
      changes: (_, seats, areas) => {
        this.set(seats.flatMap(({ seatId, status }): [Seat, Letter][] => {
          const seat = hall.byId.get(seatId)
          return seat ? [[seat, letters[status] ?? 'x']] : []
        }))
        this.setAreas(areas)
        this.look()
      },
      show: (now, terms) => this.told(now, terms),
      condition: (now) => (this.trouble = now === 'away' ? 'away' : ''),
    })
    this.live.from(now.response?.headers.get('ETag') ?? null)
    void this.live.run()
  }

  /** The show itself is otherwise: on sale now, say, or sold out. */
  private told({ status, soldOut, saleOpen }: ShowNews, terms: boolean) {
    const was = this.facts
    if (!was) return
    if (was.status !== status || was.soldOut !== soldOut || was.saleOpen !== saleOpen) this.know({ ...was, status, soldOut, saleOpen })
    else if (!terms) return
    clearTimeout(this.rereading)
    this.rereading = window.setTimeout(async () => {
      const { data } = await readShow({ client: this.client, path: { showId: was.showId }, cache: 'no-cache' })
      if (data && this.facts?.showId === data.showId && data.version >= this.facts.version) this.know(data)
    }, Math.random() * termsMillis)
  }

  private know(facts: Show) {
    this.facts = facts
    this.dispatchEvent(new CustomEvent<{ show: Show }>('show-change', { detail: { show: facts }, bubbles: true, composed: true }))
  }

  private snapshot(statuses: string, areas: AreaNews[]) {
    const hall = this.hall
    if (!hall) return
    this.set(hall.seats.flatMap((s): [Seat, Letter][] => {
      const status = statuses[s.no] as Letter | undefined
      return status && status !== s.status ? [[s, status]] : []
    }))
    this.setAreas(areas)
    this.look()
  }

  private setAreas(news: AreaNews[]) {
    for (const n of news) {
      const area = this.areas.get(n.areaId)
      if (area) this.areas.set(n.areaId, { ...area, ...n })
    }
    if (news.length) this.recount()
  }

  /** Has counts and the list drawn again, not for each of many changes. */
  private recount() {
    this.recounting ||= window.setTimeout(() => {
      this.recounting = 0
      this.counted++
    }, recountMillis)
  }

  /** Gives seats their status, and draws them. */
  private set(changes: [Seat, Letter][]) {
    const own = new Set(this.hold?.seats.map((s) => s.seatId))
    const drawn: Seat[] = []
    for (const [seat, status] of changes) {
      if (seat.status === status) continue
      if (!own.has(seat.seatId) && !this.chosen.has(seat.seatId) && seat.section === this.at?.section) {
        if (seat.status === 'a') this.news.taken++
        else if (status === 'a') this.news.freed++
      }
      seat.status = status
      drawn.push(seat)
    }
    if (drawn.length === 0) return
    this.painter?.changed(drawn)
    this.recount()
    if (!this.news.timer && (this.news.taken || this.news.freed)) {
      this.news.timer = window.setTimeout(() => {
        const { taken, freed } = this.news
        this.news = { taken: 0, freed: 0, timer: 0 }
        const here = this.hall?.sections[this.section]
        if (!here || !(taken || freed)) return
        const left = here.rows.reduce((n, r) => n + r.seats.filter((s) => s.status === 'a').length, 0)
        this.say(`${here.name} ${this.words.map.moved(taken, freed, left)}`)
      }, tellEvery)
    }
  }

  /** Finds out whether anything chosen was taken. */
  private look() {
    if (this.busy || this.mode === 'organiser') return
    this.drop([...this.chosen.values()].filter((s) => !this.free(s)).map((s) => s.seatId))
  }

  private takeHold(was: Hold | null | undefined) {
    if (!this.hold) {
      // It is over. Until the stream says so, too, its seats are nobody else's.
      this.set((was?.seats ?? []).flatMap(({ seatId }): [Seat, Letter][] => {
        const seat = this.hall?.byId.get(seatId)
        return seat?.status === 'h' ? [[seat, 'a']] : []
      }))
      this.mark()
      return
    }
    this.chosen.clear()
    this.quantities.clear()
    for (const { seatId } of this.hold.seats) {
      const seat = this.hall?.byId.get(seatId)
      if (seat) this.chosen.set(seatId, seat)
    }
    for (const a of this.hold.areas) {
      const key = `${a.areaId} ${a.ticketType}`
      this.quantities.set(key, (this.quantities.get(key) ?? 0) + a.quantity)
    }
    this.mark()
  }

  /** Whether the one who looks may have a seat. */
  private free(seat: Seat): boolean {
    return this.mode === 'organiser' || seat.status === 'a' || (this.hold?.seats.some((s) => s.seatId === seat.seatId) ?? false)
  }

  private chosenSeat(s: Seat): ChosenSeat {
    const category = this.hall!.categories[s.category]!
    return { seatId: s.seatId, label: s.label, section: s.section, row: s.row, seat: s.seat, category, price: this.price(category, 'standard') }
  }

  private price(category: string, ticketType: string): number {
    return Number(this.facts?.prices.find((p) => p.category === category && p.ticketType === ticketType)?.amount ?? 0)
  }

  private get count(): number {
    return this.chosen.size + [...this.quantities.values()].reduce((a, b) => a + b, 0)
  }

  private get most(): number {
    return this.mode === 'organiser' ? Infinity : Number(this.facts?.maxPlacesPerReservation ?? Infinity)
  }

  private toggle(seat: Seat) {
    const w = this.words.map
    if (this.busy) return
    if (this.chosen.delete(seat.seatId)) {
      this.say(w.nowLeft(seat.label, this.count))
    } else if (!this.free(seat)) {
      this.say(w.cannot(seat.label, this.statusWord(seat)))
      return
    } else if (this.count >= this.most) {
      this.say(w.limit(this.most))
      this.dispatchEvent(new CustomEvent('selection-limit', { detail: { limit: this.most }, bubbles: true, composed: true }))
      return
    } else {
      this.chosen.set(seat.seatId, seat)
      this.say(w.nowChosen(`${seat.label}, ${this.priceWord(seat)}`, this.count))
    }
    this.mark()
    this.announce()
  }

  private step(area: AreaCount, ticketType: string, by: number) {
    if (this.busy) return
    const key = `${area.areaId} ${ticketType}`
    const quantity = (this.quantities.get(key) ?? 0) + by
    if (by > 0 && this.count >= this.most) {
      this.say(this.words.map.limit(this.most))
      this.dispatchEvent(new CustomEvent('selection-limit', { detail: { limit: this.most }, bubbles: true, composed: true }))
      return
    }
    if (quantity <= 0) this.quantities.delete(key)
    else this.quantities.set(key, quantity)
    this.requestUpdate()
    this.announce()
  }

  private announce() {
    this.dispatchEvent(new CustomEvent<Selection>('selection-change', { detail: this.selection, bubbles: true, composed: true }))
  }

  /** Tells screen readers. */
  private say(words: string) {
    // The same words twice are news only if the text changes.
    this.teller.textContent = this.teller.textContent === words ? words + '\u00a0' : words
  }

  private statusWord(s: Seat): string {
    const w = this.words.map
    if (this.chosen.has(s.seatId)) return w.chosen
    return { a: w.free, h: w.held, b: w.sold, x: w.blocked }[s.status]
  }

  private priceWord(s: Seat): string {
    return this.facts ? money(this.words.tag, this.price(this.hall!.categories[s.category]!, 'standard'), this.facts.currency) : ''
  }

  private describe(s: Seat): string {
    const w = this.words.map
    return [
      s.label, this.hall!.categories[s.category], this.priceWord(s), this.statusWord(s),
      s.kind === 'wheelchair' ? w.wheelchair : s.kind === 'companion' ? w.companion : '',
      ...s.features.map((f) => w.features[f] ?? f.replaceAll('_', ' ')),
    ].filter(Boolean).join(', ')
  }

  // ---- the map and its gestures

  private fitWindow() {
    if (!this.painter || !this.stage) return
    const { width, height } = this.stage.getBoundingClientRect()
    if (width === 0 || height === 0) return
    this.painter.resize(width, height)
    if (!this.hall) return
    const fit = this.fitScale(width, height)
    const b = this.hall.box, p = this.hall.pitch
    this.zoomer.scaleExtent([fit * 0.9, Math.max(fit * 2, 64 / p)]).extent([[0, 0], [width, height]])
      .translateExtent([[b.x0 - p * 4 - width / fit / 4, b.y0 - p * 4 - height / fit / 4], [b.x1 + p * 4 + width / fit / 4, b.y1 + p * 4 + height / fit / 4]])
    if (!this.moved) this.fit(0)
  }

  private fitScale(width: number, height: number): number {
    const b = this.hall!.box, p = this.hall!.pitch
    return Math.min(width / (b.x1 - b.x0 + p * 3), height / (b.y1 - b.y0 + p * 3), 40 / p)
  }

  private fit(millis: number) {
    const { width, height } = this.stage.getBoundingClientRect()
    const k = this.fitScale(width, height), b = this.hall!.box
    const to = zoomIdentity.translate(width / 2 - ((b.x0 + b.x1) / 2) * k, height / 2 - ((b.y0 + b.y1) / 2) * k).scale(k)
    this.moved = false
    this.glide(millis).call(this.zoomer.transform, to)
  }

  private glide(millis: number) {
    return select(this.canvas).transition().duration(this.stillness.matches ? 0 : millis)
  }

  private zoomBy(by: number) {
    this.moved = true
    this.glide(200).call(this.zoomer.scaleBy, by)
  }

  private near(e: MouseEvent) {
    const { left, top } = this.canvas.getBoundingClientRect()
    const t = (this.canvas as unknown as { __zoom: { k: number; invert(p: [number, number]): [number, number] } }).__zoom
    const [x, y] = t.invert([e.clientX - left, e.clientY - top])
    return { x, y, k: t.k, seat: this.hall?.hit(x, y) }
  }

  private readonly tapped = (e: PointerEvent) => {
    if (!this.hall || this.asList) return
    const { x, y, k, seat } = this.near(e)
    const area = seat ? undefined : this.hall.hitArea(x, y)
    if (area) {
      const row = this.renderRoot.querySelector<HTMLElement>(`[data-area="${area.areaId}"]`)
      row?.scrollIntoView({ block: 'nearest', behavior: this.stillness.matches ? 'auto' : 'smooth' })
      row?.querySelector<HTMLElement>('button:last-of-type')?.focus()
      return
    }
    const small = e.pointerType === 'touch' ? smallForFingers : smallSeat
    if (this.hall.pitch * k < small) {
      if (!seat && this.hall.pitch * k >= smallSeat) return
      this.moved = true
      this.glide(300).call(this.zoomer.scaleTo, nearer / this.hall.pitch, [e.offsetX, e.offsetY])
      return
    }
    if (!seat) return
    this.section = this.hall.sections.findIndex((s) => s.name === seat.section)
    this.at = seat
    this.toggle(seat)
  }

  private readonly hovered = (e: PointerEvent) => {
    if (e.pointerType === 'touch' || e.buttons) return
    this.point(this.hall ? this.near(e).seat : undefined)
  }

  /** Shows what a seat is beside it. */
  private point(seat: Seat | undefined, focus = false) {
    if (seat === this.hover && !focus) return
    this.hover = seat
    this.canvas.classList.toggle('seat', seat !== undefined)
    this.mark(focus)
    this.tip.hidden = !seat
    if (!seat) return
    this.tip.textContent = this.describe(seat)
    const t = (this.canvas as unknown as { __zoom: { apply(p: [number, number]): [number, number] } }).__zoom
    const [x, y] = t.apply([seat.x, seat.y])
    const { width } = this.stage.getBoundingClientRect()
    const w = this.tip.offsetWidth
    const left = Math.max(4, Math.min(width - w - 4, x - w / 2))
    this.tip.style.transform = `translate(${left}px, ${y > 56 ? y - 50 : y + 18}px)`
  }

  private mark(focus = this.stage?.classList.contains('around') ?? false) {
    this.painter?.mark({ chosen: [...this.chosen.values()], hover: this.hover, focus: focus ? this.at : undefined })
    this.requestUpdate()
  }

  // ---- the keyboard

  private get rows(): Row[] {
    return this.hall?.sections[this.section]?.rows ?? []
  }

  private readonly key = (e: KeyboardEvent) => {
    const at = this.at, hall = this.hall
    if (!hall || !at || e.altKey || e.metaKey || e.ctrlKey) return
    const rows = this.rows
    const r = rows.findIndex((row) => row.seats.includes(at))
    const row = rows[r]
    if (!row) return
    const i = row.seats.indexOf(at)
    const across = (row: Row | undefined) => row?.seats.reduce((best, s) => (Math.abs(s.x - at.x) < Math.abs(best.x - at.x) ? s : best))
    let to: Seat | undefined
    switch (e.key) {
      case 'ArrowRight': to = row.seats[i + 1]; break
      case 'ArrowLeft': to = row.seats[i - 1]; break
      case 'ArrowDown': to = across(rows[r + 1]); break
      case 'ArrowUp': to = across(rows[r - 1]); break
      case 'Home': to = row.seats[0]; break
      case 'End': to = row.seats.at(-1); break
      case 'PageDown': case 'PageUp': {
        const n = hall.sections.length
        this.goTo((this.section + (e.key === 'PageDown' ? 1 : n - 1)) % n)
        to = this.at
        break
      }
      case 'Enter': case ' ': this.toggle(at); this.point(at, true); break
      case '+': this.zoomBy(1.5); break
      case '-': this.zoomBy(1 / 1.5); break
      case '0': this.fit(200); break
      default: return
    }
    e.preventDefault()
    if (to) void this.focusSeat(to)
  }

  private goTo(section: number) {
    this.section = section
    this.at = this.rows[0]?.seats[0]
  }

  private async focusSeat(seat: Seat) {
    this.at = seat
    await this.updateComplete
    this.renderRoot.querySelector<HTMLElement>(`#s${seat.no}`)?.focus()
  }

  /** Brings the seat with the keyboard into sight on the map. */
  private readonly focused = () => {
    this.stage.classList.add('around')
    const at = this.at
    if (!at || this.asList) return
    const t = (this.canvas as unknown as { __zoom: { k: number; apply(p: [number, number]): [number, number] } }).__zoom
    const { width, height } = this.stage.getBoundingClientRect()
    const [x, y] = t.apply([at.x, at.y])
    const near = this.hall!.pitch * t.k >= 14
    if (!near) this.glide(0).call(this.zoomer.scaleTo, 22 / this.hall!.pitch, [x, y])
    if (!near || x < 40 || y < 60 || x > width - 40 || y > height - 40) {
      this.moved = true
      this.glide(0).call(this.zoomer.translateTo, at.x, at.y)
    }
    // The map moves in its own time, and hides the word on its way.
    setTimeout(() => this.stage.classList.contains('around') && this.point(this.at, true), 30)
  }

  private readonly blurred = () => {
    this.stage.classList.remove('around')
    this.point(undefined)
    this.mark(false)
  }

  // ---- what is in the document

  protected override render() {
    const w = this.words.map
    const hall = this.hall
    return html`
      <div class="bar" dir=${this.words.dir} ?hidden=${!hall?.seats.length}>
        ${hall && hall.sections.length > 1
          ? html`<label>${w.section}
              <select @change=${(e: Event) => this.pickSection(Number((e.target as HTMLSelectElement).value))}>
                ${hall.sections.map((s, i) => html`<option value=${i} ?selected=${i === this.section}>${s.name || w.wholeHall}</option>`)}
              </select></label>`
          : nothing}
        <div class="tabs" role="group" aria-label=${w.seats}>
          <button type="button" aria-pressed=${!this.asList} @click=${() => this.view(false)}>${w.map}</button>
          <button type="button" aria-pressed=${this.asList} @click=${() => this.view(true)}>${w.list}</button>
        </div>
      </div>
      <div class="stage" ?hidden=${this.asList || (hall && !hall.seats.length && !hall.drawing.length && !hall.areas.length)}>
        <canvas aria-hidden="true" @click=${this.tapped} @pointermove=${this.hovered} @pointerleave=${() => this.point(undefined)}></canvas>
        <div class="tip" hidden></div>
        ${this.trouble === 'failed'
          ? html`<p class="note" role="alert" dir=${this.words.dir}>${w.failed} <button type="button" @click=${() => this.load()}>${w.again}</button></p>`
          : this.trouble === 'away'
            ? html`<p class="note" role="status" dir=${this.words.dir}>${w.away}</p>`
            : hall ? nothing : html`<p class="note" role="status" dir=${this.words.dir}>${w.loading}</p>`}
        <div class="zoom">
          <button type="button" aria-label=${w.zoomIn} @click=${() => this.zoomBy(1.6)}>+</button>
          <button type="button" aria-label=${w.zoomOut} @click=${() => this.zoomBy(1 / 1.6)}>−</button>
          <button type="button" aria-label=${w.fit} @click=${() => hall && this.fit(250)}>⤢</button>
        </div>
      </div>
      ${hall?.seats.length ? this.renderGrid(hall.sections[this.section]!) : nothing}
      ${hall?.seats.length ? html`<p class="keys" dir=${this.words.dir} id="keys">${w.keys}</p>` : nothing}
      ${this.areas.size ? this.renderAreas() : nothing}
      ${hall ? this.renderLegend(hall) : nothing}
      <div class="sr" role="status" aria-live="polite" dir=${this.words.dir}></div>
    `
  }

  private view(asList: boolean) {
    this.asList = asList
    this.point(undefined)
  }

  private pickSection(section: number) {
    this.goTo(section)
    const { width, height } = this.stage.getBoundingClientRect()
    const b = this.hall?.sections[section]?.box, p = this.hall?.pitch ?? 1
    if (!b || !width) return
    const k = Math.min(width / (b.x1 - b.x0 + 4 * p), height / (b.y1 - b.y0 + 4 * p), 32 / p)
    this.moved = true
    this.glide(300).call(this.zoomer.transform, zoomIdentity.translate(width / 2 - ((b.x0 + b.x1) / 2) * k, height / 2 - ((b.y0 + b.y1) / 2) * k).scale(k))
  }

  private renderGrid(section: Section) {
    const w = this.words.map
    const here = Math.max(0, this.at ? section.rows.findIndex((r) => r.seats.includes(this.at!)) : 0)
    const from = section.count > largeSection ? Math.max(0, here - rowsAround) : 0
    const to = section.count > largeSection ? Math.min(section.rows.length, here + rowsAround + 1) : section.rows.length
    const page = (by: number) => {
      this.at = section.rows[Math.max(0, Math.min(section.rows.length - 1, here + by))]?.seats[0]
    }
    // Seats lie as on the map, whichever way the language is written.
    return html`
      <div class="list ${this.asList ? '' : 'beside'}" dir="ltr">
        ${this.asList && from > 0 ? html`<button type="button" class="pager" @click=${() => page(-2 * rowsAround)}>↑ ${w.rowsBefore}</button>` : nothing}
        <div role="grid" aria-label=${`${w.seats}, ${section.name || w.wholeHall}`} aria-describedby="keys" aria-multiselectable="true"
          aria-rowcount=${section.rows.length} @keydown=${this.key} @focusin=${this.focused} @focusout=${this.blurred} @click=${this.cellClick}>
          ${section.rows.slice(from, to).map((row, i) => html`
            <div role="row" aria-rowindex=${from + i + 1}>
              <span role="rowheader">${row.name ? `${w.row} ${row.name}` : i + 1}</span>
              ${row.seats.map((s) => html`<span role="gridcell" id="s${s.no}" tabindex=${s === this.at ? 0 : -1}
                aria-selected=${this.chosen.has(s.seatId)} aria-disabled=${!this.free(s)} aria-label=${this.describe(s)}
                ><svg viewBox="0 0 20 20" aria-hidden="true">${seatIcon(this.scheme, this.chosen.has(s.seatId) ? 'chosen' : s.status, s.category)}</svg>${s.seat}</span>`)}
            </div>`)}
        </div>
        ${this.asList && to < section.rows.length ? html`<button type="button" class="pager" @click=${() => page(2 * rowsAround)}>↓ ${w.rowsAfter}</button>` : nothing}
      </div>`
  }

  private readonly cellClick = (e: Event) => {
    const cell = (e.target as Element).closest('[role=gridcell]')
    const seat = cell && this.hall?.seats[Number(cell.id.slice(1))]
    if (!seat) return
    void this.focusSeat(seat)
    this.toggle(seat)
  }

  private renderAreas() {
    const { tag, dir, map: w, types } = this.words
    const currency = this.facts!.currency
    return html`<div class="areas" role="group" aria-label=${w.areas} dir=${dir}>
      ${[...this.areas.values()].map((a) => html`<div class="area" data-area=${a.areaId}>
        <div class="name"><b>${a.name}</b><span class="number">${w.areaLeft(Number(a.available))}</span></div>
        ${this.facts!.prices.filter((p) => p.category === a.category).map((p) => {
          const quantity = this.quantities.get(`${a.areaId} ${p.ticketType}`) ?? 0
          const what = `${a.name}, ${types[p.ticketType] ?? p.ticketType}`
          const own = this.hold?.areas.filter((h) => h.areaId === a.areaId).reduce((n, h) => n + h.quantity, 0) ?? 0
          const here = [...this.quantities].reduce((n, [key, q]) => (key.startsWith(a.areaId) ? n + q : n), 0)
          return html`<span>${types[p.ticketType] ?? p.ticketType}</span><span class="number">${money(tag, Number(p.amount), currency)}</span>
            <span class="stepper">
              <button type="button" aria-label=${w.less(what)} ?disabled=${quantity === 0} @click=${() => this.step(a, p.ticketType, -1)}>−</button>
              <output>${quantity}</output>
              <button type="button" aria-label=${w.more(what)} ?disabled=${here >= Number(a.available) + own} @click=${() => this.step(a, p.ticketType, 1)}>+</button>
            </span>`
        })}
      </div>`)}
    </div>`
  }

  private renderLegend(hall: Hall) {
    const { tag, dir, map: w } = this.words
    const free = hall.categories.map(() => 0)
    const by = { a: 0, h: 0, b: 0, x: 0 }
    for (const s of hall.seats) {
      const status = this.hold && this.chosen.has(s.seatId) && s.status === 'h' ? 'a' : s.status
      by[status]++
      if (s.status === 'a') free[s.category]!++
    }
    const icon = (what: Letter | 'chosen', category = 0) => html`<svg viewBox="0 0 20 20" aria-hidden="true">${seatIcon(this.scheme, what, category)}</svg>`
    const seated = new Set(hall.seats.map((s) => s.category))
    if (!hall.seats.length) return nothing
    return html`<div class="legend" role="group" aria-label=${w.legend} dir=${dir} data-count=${this.counted}>
      <ul>${hall.categories.map((name, i) => seated.has(i)
        ? html`<li>${icon('a', i)}<b>${name}</b> ${this.facts ? money(tag, this.price(name, 'standard'), this.facts.currency) : ''} <span class="number">${free[i]} ${w.free}</span></li>`
        : nothing)}</ul>
      <ul>
        <li>${icon('chosen')}${w.chosen} <span class="number">${this.chosen.size}</span></li>
        <li>${icon('h')}${w.held} <span class="number">${by.h}</span></li>
        <li>${icon('b')}${w.sold} <span class="number">${by.b}</span></li>
        ${by.x ? html`<li>${icon('x')}${w.blocked} <span class="number">${by.x}</span></li>` : nothing}
      </ul>
    </div>`
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'rowlock-map': RowlockMap
  }
}
