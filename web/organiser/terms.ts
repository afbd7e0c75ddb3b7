// On what terms places are sold: times, limits, prices. A new show and one that
// exists have the same fields; of one that exists only what was changed is sent.
import { amendArea, amendShow, readAvailability, readShow, type AmendShowInputBody, type AreaCount, type PriceFields, type Show } from '@rowlock/client'
import { html, nothing } from 'lit'
import { customElement, property, state } from 'lit/decorators.js'
import { keyed } from 'lit/directives/keyed.js'
import { answered, client, instantOf, localOf, minor, Refusal, typed, write } from './client.ts'
import { field, View } from './view.ts'

/** When, and by which limits. */
export function termFields(zone: string, s?: Show) {
  const time = (name: string, label: string, at: string | undefined, hint: string, required = false) => field(name, label,
    html`<input id=${name} name=${name} type="datetime-local" max="9999-12-31T23:59" ?required=${required} value=${at ? localOf(at, zone) : ''} aria-describedby="${name}-hint" />`, hint)
  const number = (name: string, label: string, value: number | undefined, min: number, max: number, hint: string, required = true) => field(name, label,
    html`<input id=${name} name=${name} type="number" ?required=${required} min=${min} max=${max} value=${value ?? ''} aria-describedby="${name}-hint" />`, hint)
  return html`<div class="pair">
      ${time('starts', 'Starts', s?.startsAt, `By the clocks of ${zone}`, true)}
      ${time('ends', 'Ends', s?.endsAt, 'Without it sales end when it starts')}
      ${time('doors', 'Doors', s?.doorsAt, 'For buyers to know')}
      ${time('sales-start', 'Sales begin', s?.salesStartAt, 'Without it: when it is published')}
      ${time('sales-end', 'Sales end', s?.salesEndAt, 'Without it: with the show')}
      ${number('hold', 'A hold lasts', s?.holdSeconds ?? 900, 1, 3600, 'Seconds')}
      ${number('longest', 'And at most', s?.maxHoldSeconds ?? 1800, 1, 604_800, 'Seconds, when it is extended')}
      ${number('most', 'Places at once', s?.maxPlacesPerReservation ?? 5, 1, 10_000, 'In one purchase')}
      ${number('each', 'Places a customer', s?.maxPlacesPerCustomer, 1, 1_000_000, 'In this show; empty: no limit', false)}
      ${number('offer', 'Offers of the waitlist last', s?.offerSeconds ?? 900, 1, 604_800, 'Seconds')}
      ${number('until', 'Buyers may give back until', s?.cancellation?.untilMinutesBeforeStart, 0, 525_600, 'Minutes before the start; empty: they may not', false)}
      ${number('percent', 'And get back', s?.cancellation?.refundPercent ?? 100, 0, 100, 'Percent of the price')}
    </div>
    ${field('note', 'Note for buyers', html`<textarea id="note" name="note" rows="2" maxlength="2000" .defaultValue=${s?.note ?? ''}></textarea>`)}`
}

/** What somebody has written into a field; undefined: it is as it was. */
export function changed(form: HTMLFormElement, name: string): string | undefined {
  const input = form.elements.namedItem(name) as HTMLInputElement
  return input.value === input.defaultValue ? undefined : input.value.trim()
}

/** What of termFields was changed. */
export function changedTerms(form: HTMLFormElement, zone: string): AmendShowInputBody {
  const at = (name: string) => {
    const local = changed(form, name)
    return local === undefined ? undefined : local ? instantOf(local, zone) : null
  }
  const number = (name: string) => {
    const value = changed(form, name)
    return value === undefined ? undefined : value ? Number(value) : null
  }
  const value = (name: string) => (form.elements.namedItem(name) as HTMLInputElement).value
  const cancellation = changed(form, 'until') === undefined && (changed(form, 'percent') === undefined || !value('until')) ? undefined
    : value('until') ? { untilMinutesBeforeStart: Number(value('until')), refundPercent: Number(value('percent')) } : null
  const all = {
    startsAt: at('starts'), endsAt: at('ends'), doorsAt: at('doors'), salesStartAt: at('sales-start'), salesEndAt: at('sales-end'),
    holdSeconds: number('hold'), maxHoldSeconds: number('longest'), maxPlacesPerReservation: number('most'), maxPlacesPerCustomer: number('each'),
    offerSeconds: number('offer'), cancellation, note: changed(form, 'note'),
  }
  return Object.fromEntries(Object.entries(all).filter(([, v]) => v !== undefined))
}

type Priced = { category: string; ticketType: string; amount?: number }
const named = (p: Priced) => (p.ticketType === 'standard' ? p.category : `${p.category}, ${p.ticketType}`)

