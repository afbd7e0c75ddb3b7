// A show: its map, what is chosen of it, the hold with its clock, and paying.
import {
  changeReservation, createBooking, listPaymentMethods, payBooking, placeReservation, readBooking, readEvent, readReservation, readShow, releaseReservation,
  type Booking, type Event as Occasion, type PaymentMethod, type PlaceInputBody, type Problem, type Reservation, type Show,
} from '@rowlock/client'
import { html, LitElement, nothing, type PropertyValues } from 'lit'
import { customElement, property, query, state } from 'lit/decorators.js'
import type { ChosenSeat, RowlockMap, Selection } from '../map/index.ts'
import { clock, dayAndClock, money, when } from '../strings/index.ts'
import { ask, client, newKey, once, signed, type Outcome } from './api.ts'
import { forget, load, save, type Cart } from './cart.ts'
import { leave, stay } from './leaving.ts'
import { joinQueue, leaveQueue, readQueueEntry, type QueueEntry } from './queue.ts'
import { go, named, t } from './text.ts'

const cards = ['sbx_ok', 'sbx_declined', 'sbx_insufficient_funds', 'sbx_redirect', 'sbx_async', 'sbx_slow', 'sbx_timeout', 'sbx_webhooks_storm']
const waitSeconds = 20 // a long poll for news of a payment
const queueMillis = 3000

@customElement('rowlock-show')
class ShowView extends LitElement {
  @property({ attribute: false }) showId = ''
  @property({ attribute: false }) tag = ''
  @state() private facts: Show | undefined
  @state() private event: Occasion | undefined
  @state() private methods: PaymentMethod[] = []
  @state() private lost = false
  @state() private cart: Cart = { lines: [], areas: [] }
  @state() private held: Reservation | undefined
  @state() private phase: 'choosing' | 'held' | 'paying' | 'settling' | 'queue' = 'choosing'
  @state() private doing: '' | 'hold' | 'change' | 'release' = ''
  @state() private say: { text: string; bad: boolean; again?: boolean } | undefined
  @state() private retrying = false
  @state() private left = 0 // seconds of the hold
  @state() private entry: QueueEntry | undefined
  @query('rowlock-map') private map!: RowlockMap | null
  private deadline = 0 // by performance.now, from the server's clock
  private ticking: ReturnType<typeof setInterval> | undefined
  private queueing: ReturnType<typeof setTimeout> | undefined
  private authorization = ''
  private gone = false

  protected override createRenderRoot() {
    return this
  }

  override connectedCallback() {
    super.connectedCallback()
    this.gone = false
    addEventListener('pagehide', this.hide)
    addEventListener('pageshow', this.back)
    document.addEventListener('visibilitychange', this.seen)
    addEventListener('online', this.seen)
  }

  override disconnectedCallback() {
    super.disconnectedCallback()
    this.gone = true
    clearInterval(this.ticking)
    clearTimeout(this.queueing)
    removeEventListener('pagehide', this.hide)
    removeEventListener('pageshow', this.back)
    document.removeEventListener('visibilitychange', this.seen)
    removeEventListener('online', this.seen)
  }

  protected override willUpdate(changed: PropertyValues<this>) {
    if (changed.has('showId')) {
      this.cart = load(this.showId)
      void this.open()
    }
  }

  private async open() {
    const show = this.showId
    if (this.cart.reservationId) stay(this.cart.reservationId)
    const path = { showId: show }
    const { data, response } = await readShow({ client, path })
    if (!data) {
      this.lost = response?.status === 404 || response?.status === 422
      if (!this.lost && !this.gone) setTimeout(() => this.open(), 2000)
      return
    }
    this.facts = data
    void readEvent({ client, path: { eventId: data.eventId } }).then(({ data }) => {
      this.event = data
      if (data) document.title = `${data.title} · Rowlock`
    })
    void listPaymentMethods({ client, path }).then(({ data }) => (this.methods = data?.paymentMethods ?? []))
    await this.resume()
  }

