// A show: its map, what is chosen of it, the hold with its clock, and paying.
import {
  changeReservation, createBooking, joinQueue, leaveQueue, listPaymentMethods, listReservations, payBooking, placeReservation, readBooking, readEvent, readQueue,
  readReservation, readShow, releaseReservation,
  type Booking, type Event as Occasion, type PaymentMethod, type PlaceInputBody, type Problem, type QueueEntry, type Reservation, type Show,
} from '@rowlock/client'
import { html, LitElement, nothing, type PropertyValues } from 'lit'
import { customElement, property, query, state } from 'lit/decorators.js'
import { live } from 'lit/directives/live.js'
import { repeat } from 'lit/directives/repeat.js'
import type { ChosenSeat, RowlockMap, Selection } from '../map/index.ts'
import { clock, dayAndClock, money, when } from '../strings/index.ts'
import { ask, client, newKey, once, type Outcome } from './api.ts'
import { allowSound, ring } from './attention.ts'
import { entryOf, forget, load, noteEntry, save, type Cart } from './cart.ts'
import { Place, type Turn } from './queue.ts'
import { go, named, t } from './text.ts'
import './waitlist.ts'

const cards = ['sbx_ok', 'sbx_declined', 'sbx_insufficient_funds', 'sbx_redirect', 'sbx_async', 'sbx_slow', 'sbx_timeout', 'sbx_webhooks_storm']
const waitSeconds = 20 // a long poll for news of a payment
const tellQueueEvery = 30_000 // milliseconds between positions for screen readers
const saleAgainMillis = 10_000 // before a show is read again that should be on sale by now
const timerMax = 2 ** 31 - 1

/** A word to the buyer, and what they can do about it. */
interface Word {
  text: string
  bad: boolean
  act?: { words: string; run: () => void } | undefined
}