export function priceFields(prices: Priced[], currency: string) {
  return html`<fieldset><legend>Prices</legend><div class="pair">
    ${prices.map((p, i) => field(`price-${i}`, named(p), html`<input id="price-${i}" name="price-${i}" type="text" inputmode="decimal" ?required=${p.ticketType === 'standard'}
      pattern="\\d+([.,]\\d+)?" size="9" value=${p.amount === undefined ? '' : typed(p.amount, currency)} />`))}
    </div>
    <details><summary>Another ticket type</summary><div class="pair">
      ${field('type-of', 'For', html`<select id="type-of" name="type-of">${[...new Set(prices.map((p) => p.category))].map((c) => html`<option>${c}</option>`)}</select>`)}
      ${field('type', 'Ticket type', html`<input id="type" name="type" maxlength="64" autocomplete="off" aria-describedby="type-hint" />`, 'Such as child')}
      ${field('type-price', 'Price', html`<input id="type-price" name="type-price" type="text" inputmode="decimal" pattern="\\d+([.,]\\d+)?" size="9" />`)}
    </div></details></fieldset>`
}

/** All prices, as they are written in the form. One whose field is empty is none any more. */
export function pricesOf(form: HTMLFormElement, prices: Priced[], currency: string): PriceFields[] {
  const value = (name: string) => (form.elements.namedItem(name) as HTMLInputElement).value.trim()
  const list = prices.flatMap((p, i) => (value(`price-${i}`) ? [{ category: p.category, ticketType: p.ticketType, amount: minor(value(`price-${i}`), currency) }] : []))
  if (Boolean(value('type')) !== Boolean(value('type-price'))) throw new Error('Another ticket type needs a name and a price.')
  if (value('type')) list.push({ category: value('type-of'), ticketType: value('type'), amount: minor(value('type-price'), currency) })
  return list
}

/** The terms of a show that exists, to be changed. */
@customElement('organiser-terms')
export class Terms extends View {
  @property() show = ''
  @state() private was: { show: Show; etag: string; areas: AreaCount[] } | undefined // as the form began

  private async read() {
    const path = { showId: this.show }
    const asked = readShow({ client, path })
    const [show, { areas }] = await Promise.all([answered(asked), answered(readAvailability({ client, path }))])
    return { show, areas, etag: (await asked).response?.headers.get('ETag') ?? '' }
  }

  private opened(e: Event) {
    this.was = undefined
    if ((e.currentTarget as HTMLDetailsElement).open) void this.load(() => this.read(), (was) => (this.was = was))
  }

  override render() {
    const was = this.was
    return html`<details @toggle=${this.opened}><summary>Times, limits and prices</summary>
      ${this.news()}
      ${was ? keyed(was, html`<form @submit=${this.save}>
        ${termFields(was.show.timeZone, was.show)}
        ${priceFields(was.show.prices, was.show.currency)}
        ${was.areas.length ? html`<fieldset><legend>Places</legend><div class="pair">
          ${was.areas.map((a, i) => field(`area-${i}`, a.name, html`<input id="area-${i}" name="area-${i}" type="number" required min="0" max="1000000" value=${a.capacity} />`))}
        </div></fieldset>` : nothing}
        <p><button class="primary" ?disabled=${this.busy}>Save</button></p>
      </form>`) : nothing}</details>`
  }

  private save(e: SubmitEvent) {
    e.preventDefault()
    const form = e.target as HTMLFormElement, was = this.was!
    void this.act(async () => {
      const body = changedTerms(form, was.show.timeZone)
      const prices = pricesOf(form, was.show.prices, was.show.currency)
      const key = (p: PriceFields) => `${p.category} ${p.ticketType} ${p.amount}`
      if (prices.map(key).join('\n') !== was.show.prices.map(key).join('\n')) body.prices = prices
      const areas = was.areas.flatMap((a, i) => {
        const capacity = changed(form, `area-${i}`)
        return capacity === undefined ? [] : [{ areaId: a.areaId, capacity: Number(capacity) }]
      })
      if (Object.keys(body).length + areas.length === 0) return 'Nothing was changed.'
      const path = { showId: this.show }
      if (Object.keys(body).length > 0) {
        try {
          await write((headers) => amendShow({ client, path, headers: { ...headers, ...(was.etag ? { 'If-Match': was.etag } : {}) }, body }))
        } catch (e) {
          if (!(e instanceof Refusal) || e.status !== 412) throw e
          throw new Error('The show has changed since this was opened. Nothing was saved: close this and open it again.')
        }
      }
      for (const { areaId, capacity } of areas) {
        await write((headers) => amendArea({ client, path: { ...path, areaId }, headers, body: { capacity } }))
      }
      this.was = await this.read()
      this.dispatchEvent(new Event('changed'))
      return 'Saved.'
    })
  }
}