  /** Goes on where this tab was. */
  private async resume() {
    const { pending, bookingId, reservationId } = this.cart
    if (pending?.what === 'hold') return this.place(pending.body as PlaceInputBody, pending.key)
    if (pending) return this.attempt(pending.what, pending.body as never, pending.key)
    if (bookingId) {
      const { data } = await ask<Booking>((headers) => readBooking({ client, headers, path: { bookingId } }))
      if (data && (data.status !== 'pending' || data.paymentStatus === 'pending')) return this.follow(data)
      if (data?.paymentStatus === 'failed') this.tell(t.page.payFailed)
    }
    if (reservationId) {
      const { data, problem } = await this.timed((headers) => readReservation({ client, headers, path: { reservationId } }))
      if (data?.status === 'active') return this.takeHold(data)
      if (data?.status === 'consumed' && data.bookingId) return go(`/?booking=${data.bookingId}`)
      if (data?.status === 'cancelled' && this.count) return this.hold() // let go as the page went; this is it again
      if (data || problem) this.over()
    } else if (this.cart.queue) void this.watchQueue()
  }

  // ---- the hold's clock

  /** Asks for a reservation and notes when, for the clock. */
  private async timed(call: (headers: { Authorization: string }) => Promise<{ data?: Reservation | undefined; error?: unknown; response?: Response }>) {
    const began = performance.now()
    const out = await ask<Reservation>(call)
    if (out.data) this.deadline = began + Date.parse(out.data.expiresAt) - Date.parse(out.data.serverTime)
    return out
  }

  private takeHold(r: Reservation) {
    this.held = r
    this.phase = 'held'
    this.cart = {
      ...this.cart, reservationId: r.reservationId, pending: undefined,
      lines: r.seats.map(({ seatId, label, category, ticketType }) => ({ seatId, label, category, ticketType })),
      areas: r.areas.map((a) => ({ areaId: a.areaId, name: a.name, category: this.areaCategory(a.areaId), ticketType: a.ticketType, quantity: a.quantity })),
    }
    this.keep()
    void signed().then(({ Authorization }) => (this.authorization = Authorization))
    clearInterval(this.ticking)
    this.tick()
    this.ticking = setInterval(() => this.tick(), 250)
  }

  private areaCategory(areaId: string) {
    return this.cart.areas.find((a) => a.areaId === areaId)?.category ?? this.map?.selection.areas.find((a) => a.areaId === areaId)?.category ?? ''
  }

  private tick() {
    this.left = Math.max(0, Math.ceil((this.deadline - performance.now()) / 1000))
    if (this.left > 0 || this.phase !== 'held') return
    clearInterval(this.ticking)
    void this.check()
  }

  /** The clock on the wall says it is over; the server's word counts. */
  private async check() {
    const reservationId = this.held?.reservationId
    if (!reservationId) return
    const { data, problem } = await this.timed((headers) => readReservation({ client, headers, path: { reservationId } }))
    if (this.held?.reservationId !== reservationId || this.phase !== 'held') return
    if (data?.status === 'active') this.takeHold(data)
    else if (data?.status === 'consumed' && data.bookingId) go(`/?booking=${data.bookingId}`)
    else if (data || problem || this.left === 0) this.over()
  }

  private over() {
    this.drop()
    this.tell(t.page.over, true, this.count > 0)
  }

  /** Forgets the hold, not what was chosen. */
  private drop() {
    clearInterval(this.ticking)
    this.held = undefined
    this.phase = 'choosing'
    this.cart = { ...this.cart, reservationId: undefined, bookingId: undefined, pending: undefined }
    this.keep()
  }

  private readonly hide = () => {
    if (this.held && this.phase === 'held' && this.doing === '' && this.authorization) leave(this.held.reservationId, this.authorization)
  }

  private readonly back = (e: PageTransitionEvent) => {
    if (!e.persisted || !this.held) return
    stay(this.held.reservationId)
    void this.check()
  }

  private readonly seen = () => {
    // Clocks stand still while a phone sleeps.
    if (document.visibilityState === 'visible' && this.phase === 'held' && this.doing === '') void this.check()
  }