/** Minutes and seconds. */
const minutes = (seconds: number) => `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`

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
  @state() private phase: 'choosing' | 'held' | 'paying' | 'settling' = 'choosing'
  @state() private doing: '' | 'hold' | 'change' | 'release' | 'join' = ''
  @state() private say: Word | undefined
  @state() private retrying = false
  @state() private left = 0 // seconds of the hold
  @state() private mark: 0 | 60 | 300 = 0 // of them, the last that is told aloud
  @state() private bank = '' // the page where a payment is confirmed
  @state() private joinable = false // the waiting room, before the sale
  @state() private turn: Turn | undefined
  @state() private turnLeft = 0 // seconds
  @state() private aloud: number | undefined // the position, now and then
  @query('rowlock-map') private map!: RowlockMap | null
  private deadline = 0 // by performance.now, from the server's clock
  private place: Place | undefined
  private entry: QueueEntry | undefined
  private told = -Infinity // when a position was said aloud
  private ticking: ReturnType<typeof setInterval> | undefined
  private beginning: ReturnType<typeof setTimeout> | undefined
  private scene = ''
  private gone = false

  protected override createRenderRoot() {
    return this
  }

  override connectedCallback() {
    super.connectedCallback()
    this.gone = false
    this.ticking = setInterval(() => this.tick(), 250)
    addEventListener('pageshow', this.back)
    document.addEventListener('visibilitychange', this.seen)
    addEventListener('online', this.seen)
  }

  override disconnectedCallback() {
    super.disconnectedCallback()
    this.gone = true
    clearInterval(this.ticking)
    clearTimeout(this.beginning)
    this.place?.stop()
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

  protected override updated() {
    document.title = [this.headline(), this.event?.title, 'Rowlock'].filter(Boolean).join(' · ')
    const scene = this.waiting ? 'queue' : this.held ? 'held' : this.phase
    if (scene === this.scene) return
    // Whoever pressed a button that is gone now goes on where its answer is.
    const lost = document.activeElement === document.body || this.querySelector('.panel')?.contains(document.activeElement)
    const heading = this.querySelector<HTMLElement>('.panel h2')
    if (this.scene && heading && lost) heading.focus()
    if (heading) this.scene = scene
  }

  /** What matters most, for the tab's title: it is seen while another tab is. */
  private headline(): string {
    const w = t.page, turn = this.turn
    if (this.held && this.phase === 'held') return minutes(this.left)
    if (turn?.status === 'admitted' && !turn.used) return w.yourTurn
    return turn?.status === 'waiting' && turn.position ? String(turn.position) : ''
  }

  /** In the waiting room, and not to hold anything now. */
  private get waiting(): boolean {
    return this.phase === 'choosing' && (this.turn?.status === 'waiting' || this.turn?.status === 'expired')
  }

  private async open() {
    const path = { showId: this.showId }
    const { data, response } = await readShow({ client, path })
    if (this.gone) return
    if (!data) {
      this.lost = response?.status === 404 || response?.status === 422
      if (!this.lost) setTimeout(() => this.open(), 2000)
      return
    }
    this.know(data)
    void readEvent({ client, path: { eventId: data.eventId } }).then(({ data }) => (this.event = data))
    void this.readMethods()
    const entryId = entryOf('queue', this.showId)
    if (entryId) this.wait(entryId)
    await this.resume()
  }

  private async readMethods() {
    const { data } = await listPaymentMethods({ client, path: { showId: this.showId } })
    if (data) this.methods = data.paymentMethods.filter((m) => !m.token || m.gateway === 'sandbox')
    else if (!this.gone) setTimeout(() => this.readMethods(), 2000)
  }

  /** Takes what a show is now. */
  private know(show: Show) {
    this.facts = show
    clearTimeout(this.beginning)
    const begins = Date.parse(show.salesStartAt ?? '')
    if (show.saleOpen || show.status !== 'on_sale' || !(begins > 0)) {
      this.joinable = false
      return
    }
    // The map hears when the sale begins. Should it not, the show is asked.
    const wait = begins - Date.now()
    if (wait > 0) void readQueue({ client, path: { showId: show.showId } }).then(({ data }) => (this.joinable = !this.facts?.saleOpen && (data?.joinable ?? false)))
    else if (Date.parse(show.salesEndAt ?? show.startsAt) < Date.now()) return
    this.beginning = setTimeout(() => this.reread(), Math.min(timerMax, Math.max(0, wait) + saleAgainMillis * (0.2 + Math.random())))
  }

  /** Reads the show again, whatever the browser has kept. */
  private async reread() {
    const { data } = await readShow({ client, path: { showId: this.showId }, cache: 'no-cache' })
    if (this.gone) return
    if (data) this.know(data)
    else this.beginning = setTimeout(() => this.reread(), saleAgainMillis)
  }

  /** Goes on where this tab was. */
  private async resume() {
    const { pending, bookingId, reservationId } = this.cart
    if (pending?.what === 'hold') return this.placeHold(pending.body as PlaceInputBody, pending.key)
    if (pending) return this.attempt(pending.what, pending.body as never, pending.key)
    if (bookingId) {
      const { data, status } = await ask<Booking>((headers) => readBooking({ client, headers, path: { bookingId } }))
      if (status === 0) return this.unknown()
      if (data && (data.status !== 'pending' || data.paymentStatus === 'pending')) return this.follow(data)
      if (data?.paymentStatus === 'failed') this.tell(t.page.payFailed)
    }
    if (reservationId) {
      const { data, problem } = await this.timed((headers) => readReservation({ client, headers, path: { reservationId } }))
      if (data?.status === 'active') return this.takeHold(data)
      if (data?.status === 'consumed' && data.bookingId) return go(`/?booking=${data.bookingId}`)
      if (data?.status === 'cancelled' && this.count && !this.cart.stays) return this.hold() // let go as the page went; this is it again
      if (data || problem) this.over()
      else this.unknown()
    }
  }

  /** Goes on here with a hold that was made elsewhere: in another tab, or for somebody who waited. */
  private readonly adopt = (reservationId: string) => {
    this.tell('')
    this.cart = { ...this.cart, lines: [], areas: [], reservationId, bookingId: undefined, pending: undefined }
    this.keep()
    return this.resume()
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
      ...this.cart, reservationId: r.reservationId, pending: undefined, stays: r.waitlistEntryId !== undefined,
      lines: r.seats.map(({ seatId, label, category, ticketType }) => ({ seatId, label, category, ticketType })),
      areas: r.areas.map((a) => ({ areaId: a.areaId, name: a.name, category: this.areaCategory(a.areaId), ticketType: a.ticketType, quantity: a.quantity })),
    }
    this.keep()
    this.left = 0
    this.tick()
  }

  private areaCategory(areaId: string) {
    return this.cart.areas.find((a) => a.areaId === areaId)?.category ?? this.map?.selection.areas.find((a) => a.areaId === areaId)?.category ?? ''
  }

  private tick() {
    const until = (end: number) => Math.max(0, Math.ceil((end - performance.now()) / 1000))
    if (this.turn?.status === 'admitted' || this.turn?.status === 'expired') this.turnLeft = until(this.turn.until)
    if (!this.held) return
    const before = this.left
    this.left = until(this.deadline)
    for (const mark of [300, 60] as const) if (before > mark && this.left <= mark) this.mark = mark
    if (this.left > 300) this.mark = 0
    if (this.left === 0 && before > 0 && this.phase === 'held') void this.check()
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
    const again = !this.cart.stays && this.count > 0
    this.drop()
    this.tell(t.page.over, true, again ? { words: t.page.holdAgain, run: () => this.hold() } : undefined)
  }

  /** Forgets the hold, not what was chosen. */
  private drop() {
    this.held = undefined
    this.phase = 'choosing'
    this.cart = { ...this.cart, reservationId: undefined, bookingId: undefined, pending: undefined, stays: undefined }
    this.keep()
  }

  /** Back from the bank's page, say: nothing of this one was loaded again. */
  private readonly back = (e: PageTransitionEvent) => {
    if (e.persisted) void this.resume()
  }

  private readonly seen = () => {
    // Clocks stand still while a phone sleeps.
    if (document.visibilityState === 'visible' && this.phase === 'held' && this.doing === '') void this.check()
  }

  private keep() {
    save(this.showId, this.cart)
  }

  private tell(text: string, bad = true, act?: Word['act']) {
    this.say = text ? { text, bad, act } : undefined
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
    if (!this.say?.act) this.tell('')
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
    return this.placeHold(body, newKey())
  }

  private async placeHold(body: PlaceInputBody, key: string) {
    this.tell('')
    this.doing = 'hold'
    this.cart = { ...this.cart, pending: { what: 'hold', key, body } }
    this.keep()
    const turn = this.cart.turn
    const out = await once<Reservation>(key, async (headers) => {
      const began = performance.now()
      const a = await placeReservation({ client, headers: { ...headers, ...(turn ? { 'X-Queue-Token': turn } : {}) }, body })
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
      await this.refused(out.problem)
    } else this.unknown()
    this.doing = ''
  }

  /** There was no answer for very long. The same request can be sent again. */
  private unknown() {
    this.tell(t.page.offline, true, { words: t.page.tryAgain, run: () => this.resume() })
  }

  /** The customer has these places already. */
  private elsewhere(reservationId: string) {
    this.tell(t.page.ownHold, true, { words: t.page.goOnHere, run: () => this.adopt(reservationId) })
  }

  /** A refusal, in the buyer's words. */
  private async refused(p: Problem | undefined) {
    const w = t.page
    switch (p?.code) {
      case 'SEAT_ALREADY_RESERVED': {
        if (p.ownReservationId) return this.elsewhere(p.ownReservationId)
        const seats = p.unavailableSeats ?? []
        this.map?.drop(seats.map((s) => s.seatId))
        this.dropTaken(seats)
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
        return this.joinQueue()
      case 'QUEUE_TOKEN_EXPIRED':
      case 'QUEUE_TOKEN_INVALID':
        return this.withoutTurn()
      case 'SHOW_NOT_ON_SALE':
        await this.reread()
        this.tell((this.facts && this.why(this.facts)) || w.wrong(p.detail ?? p.title))
        return
      case 'RESERVATION_EXPIRED':
        this.over()
        return
      default:
        this.tell(p ? w.wrong(p.detail ?? p.title) : w.broken)
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
      else if (out.status === 0) await this.readHold() // it may have been done
      else await this.refused(out.problem)
      if (this.held) this.takeHold({ ...this.held }) // the map shows again what is held
    }
    this.doing = ''
  }

  private async release() {
    const reservationId = this.held?.reservationId
    if (!reservationId) return
    this.doing = 'release'
    const { problem, status } = await once<unknown>(newKey(), (headers) => releaseReservation({ client, headers, path: { reservationId } }), (so) => (this.retrying = so))
    this.doing = ''
    if (status === 0) return this.tell(t.page.offline)
    if (problem?.bookingId) return go(`/?booking=${problem.bookingId}`)
    this.cart = { ...this.cart, lines: [], areas: [] }
    this.drop()
    this.map?.choose([])
    this.tell(t.page.released, false)
  }

  // ---- paying

  /** What was typed is there after a reload, too. */
  private noteBuyer(e: Event) {
    const form = new FormData(e.currentTarget as HTMLFormElement)
    const text = (name: string) => String(form.get(name) ?? '').trim()
    this.cart = { ...this.cart, buyer: { name: text('name'), email: text('email'), phone: text('phone') } }
    this.keep()
  }

  private pay(e: SubmitEvent) {
    e.preventDefault()
    const form = new FormData(e.currentTarget as HTMLFormElement)
    const text = (name: string) => String(form.get(name) ?? '').trim()
    const buyer = { name: text('name'), email: text('email'), locale: t.tag, ...(text('phone') ? { phone: text('phone') } : {}) }
    this.cart = { ...this.cart, buyer }
    const method = this.methods[Number(form.get('method') ?? -1)]
    const payment = this.total === 0 || !method ? undefined : { method: method.method, gateway: method.gateway, ...(method.token ? { token: text('token') } : {}) }
    const returnUrl = `${location.origin}/?show=${this.showId}`
    if (this.cart.bookingId) return this.attempt('pay', { payment, returnUrl } as never, newKey())
    return this.attempt('buy', { reservationId: this.held!.reservationId, buyer, ...(payment ? { payment } : {}), returnUrl } as never, newKey())
  }

  private async attempt(what: 'buy' | 'pay', body: never, key: string) {
    this.tell('')
    this.phase = 'paying'
    this.bank = ''
    this.cart = { ...this.cart, pending: { what, key, body } }
    this.keep()
    const bookingId = this.cart.bookingId
    const out: Outcome<Booking> = await once<Booking>(key, (headers) => what === 'pay' && bookingId
      ? payBooking({ client, headers, path: { bookingId }, body })
      : createBooking({ client, headers, body }), (so) => (this.retrying = so))
    if (this.gone) return
    if (out.status === 0) return this.unknown()
    this.cart = { ...this.cart, pending: undefined, stays: true, bookingId: out.data?.bookingId ?? out.problem?.bookingId ?? bookingId }
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
      await this.readHold()
      if (this.held) this.tell(t.page.declined(named(t.page.declines, out.problem.declineCode ?? '')))
    } else {
      await this.refused(out.problem)
      if (this.held) await this.readHold()
    }
  }

  /** Reads the hold again, which may be another by now. */
  private async readHold() {
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
    this.cart = { ...this.cart, bookingId: b.bookingId, stays: true }
    this.keep()
    for (let now: Booking | undefined = b; !this.gone;) {
      if (now?.status === 'confirmed' || now?.status === 'cancelled') {
        forget(this.showId)
        this.cart = { lines: [], areas: [] }
        this.phase = 'choosing'
        this.held = undefined
        noteEntry('queue', this.showId, undefined) // that was the turn
        return go(`/?booking=${now.bookingId}${now.status === 'confirmed' ? '&new' : ''}`)
      }
      if (now && (now.status === 'expired' || now.status === 'failed')) return this.over()
      if (now && now.paymentStatus !== 'pending') {
        this.phase = 'held'
        await this.readHold()
        if (this.held) this.tell(t.page.payFailed)
        return
      }
      this.phase = 'settling'
      this.bank = now?.nextAction?.url ?? this.bank
      const began = performance.now()
      now = (await ask<Booking>((headers) => readBooking({ client, headers, path: { bookingId: b.bookingId }, query: { wait: waitSeconds } }))).data
      if (!now || performance.now() - began < 500) await new Promise((done) => setTimeout(done, 1500))
    }
  }

  // ---- the waiting room

  private readonly joinQueue = async () => {
    allowSound()
    this.tell('')
    this.doing = 'join'
    const out = await once<QueueEntry>(newKey(), (headers) => joinQueue({ client, headers, path: { showId: this.showId } }), (so) => (this.retrying = so))
    this.doing = ''
    if (this.gone) return
    if (out.data) {
      noteEntry('queue', this.showId, out.data.entryId)
      this.wait(out.data.entryId)
    } else if (out.problem?.code === 'CONFLICT') {
      await this.reread() // there is none any more
      this.tell(this.facts?.soldOut ? t.page.queueEnded('sold_out') : t.page.queueEnded('closed'), false)
    } else if (out.status === 0) this.tell(t.page.offline)
    else await this.refused(out.problem)
  }

  /** Follows a place in the line. */
  private wait(entryId: string) {
    this.place?.stop()
    this.place = new Place(entryId, (turn, entry) => this.queued(turn, entry))
    void this.place.run()
  }

  private queued(turn: Turn, entry: QueueEntry | undefined) {
    const w = t.page, before = this.turn
    this.turn = turn
    this.entry = entry
    this.cart = { ...this.cart, turn: turn.status === 'admitted' ? turn.token : undefined }
    this.keep()
    this.tick()
    switch (turn.status) {
      case 'waiting':
        if (performance.now() > this.told + tellQueueEvery) {
          this.told = performance.now()
          this.aloud = turn.position
        }
        break
      case 'admitted':
        if (before?.status === 'admitted' || turn.used || this.cart.reservationId) break
        ring()
        this.tell(w.admitted, false)
        break
      case 'expired':
        if (before?.status === 'admitted') this.tell('')
        break
      case 'ended':
        this.endQueue()
        clearTimeout(this.beginning)
        this.beginning = setTimeout(() => this.reread(), Math.random() * saleAgainMillis) // many are told the same
        if (turn.reason === 'left' || this.held || this.phase !== 'choosing') break
        if (turn.reason === 'turn_over') this.tell(w.queueOver, true, { words: w.joinQueue, run: this.joinQueue })
        else this.tell(w.queueEnded(turn.reason), turn.reason !== 'closed' && turn.reason !== 'calm')
    }
  }

  /** A turn did not do for a hold: what has become of it? */
  private async withoutTurn() {
    const place = this.place
    if (!place) return this.joinQueue()
    await place.ask()
    if (this.turn?.status !== 'admitted') return
    const { data } = await ask<{ reservations: Reservation[] }>((headers) => listReservations({ client, headers, query: { showId: this.showId, status: 'active', limit: 1 } }))
    const other = data?.reservations[0]
    if (other) this.elsewhere(other.reservationId)
    else this.tell(t.page.admitted, false) // another turn than the one that was sent
  }

  private endQueue() {
    this.place?.stop()
    this.place = undefined
    this.turn = undefined
    noteEntry('queue', this.showId, undefined)
  }

  private readonly leaveQueue = async () => {
    const entryId = this.place?.entryId
    this.endQueue()
    if (entryId) await once<unknown>(newKey(), (headers) => leaveQueue({ client, headers, path: { entryId } }), () => undefined)
  }

  // ---- what is in the document

  protected override render() {
    const w = t.page, s = this.facts
    if (this.lost) return html`<p class="empty" role="alert">${w.notFound}</p><p class="center"><a href="/">${w.back}</a></p>`
    if (!s) return html`<p class="empty" role="status">${t.map.loading}</p>`
    const why = this.why(s)
    return html`
      <header class="occasion">
        <p><a href="/"><span class="arrow" aria-hidden="true">←</span> ${w.whatsOn}</a></p>
        <h1><bdi lang=${this.event?.language ?? nothing}>${this.event?.title ?? '…'}</bdi></h1>
        <p class="facts"><b>${when(t.tag, s.startsAt, s.timeZone, { ...dayAndClock, year: 'numeric' })}</b>
          ${s.doorsAt ? html` · ${w.doors(when(t.tag, s.doorsAt, s.timeZone, clock))}` : nothing}
          ${s.venue ? html` · <span dir="auto">${s.venue.name}${s.hall ? `, ${s.hall.name}` : ''}, ${s.venue.city}</span>` : nothing}</p>
        ${s.note ? html`<p class="say"><bdi>${s.note}</bdi></p>` : nothing}
        ${why ? html`<p class="note" role="status">${why}</p>` : nothing}
      </header>
      <div class="buy">
        <rowlock-map class="map" .show=${s.showId} .lang=${t.tag} .hold=${this.held ?? null}
          .busy=${this.doing !== '' || this.phase === 'paying' || this.phase === 'settling'}
          @map-ready=${this.ready} @selection-change=${this.selected} @seat-taken=${this.taken}
          @show-change=${(e: CustomEvent<{ show: Show }>) => this.know(e.detail.show)}
          @selection-limit=${(e: CustomEvent<{ limit: number }>) => this.tell(w.limit(e.detail.limit))}></rowlock-map>
        <div class="side">
          <div class="alerts">
            <div role="alert">${this.say?.bad ? this.message(this.say) : nothing}</div>
            <div role="status">${this.say && !this.say.bad ? this.message(this.say) : nothing}
              ${this.retrying ? html`<p class="note">${w.retrying}</p>` : nothing}</div>
          </div>
          <section class="panel" aria-label=${w.yourPlaces}>
            ${this.waiting ? this.renderQueue(s) : this.phase === 'settling' ? this.renderSettling() : this.renderPlaces(s)}
          </section>
          ${this.held || this.phase !== 'choosing' ? nothing
            : html`<rowlock-waitlist .show=${s} .tag=${t.tag} .taker=${this.adopt}></rowlock-waitlist>`}
        </div>
        ${this.renderBar(s)}
      </div>`
  }

  private message(say: Word) {
    return html`<p class="note ${say.bad ? 'bad' : 'good'}"><span>${say.text}</span>
      ${say.act && !this.doing ? html`<button type="button" @click=${say.act.run}>${say.act.words}</button>` : nothing}
      <button type="button" class="x" aria-label=${t.page.close} @click=${() => this.tell('')}>×</button></p>`
  }

  /** Why nothing can be held; "": it can. */
  private why(s: Show): string {
    const w = t.page
    if (s.status === 'cancelled') return w.isCancelled
    if (s.status === 'paused') return w.paused
    if (s.saleOpen) return s.soldOut && !this.held ? w.isSoldOut : ''
    if (s.status === 'ended' || !s.salesStartAt || Date.parse(s.salesEndAt ?? s.startsAt) < Date.now()) return w.ended
    return w.notYet(when(t.tag, s.salesStartAt, s.timeZone, dayAndClock))
  }

  private renderQueue(s: Show) {
    const w = t.page, turn = this.turn!, e = this.entry
    if (turn.status === 'expired') {
      return html`<h2 tabindex="-1">${w.queue}</h2><p>${w.queueMissed}</p>
        <p>${w.returnWithin} <span role="timer" class="time" dir="ltr">${minutes(this.turnLeft)}</span></p>
        <button type="button" class="main" ?disabled=${this.doing !== ''} @click=${this.joinQueue}>${w.joinAgain}</button>
        <p><button type="button" class="quiet" @click=${this.leaveQueue}>${w.leaveQueue}</button></p>`
    }
    if (turn.status !== 'waiting') return nothing
    return html`<h2 tabindex="-1">${w.queue}</h2>
      ${turn.position ? html`<dl class="queue"><dt>${w.position}</dt><dd>${turn.position}</dd></dl>
        <p>${turn.reason === 'paused' ? w.queuePaused : w.wait(Math.ceil((turn.seconds ?? 0) / 60))}</p>`
        : turn.reason === 'before_sales' && s.salesStartAt
          ? html`<p><b>${w.joined}</b></p><p>${w.drawnAt(when(t.tag, s.salesStartAt, s.timeZone, dayAndClock))}</p>`
          : html`<p class="spin">${w.drawing}</p>`}
      <p class="soft">${w.queueWhy}</p>
      <p class="sr" role="status">${this.aloud ? w.positionIs(this.aloud) : ''}</p>
      ${e ? html`<details><summary>${w.fair}</summary><p class="soft">${w.fairHow(e.number, e.draw)} <code dir="ltr">${e.keyHash}</code></p></details>` : nothing}
      <button type="button" class="quiet" @click=${this.leaveQueue}>${w.leaveQueue}</button>`
  }

  private renderSettling() {
    const w = t.page
    return html`<h2 tabindex="-1">${w.payment}</h2><p class="spin" role="status">${w.settling}</p>
      ${this.bank ? html`<p><a href=${this.bank}>${w.goToBank}</a></p>` : nothing}`
  }

  /** On a phone what is done next is always in sight. */
  private renderBar(s: Show) {
    const w = t.page
    if (this.held && this.phase === 'held') {
      return html`<div class="bar ${this.left <= 60 ? 'late' : ''}"><span class="time" dir="ltr">${minutes(this.left)}</span>
        <button type="button" class="main" @click=${() => this.querySelector('form.pay')?.scrollIntoView({ block: 'start' })}>${w.toPayment}</button></div>`
    }
    return this.phase === 'choosing' && !this.waiting && this.count ? html`<div class="bar">${this.holdButton(s)}</div>` : nothing
  }

  private holdButton(s: Show) {
    const w = t.page
    return html`<button type="button" class="main hold" ?disabled=${this.count === 0 || this.doing !== '' || !s.saleOpen} @click=${() => this.hold()}>
      ${this.doing === 'hold' ? w.holding : this.count ? w.hold(this.count) : w.holdNothing}</button>`
  }

  /** How to get a turn, where one is needed. */
  private renderJoin(s: Show) {
    const w = t.page, turn = this.turn
    if (turn?.status === 'admitted') {
      return html`<p class="turn">${w.turnEnds} <span role="timer" class="time" dir="ltr">${minutes(this.turnLeft)}</span></p>`
    }
    if (!(s.saleOpen ? s.queue.open && !s.soldOut : this.joinable)) return nothing
    return html`<div class="note"><p>${s.saleOpen ? w.queueIsOpen : w.queueBefore}</p>
      <button type="button" ?disabled=${this.doing !== ''} @click=${this.joinQueue}>${w.joinQueue}</button></div>`
  }

  private renderPlaces(s: Show) {
    const w = t.page
    const cannot = this.doing !== '' || this.phase === 'paying'
    return html`
      ${this.held ? html`<div class="clock ${this.left <= 60 ? 'late' : ''}"><h2 tabindex="-1">${this.held.waitlistEntryId ? w.offered : w.held}</h2>
        <p>${w.heldUntil} <span role="timer" aria-live="off" class="time" dir="ltr">${minutes(this.left)}</span></p>
        <p class="sr" role="status">${this.mark === 60 ? w.oneMinute : this.mark === 300 ? w.fiveMinutes : ''}</p></div>`
        : html`<h2 tabindex="-1">${w.yourPlaces}</h2>${this.renderJoin(s)}`}
      ${this.count === 0 ? html`<p class="soft">${w.choose}</p>` : html`<ul class="lines">
        ${repeat(this.cart.lines, (l) => l.seatId, (l) => {
          const types = s.prices.filter((p) => p.category === l.category)
          const price = this.held?.seats.find((h) => h.seatId === l.seatId)?.price ?? this.price(l.category, l.ticketType)
          return html`<li><span class="label" dir="auto">${l.label}</span>
            ${types.length > 1 ? html`<select aria-label=${w.ticketType(l.label)} .value=${live(l.ticketType)} ?disabled=${cannot}
              @change=${(e: Event) => this.setType(l.seatId, (e.target as HTMLSelectElement).value)}>
              ${types.map((p) => html`<option value=${p.ticketType} ?selected=${p.ticketType === l.ticketType}>${named(t.types, p.ticketType)}</option>`)}</select>`
              : html`<span class="soft">${named(t.types, l.ticketType)}</span>`}
            <span class="money">${money(t.tag, price, s.currency)}</span>
            <button type="button" class="x" aria-label=${w.remove(l.label)} ?disabled=${cannot} @click=${() => this.take(l.seatId)}>×</button></li>`
        })}
        ${this.cart.areas.map((a) => html`<li><span class="label" dir="auto">${a.quantity} × ${a.name}</span><span class="soft">${named(t.types, a.ticketType)}</span>
          <span class="money">${money(t.tag, (this.held?.areas.find((h) => h.areaId === a.areaId && h.ticketType === a.ticketType)?.price ?? this.price(a.category, a.ticketType)) * a.quantity, s.currency)}</span></li>`)}
        </ul><p class="total"><span>${w.total}</span> <b>${money(t.tag, this.total, s.currency)}</b></p>`}
      ${this.held ? this.renderPay(s, cannot) : this.holdButton(s)}`
  }

  private renderPay(s: Show, cannot: boolean) {
    const w = t.page
    const b = this.cart.buyer
    const methods = this.methods
    return html`<p class="soft">${w.change} <button type="button" class="quiet" ?disabled=${cannot} @click=${() => this.release()}>${w.release}</button></p>
      <form class="pay" @submit=${this.pay} @change=${this.noteBuyer}>
        <fieldset ?disabled=${cannot}>
          <legend>${w.details}</legend>
          <label>${w.buyerName}<input name="name" required maxlength="200" autocomplete="name" .value=${b?.name ?? ''} dir="auto"></label>
          <label>${w.email}<input name="email" type="email" required maxlength="254" autocomplete="email" .value=${b?.email ?? ''} dir="ltr"></label>
          <label>${w.phone}<input name="phone" type="tel" maxlength="32" autocomplete="tel" .value=${b?.phone ?? ''} dir="ltr"></label>
        </fieldset>
        ${this.total > 0 ? html`<fieldset ?disabled=${cannot}>
          <legend>${w.payment}</legend>
          ${methods.length === 0 ? html`<p class="note bad">${w.noMethod}</p>` : nothing}
          ${methods.map((m, i) => html`<label class="choice"><input type="radio" name="method" value=${i} ?checked=${i === 0}> ${w.methods[m.method] ?? m.title}</label>
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
