// A plan's document on a map, with the seats that it cannot be imported with.
// The list beside it says the same in words, for who cannot see it.
import type { CheckedPlan, Plan } from '@rowlock/client'
import { html, nothing, type PropertyValues } from 'lit'
import { customElement, property, query } from 'lit/decorators.js'
import { Hall, type Seat } from '../map/layout.ts'
import { colourOf, dark, drawSeat, light } from '../map/shapes.ts'
import { View } from './view.ts'

const margin = 16

@customElement('organiser-problem-map')
export class ProblemMap extends View {
  @property({ attribute: false }) checked!: CheckedPlan
  @property({ type: Number }) at = -1 // the problem that is looked at
  @query('canvas') private canvas!: HTMLCanvasElement
  private hall: Hall | undefined
  private readonly sizes = new ResizeObserver(() => this.paint())
  private scale = { k: 1, x: 0, y: 0 }

  override willUpdate(changed: PropertyValues<this>) {
    if (changed.has('checked')) this.hall = new Hall(asPlan(this.checked))
  }

  override firstUpdated() {
    this.sizes.observe(this.canvas)
  }

  override disconnectedCallback() {
    super.disconnectedCallback()
    this.sizes.disconnect()
  }

  override updated() {
    this.paint()
  }

  override render() {
    const { checked } = this
    const marked = new Set(checked.problems.filter((p) => p.seat !== undefined).map((p) => p.seat)).size
    return html`<figure class="plan">
      <canvas role="img" aria-label="The plan as it was understood: ${checked.seats.length} seats, ${marked} of them with problems." @click=${this.pick}></canvas>
      ${marked ? html`<figcaption>Seats with problems have a ring and a mark.</figcaption>` : nothing}
    </figure>`
  }

  private seats(): Map<number, Seat> {
    // Rows of the hall are turned so that right is right; its seats stay in order.
    return new Map(this.hall!.seats.map((s) => [s.no, s]))
  }

  private pick(e: MouseEvent) {
    const { k, x, y } = this.scale
    const px = e.offsetX, py = e.offsetY
    const seats = this.seats()
    let best = -1, nearest = 14
    this.checked.problems.forEach((p, i) => {
      const s = p.seat === undefined ? undefined : seats.get(p.seat)
      if (!s) return
      const d = Math.hypot(s.x * k + x - px, s.y * k + y - py)
      if (d < nearest) {
        nearest = d
        best = i
      }
    })
    if (best >= 0) this.dispatchEvent(new CustomEvent<number>('problem', { detail: best }))
  }

  private paint() {
    const hall = this.hall, canvas = this.canvas
    if (!hall || !canvas) return
    const scheme = matchMedia('(prefers-color-scheme: dark)').matches ? dark : light
    const ratio = Math.min(window.devicePixelRatio || 1, 2)
    const width = canvas.clientWidth, height = canvas.clientHeight
    canvas.width = Math.round(width * ratio)
    canvas.height = Math.round(height * ratio)
    const c = canvas.getContext('2d')!
    c.setTransform(ratio, 0, 0, ratio, 0, 0)
    const { x0, y0, x1, y1 } = hall.box
    const k = Math.min((width - 2 * margin) / Math.max(x1 - x0, hall.pitch), (height - 2 * margin) / Math.max(y1 - y0, hall.pitch), 28 / hall.pitch)
    this.scale = { k, x: width / 2 - ((x0 + x1) / 2) * k, y: height / 2 - ((y0 + y1) / 2) * k }
    const X = (v: number) => v * k + this.scale.x, Y = (v: number) => v * k + this.scale.y
    for (const a of hall.areas) {
      if (!a.outline?.length) continue
      c.beginPath()
      for (const q of a.outline) c.lineTo(X(q.x), Y(q.y))
      c.closePath()
      c.strokeStyle = colourOf(scheme, Math.max(0, hall.categories.indexOf(a.category)))
      c.stroke()
    }
    const r = Math.max(1.2, (hall.pitch * k * 0.8) / 2)
    for (const s of hall.seats) drawSeat(c, scheme, s.category, 'a', X(s.x), Y(s.y), r)
    const red = scheme === dark ? '#ff8a7a' : '#b3261e'
    const seats = this.seats()
    this.checked.problems.forEach((p, i) => {
      const s = p.seat === undefined ? undefined : seats.get(p.seat)
      if (!s) return
      const ring = Math.max(r * 1.4, 6) * (i === this.at ? 1.5 : 1)
      c.beginPath()
      c.arc(X(s.x), Y(s.y), ring, 0, 2 * Math.PI)
      c.fillStyle = scheme.ground
      c.fill()
      c.strokeStyle = red
      c.lineWidth = i === this.at ? 4 : 2
      c.stroke()
      c.fillStyle = red
      c.font = `700 ${Math.round(ring * 1.5)}px system-ui, sans-serif`
      c.textAlign = 'center'
      c.textBaseline = 'middle'
      c.fillText('!', X(s.x), Y(s.y) + 1)
    })
  }
}

/** What was understood, as a plan to draw. */
function asPlan(p: CheckedPlan): Plan {
  return {
    planId: '', hallId: '', version: 0, name: p.name, seatCount: p.seats.length, drawing: p.drawing,
    categories: p.categories.map((name) => ({ categoryId: name, name })),
    seats: p.seats.map((s, i) => ({ ...s, seatId: String(i), kind: 'standard' as const })),
    areas: p.areas.map((a, i) => ({ ...a, areaId: String(i) })),
  }
}