  private keep() {
    save(this.showId, this.cart)
  }

  private tell(text: string, bad = true, again = false) {
    this.say = text ? { text, bad, again } : undefined
  }

  private get count(): number {
    return this.cart.lines.length + this.cart.areas.reduce((n, a) => n + a.quantity, 0)
  }

  private price(category: string, ticketType: string): number {
    return this.facts?.prices.find((p) => p.category === category && p.ticketType === ticketType)?.amount ?? 0
  }

  private get total(): number {
    if (this.held) return this.held.totalAmount
    return this.cart.lines.reduce((n, l) => n + this.price(l.category, l.ticketType), 0) +
      this.cart.areas.reduce((n, a) => n + this.price(a.category, a.ticketType) * a.quantity, 0)
  }

  // ---- choosing

  private readonly selected = (e: CustomEvent<Selection>) => {
    const types = new Map(this.cart.lines.map((l) => [l.seatId, l.ticketType]))
    const lines = e.detail.seats.map(({ seatId, label, category }) => ({ seatId, label, category, ticketType: types.get(seatId) ?? 'standard' }))
    const areas = e.detail.areas.map(({ areaId, name, category, ticketType, quantity }) => ({ areaId, name, category, ticketType, quantity }))
    if (this.phase === 'held') {
      void this.change(lines, areas)
      return
    }
    this.cart = { ...this.cart, lines, areas }
    this.keep()
    if (!this.say?.again) this.tell('')
  }

  private readonly taken = (e: CustomEvent<{ seats: ChosenSeat[] }>) => {
    // The selection has changed before this is told.
    this.tell(t.page.taken(e.detail.seats.map((s) => s.label).join(', '), this.count))
  }

  private readonly ready = () => {
    if (!this.held) this.dropTaken(this.map?.choose(this.cart.lines, this.cart.areas) ?? [])
  }

  /** Says which of what was chosen is another's, and keeps the rest. */
  private dropTaken(seats: { seatId: string; label: string }[]) {
    if (!seats.length) return
    const lost = new Set(seats.map((s) => s.seatId))
    this.cart = { ...this.cart, lines: this.cart.lines.filter((l) => !lost.has(l.seatId)) }
    this.keep()
    this.tell(t.page.taken(seats.map((s) => s.label).join(', '), this.count))
  }

  private setType(seatId: string, ticketType: string) {
    const lines = this.cart.lines.map((l) => (l.seatId === seatId ? { ...l, ticketType } : l))
    if (this.phase === 'held') void this.change(lines, this.cart.areas)
    else {
      this.cart = { ...this.cart, lines }
      this.keep()
    }
  }

  private take(seatId: string) {
    const lines = this.cart.lines.filter((l) => l.seatId !== seatId)
    if (this.phase === 'held') void this.change(lines, this.cart.areas)
    else {
      this.cart = { ...this.cart, lines }
      this.keep()
      this.map?.choose(lines, this.cart.areas)
    }
  }

  // ---- holding

  private hold() {
    const body: PlaceInputBody = { showId: this.showId }
    if (this.cart.lines.length) body.seats = this.cart.lines.map(({ seatId, ticketType }) => ({ seatId, ticketType }))
    if (this.cart.areas.length) body.areas = this.cart.areas.map(({ areaId, ticketType, quantity }) => ({ areaId, ticketType, quantity }))
    return this.place(body, newKey())
  }

  private async place(body: PlaceInputBody, key: string) {
    this.tell('')
    this.doing = 'hold'
    this.cart = { ...this.cart, pending: { what: 'hold', key, body } }
    this.keep()
    const queueToken = this.cart.queue?.token
    const out = await once<Reservation>(key, async (headers) => {
      const began = performance.now()
      const a = await placeReservation({ client, headers: { ...headers, ...(queueToken ? { 'X-Queue-Token': queueToken } : {}) }, body })
      if (a.data) this.deadline = began + Date.parse(a.data.expiresAt) - Date.parse(a.data.serverTime)
      return a
    }, (so) => (this.retrying = so))
    if (this.gone) return
    if (out.data) {
      // A replayed answer is that of then: what it is now is asked for.
      const reservationId = out.data.reservationId
      const now = await this.timed((headers) => readReservation({ client, headers, path: { reservationId } }))
      if (now.data && now.data.status !== 'active') this.over()
      else this.takeHold(now.data ?? out.data)
    } else if (out.status !== 0) {
      this.cart = { ...this.cart, pending: undefined }
      this.keep()
      this.refused(out.problem)
    } else this.tell(t.page.offline, true, true)
    this.doing = ''
  }

  /** A refusal, in the buyer's words. */
  private refused(p: Problem | undefined) {
    const w = t.page
    switch (p?.code) {
      case 'SEAT_ALREADY_RESERVED': {
        const seats = p.unavailableSeats ?? []
        this.map?.drop(seats.map((s) => s.seatId))
        this.dropTaken(seats)
        if (p.ownReservationId) this.tell(w.ownHold)
        return
      }
      case 'INSUFFICIENT_INVENTORY':
        this.tell((p.areas ?? []).map((a) => w.areaShort(this.cart.areas.find((c) => c.areaId === a.areaId)?.name ?? '', a.available)).join(' '))
        return
      case 'TOO_MANY_SEATS':
        this.tell(w.limit(p.limit ?? 0))
        return
      case 'CUSTOMER_LIMIT_REACHED':
        this.tell(w.customerLimit(p.limit ?? 0))
        return
      case 'QUEUE_TOKEN_REQUIRED':
        void this.joinQueue()
        return
      case 'QUEUE_TOKEN_EXPIRED':
      case 'QUEUE_TOKEN_INVALID':
        this.cart = { ...this.cart, queue: undefined }
        this.keep()
        void this.joinQueue()
        return
      case 'SHOW_NOT_ON_SALE':
        void readShow({ client, path: { showId: this.showId } }).then(({ data }) => (this.facts = data ?? this.facts))
        this.tell(p.detail ?? p.title)
        return
      case 'RESERVATION_EXPIRED':
        this.over()
        return
      default:
        this.tell(w.wrong(p?.detail ?? p?.title ?? ''))
    }
  }

  /** Makes the hold what was chosen, in one step: all of it or nothing. */
  private async change(lines: Cart['lines'], areas: Cart['areas']) {
    const held = this.held
    if (!held || this.doing) return
    if (!lines.length && !areas.length) return this.release()
    const was = new Map(held.seats.map((s) => [s.seatId, s.ticketType]))
    const will = new Map(lines.map((l) => [l.seatId, l.ticketType]))
    const add = lines.filter((l) => was.get(l.seatId) !== l.ticketType).map(({ seatId, ticketType }) => ({ seatId, ticketType }))
    const remove = held.seats.filter((s) => will.get(s.seatId) !== s.ticketType).map(({ seatId }) => ({ seatId }))
    const now = new Map(held.areas.map((a) => [`${a.areaId} ${a.ticketType}`, a]))
    const moreAreas: { areaId: string; ticketType: string; quantity: number }[] = [], fewerAreas: typeof moreAreas = []
    for (const { areaId, ticketType, quantity } of areas) {
      const by = quantity - (now.get(`${areaId} ${ticketType}`)?.quantity ?? 0)
      now.delete(`${areaId} ${ticketType}`)
      if (by > 0) moreAreas.push({ areaId, ticketType, quantity: by })
      if (by < 0) fewerAreas.push({ areaId, ticketType, quantity: -by })
    }
    for (const { areaId, ticketType, quantity } of now.values()) fewerAreas.push({ areaId, ticketType, quantity })
    if (!add.length && !remove.length && !moreAreas.length && !fewerAreas.length) return
    this.tell('')
    this.doing = 'change'
    const began = performance.now()
    const out = await once<Reservation>(newKey(), (headers) => changeReservation({
      client, headers, path: { reservationId: held.reservationId },
      body: {
        ...(add.length || moreAreas.length ? { add: { ...(add.length ? { seats: add } : {}), ...(moreAreas.length ? { areas: moreAreas } : {}) } } : {}),
        ...(remove.length || fewerAreas.length ? { remove: { ...(remove.length ? { seats: remove } : {}), ...(fewerAreas.length ? { areas: fewerAreas } : {}) } } : {}),
      },
    }), (so) => (this.retrying = so))
    if (this.gone) return
    if (out.data) {
      this.deadline = began + Date.parse(out.data.expiresAt) - Date.parse(out.data.serverTime)
      this.takeHold(out.data)
    } else {
      const lost = out.problem?.unavailableSeats ?? []
      if (lost.length) this.tell(t.page.taken(lost.map((s) => s.label).join(', '), held.seats.length + held.areas.reduce((n, a) => n + a.quantity, 0)))
      else this.refused(out.problem)
      if (this.held) {
        this.held = { ...this.held } // the map shows again what is held
        this.takeHold(this.held)
      }
    }
    this.doing = ''
  }

  private async release() {
    const reservationId = this.held?.reservationId
    if (!reservationId) return
    this.doing = 'release'
    await once<unknown>(newKey(), (headers) => releaseReservation({ client, headers, path: { reservationId } }), (so) => (this.retrying = so))
    this.doing = ''
    this.cart = { ...this.cart, lines: [], areas: [] }
    this.drop()
    this.map?.choose([])
    this.tell(t.page.released, false)
  }

  // ---- paying

  private pay(e: SubmitEvent) {
    e.preventDefault()
    const form = new FormData(e.currentTarget as HTMLFormElement)
    const text = (name: string) => String(form.get(name) ?? '').trim()
    const buyer = { name: text('name'), email: text('email'), locale: t.tag, ...(text('phone') ? { phone: text('phone') } : {}) }
    this.cart = { ...this.cart, buyer }
    const method = this.methods.find((m) => m.method === text('method'))
    const payment = this.total === 0 || !method ? undefined : { method: method.method, gateway: method.gateway, ...(method.token ? { token: text('token') } : {}) }
    const returnUrl = `${location.origin}/?show=${this.showId}`
    if (this.cart.bookingId) return this.attempt('pay', { payment, returnUrl } as never, newKey())
    return this.attempt('buy', { reservationId: this.held!.reservationId, buyer, ...(payment ? { payment } : {}), returnUrl } as never, newKey())
  }

  private async attempt(what: 'buy' | 'pay', body: never, key: string) {
    this.tell('')
    this.phase = 'paying'
    this.cart = { ...this.cart, pending: { what, key, body } }
    this.keep()
    const bookingId = this.cart.bookingId
    const out: Outcome<Booking> = await once<Booking>(key, (headers) => what === 'pay' && bookingId
      ? payBooking({ client, headers, path: { bookingId }, body })
      : createBooking({ client, headers, body }), (so) => (this.retrying = so))
    if (this.gone) return
    if (out.status === 0) { // nobody knows; the same request can be sent again
      this.tell(t.page.offline, true, true)
      return
    }
    this.cart = { ...this.cart, pending: undefined, bookingId: out.data?.bookingId ?? out.problem?.bookingId ?? bookingId }
    this.keep()
    if (out.data) {
      const { nextAction } = out.data
      if (out.data.status === 'pending' && nextAction?.url) {
        this.tell(t.page.toBank, false)
        location.assign(nextAction.url)
        return
      }
      return this.follow(out.data)
    }
    if (out.problem?.code === 'PAYMENT_IN_PROGRESS' && this.cart.bookingId) return this.followId(this.cart.bookingId)
    this.phase = 'held'
    if (out.problem?.code === 'PAYMENT_DECLINED') {
      await this.reread()
      if (this.held) this.tell(t.page.declined(named(t.page.declines, out.problem.declineCode ?? '')))
    } else this.refused(out.problem)
  }

  private async reread() {
    const reservationId = this.cart.reservationId
    if (!reservationId) return
    const { data } = await this.timed((headers) => readReservation({ client, headers, path: { reservationId } }))
    if (data?.status === 'active') this.takeHold(data)
    else if (data) this.over()
  }

  private async followId(bookingId: string) {
    const { data } = await ask<Booking>((headers) => readBooking({ client, headers, path: { bookingId } }))
    if (data) await this.follow(data)
  }

  /** Waits for what becomes of a booking. */
  private async follow(b: Booking) {
    this.cart = { ...this.cart, bookingId: b.bookingId }
    this.keep()
    for (let now: Booking | undefined = b; !this.gone;) {
      if (now?.status === 'confirmed' || now?.status === 'cancelled') {
        forget(this.showId)
        this.cart = { lines: [], areas: [] }
        this.phase = 'choosing'
        clearInterval(this.ticking)
        this.held = undefined
        return go(`/?booking=${now.bookingId}${now.status === 'confirmed' ? '&new' : ''}`)
      }
      if (now && (now.status === 'expired' || now.status === 'failed')) return this.over()
      if (now && now.paymentStatus !== 'pending') {
        this.phase = 'held'
        await this.reread()
        if (this.held) this.tell(t.page.payFailed)
        return
      }
      this.phase = 'settling'
      const began = performance.now()
      now = (await ask<Booking>((headers) => readBooking({ client, headers, path: { bookingId: b.bookingId }, query: { wait: waitSeconds } }))).data
      if (!now || performance.now() - began < 500) await new Promise((done) => setTimeout(done, 1500))
    }
  }

  // ---- the waiting room

  private async joinQueue() {
    this.phase = 'queue'
    const out = await once<QueueEntry>(newKey(), (headers) => joinQueue({ client, headers, path: { showId: this.showId } }), (so) => (this.retrying = so))
    if (!out.data) {
      this.phase = 'choosing'
      this.tell(t.page.wrong(out.problem?.detail ?? out.problem?.title ?? ''))
      return
    }
    this.queued(out.data)
  }

  private async watchQueue() {
    const entryId = this.cart.queue?.entryId
    if (!entryId || this.gone) return
    const { data, problem } = await ask<QueueEntry>((headers) => readQueueEntry({ client, headers, path: { entryId } }))
    if (data) this.queued(data)
    else if (problem) this.leaveLine()
    else this.queueing = setTimeout(() => this.watchQueue(), queueMillis)
  }

  private queued(e: QueueEntry) {
    clearTimeout(this.queueing)
    const before = this.cart.queue?.token
    this.entry = e
    this.cart = { ...this.cart, queue: { entryId: e.entryId, ...(e.admission ? { token: e.admission.token } : {}) } }
    this.keep()
    if (e.status === 'waiting') {
      if (!e.open && e.reason !== 'before_sales' && e.reason !== 'paused') return this.leaveLine()
      this.phase = 'queue'
      this.queueing = setTimeout(() => this.watchQueue(), queueMillis * (0.75 + Math.random() / 2))
      return
    }
    this.entry = undefined
    if (this.phase === 'queue') this.phase = 'choosing'
    if (e.status === 'admitted') {
      if (!before) this.tell(t.page.admitted, false)
      return
    }
    this.leaveLine()
    this.tell(t.page.queueOver)
  }

  private leaveLine() {
    clearTimeout(this.queueing)
    this.entry = undefined
    this.cart = { ...this.cart, queue: undefined }
    this.keep()
    if (this.phase === 'queue') this.phase = 'choosing'
  }

  private async leaveQueue() {
    const entryId = this.cart.queue?.entryId
    this.leaveLine()
    if (entryId) await once<unknown>(newKey(), (headers) => leaveQueue({ client, headers, path: { entryId } }), () => undefined)
  }

  // ---- what is in the document

  protected override render() {
    const w = t.page, s = this.facts
    if (this.lost) return html`<p class="empty" role="alert">${w.notFound}</p><p class="center"><a href="/">${w.back}</a></p>`
    if (!s) return html`<p class="empty" role="status">${t.map.loading}</p>`
    return html`
      <header class="occasion">
        <p><a href="/"><span class="arrow" aria-hidden="true">←</span> ${w.whatsOn}</a></p>
        <h1><bdi lang=${this.event?.language ?? nothing}>${this.event?.title ?? '…'}</bdi></h1>
        <p class="facts"><b>${when(t.tag, s.startsAt, s.timeZone, { ...dayAndClock, year: 'numeric' })}</b>
          ${s.doorsAt ? html` · ${w.doors(when(t.tag, s.doorsAt, s.timeZone, clock))}` : nothing}
          ${s.venue ? html` · <span dir="auto">${s.venue.name}${s.hall ? `, ${s.hall.name}` : ''}, ${s.venue.city}</span>` : nothing}</p>
        ${s.note ? html`<p class="say"><bdi>${s.note}</bdi></p>` : nothing}
        ${this.closed(s)}
      </header>
      <div class="buy">
        <rowlock-map class="map" .show=${s.showId} .lang=${t.tag} .hold=${this.held ? { seats: this.held.seats, areas: this.held.areas } : null}
          .busy=${this.doing !== '' || this.phase === 'paying' || this.phase === 'settling'}
          @map-ready=${this.ready} @selection-change=${this.selected} @seat-taken=${this.taken}
          @selection-limit=${(e: CustomEvent<{ limit: number }>) => this.tell(w.limit(e.detail.limit))}></rowlock-map>
        <section class="panel" aria-label=${w.yourPlaces}>
          <div role="alert" class="alerts">${this.say?.bad ? this.message() : nothing}</div>
          <div role="status" class="alerts">${this.say && !this.say.bad ? this.message() : nothing}
            ${this.retrying ? html`<p class="note">${w.retrying}</p>` : nothing}</div>
          ${this.phase === 'queue' ? this.renderQueue() : this.phase === 'settling' ? html`<h2>${w.payment}</h2><p class="spin" role="status">${w.settling}</p>` : this.renderPlaces(s)}
        </section>
      </div>`
  }

  private message() {
    return html`<p class="note ${this.say!.bad ? 'bad' : 'good'}">${this.say!.text}
      ${this.say!.again && !this.doing ? html`<button type="button" @click=${this.again}>${this.cart.pending ? t.page.tryAgain : t.page.holdAgain}</button>` : nothing}</p>`
  }

  private readonly again = () => void (this.cart.pending ? this.resume() : this.hold())

  private closed(s: Show) {
    const w = t.page
    const why = s.status === 'cancelled' ? w.isCancelled : s.status === 'paused' ? w.paused : s.status === 'ended' ? w.ended
      : !s.saleOpen && s.salesStartAt && Date.parse(s.salesStartAt) > Date.now() ? w.notYet(when(t.tag, s.salesStartAt, s.timeZone, dayAndClock))
        : !s.saleOpen ? w.ended : s.soldOut ? w.isSoldOut : ''
    return why ? html`<p class="note" role="status">${why}</p>` : nothing
  }

  private renderQueue() {
    const w = t.page, e = this.entry
    return html`<h2>${w.queue}</h2><p>${w.queueWhy}</p>
      ${e?.position ? html`<dl class="queue" aria-live="polite"><dt>${w.position}</dt><dd>${e.position}</dd></dl>
        <p>${e.estimatedWaitSeconds ? w.wait(Math.ceil(e.estimatedWaitSeconds / 60)) : w.waitNow}</p>` : html`<p class="spin">${w.waitNow}</p>`}
      <button type="button" @click=${this.leaveQueue}>${w.leaveQueue}</button>`
  }

  private renderPlaces(s: Show) {
    const w = t.page
    const cannot = this.doing !== '' || this.phase === 'paying'
    return html`
      ${this.held ? html`<div class="clock ${this.left <= 60 ? 'late' : ''}"><h2>${w.held}</h2>
        <p>${w.heldUntil} <span role="timer" aria-live="off" class="time" dir="ltr">${Math.floor(this.left / 60)}:${String(this.left % 60).padStart(2, '0')}</span></p>
        <p class="sr" aria-live="polite">${this.left > 0 && this.left <= 60 ? w.oneMinute : this.left > 60 && this.left <= 300 ? w.fiveMinutes : ''}</p></div>`
        : html`<h2>${w.yourPlaces}</h2>`}
      ${this.count === 0 ? html`<p class="soft">${w.choose}</p>` : html`<ul class="lines">
        ${this.cart.lines.map((l) => {
          const types = s.prices.filter((p) => p.category === l.category)
          const price = this.held?.seats.find((h) => h.seatId === l.seatId)?.price ?? this.price(l.category, l.ticketType)
          return html`<li><span class="label" dir="auto">${l.label}</span>
            ${types.length > 1 ? html`<select aria-label=${w.ticketType(l.label)} ?disabled=${cannot} @change=${(e: Event) => this.setType(l.seatId, (e.target as HTMLSelectElement).value)}>
              ${types.map((p) => html`<option value=${p.ticketType} ?selected=${p.ticketType === l.ticketType}>${named(t.types, p.ticketType)}</option>`)}</select>`
              : html`<span class="soft">${named(t.types, l.ticketType)}</span>`}
            <span class="money">${money(t.tag, price, s.currency)}</span>
            <button type="button" class="x" aria-label=${w.remove(l.label)} ?disabled=${cannot} @click=${() => this.take(l.seatId)}>×</button></li>`
        })}
        ${this.cart.areas.map((a) => html`<li><span class="label" dir="auto">${a.quantity} × ${a.name}</span><span class="soft">${named(t.types, a.ticketType)}</span>
          <span class="money">${money(t.tag, (this.held?.areas.find((h) => h.areaId === a.areaId && h.ticketType === a.ticketType)?.price ?? this.price(a.category, a.ticketType)) * a.quantity, s.currency)}</span></li>`)}
        </ul><p class="total"><span>${w.total}</span> <b>${money(t.tag, this.total, s.currency)}</b></p>`}
      ${this.held ? this.renderPay(s, cannot)
        : html`<button type="button" class="main" ?disabled=${this.count === 0 || cannot || !s.saleOpen} @click=${() => this.hold()}>
            ${this.doing === 'hold' ? w.holding : w.hold(this.count)}</button>`}`
  }

  private renderPay(s: Show, cannot: boolean) {
    const w = t.page
    const b = this.cart.buyer
    const methods = this.methods.filter((m) => !m.token || m.gateway === 'sandbox')
    return html`<p class="soft">${w.change} <button type="button" class="quiet" ?disabled=${cannot} @click=${() => this.release()}>${w.release}</button></p>
      <form class="pay" @submit=${this.pay}>
        <fieldset ?disabled=${cannot}>
          <legend>${w.details}</legend>
          <label>${w.buyerName}<input name="name" required maxlength="200" autocomplete="name" .value=${b?.name ?? ''} dir="auto"></label>
          <label>${w.email}<input name="email" type="email" required maxlength="254" autocomplete="email" .value=${b?.email ?? ''} dir="ltr"></label>
          <label>${w.phone}<input name="phone" type="tel" maxlength="32" autocomplete="tel" .value=${b?.phone ?? ''} dir="ltr"></label>
        </fieldset>
        ${this.total > 0 ? html`<fieldset ?disabled=${cannot}>
          <legend>${w.payment}</legend>
          ${methods.length === 0 ? html`<p class="note bad">${w.noMethod}</p>` : nothing}
          ${methods.map((m, i) => html`<label class="choice"><input type="radio" name="method" value=${m.method} ?checked=${i === 0}> ${w.methods[m.method] ?? m.title}</label>
            ${m.token ? html`<label>${w.testCard}<select name="token">${cards.map((c) => html`<option value=${c}>${w.cards[c]}</option>`)}</select></label>` : nothing}`)}
          ${methods.some((m) => m.gateway === 'sandbox') ? html`<p class="soft">${w.testNote}</p>` : nothing}
        </fieldset>` : nothing}
        <button class="main" ?disabled=${cannot || (this.total > 0 && methods.length === 0)}>
          ${this.phase === 'paying' ? w.paying : this.total > 0 ? w.pay(money(t.tag, this.total, s.currency)) : w.book}</button>
      </form>`
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'rowlock-show': ShowView
  }
}
