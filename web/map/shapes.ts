// What seats look like. A category has a colour and a shape, a status a shape
// or a size of its own, so that nothing is told by colour alone. The same
// outlines are drawn on the canvas and in the legend.
import { svg, type SVGTemplateResult } from 'lit'

export type Letter = 'a' | 'h' | 'b' | 'x'

/** Colours of the drawing in one of the two schemes. */
export interface Scheme {
  categories: readonly string[]
  gone: string // held, sold, blocked
  ink: string
  soft: string
  line: string
  ground: string
  accent: string
  onAccent: string
}

export const light: Scheme = {
  categories: ['#1f5fa8', '#a8480a', '#14753a', '#7a3cae', '#0c6b85', '#b4123f', '#646400', '#4a43d6'],
  gone: '#8d8780', ink: '#1c1b1a', soft: '#5f5b56', line: '#dcd7d0', ground: '#ffffff', accent: '#111827', onAccent: '#ffffff',
}

export const dark: Scheme = {
  categories: ['#7db7f2', '#f3a862', '#70d18d', '#cba3f0', '#63d2e5', '#ff93a8', '#d6d670', '#aaa6ff'],
  gone: '#7b766f', ink: '#ece8e3', soft: '#b0aaa3', line: '#3a3734', ground: '#1f1d1c', accent: '#ffffff', onAccent: '#111827',
}

/** Points of a regular figure in the unit circle. */
function figure(corners: number, turn: number, inner = 1): [number, number][] {
  const points: [number, number][] = []
  const n = inner === 1 ? corners : corners * 2
  for (let i = 0; i < n; i++) {
    const r = i % 2 === 1 ? inner : 1
    const a = turn + (i * 2 * Math.PI) / n
    points.push([r * Math.cos(a), r * Math.sin(a)])
  }
  return points
}

const up = -Math.PI / 2
const round = null
const shapes: ([number, number][] | null)[] = [
  round,
  figure(4, Math.PI / 4).map(([x, y]) => [x * 1.15, y * 1.15]),
  figure(4, up),
  figure(3, up).map(([x, y]) => [x * 1.1, y * 1.1 + 0.15]),
  figure(6, up),
  figure(3, -up).map(([x, y]) => [x * 1.1, y * 1.1 - 0.15]),
  figure(5, up, 0.5).map(([x, y]) => [x * 1.12, y * 1.12]),
  figure(4, up, 0.5),
]

/** The shape of a category, by its place in the plan. */
const shapeOf = (category: number) => shapes[(category + Math.floor(category / shapes.length)) % shapes.length]!
export const colourOf = (scheme: Scheme, category: number) => scheme.categories[category % scheme.categories.length]!

function outline(c: CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D, category: number, x: number, y: number, r: number) {
  const points = shapeOf(category)
  c.beginPath()
  if (!points) {
    c.arc(x, y, r * 0.95, 0, 2 * Math.PI)
    return
  }
  for (const [px, py] of points) c.lineTo(x + px * r, y + py * r)
  c.closePath()
}

/** Draws a seat around x, y; r is half its size in pixels. */
export function drawSeat(
  c: CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D, scheme: Scheme, category: number, status: Letter, x: number, y: number, r: number,
) {
  c.lineWidth = Math.max(1, r * 0.22)
  switch (status) {
    case 'a':
      outline(c, category, x, y, r)
      c.fillStyle = colourOf(scheme, category)
      c.fill()
      break
    case 'h': // a ring with a point in it
      c.strokeStyle = c.fillStyle = scheme.gone
      c.beginPath()
      c.arc(x, y, r * 0.72, 0, 2 * Math.PI)
      c.stroke()
      c.beginPath()
      c.arc(x, y, r * 0.28, 0, 2 * Math.PI)
      c.fill()
      break
    case 'b': { // a cross
      const d = r * 0.5
      c.strokeStyle = scheme.gone
      c.beginPath()
      c.moveTo(x - d, y - d)
      c.lineTo(x + d, y + d)
      c.moveTo(x + d, y - d)
      c.lineTo(x - d, y + d)
      c.stroke()
      break
    }
    case 'x': // a dash
      c.strokeStyle = scheme.gone
      c.beginPath()
      c.moveTo(x - r * 0.55, y)
      c.lineTo(x + r * 0.55, y)
      c.stroke()
  }
}

/** Draws a seat that was chosen: a disc with a tick, larger than others. */
export function drawChosen(c: CanvasRenderingContext2D, scheme: Scheme, x: number, y: number, r: number) {
  c.beginPath()
  c.arc(x, y, r * 1.12, 0, 2 * Math.PI)
  c.fillStyle = scheme.accent
  c.fill()
  c.lineWidth = Math.max(1.5, r * 0.26)
  c.strokeStyle = scheme.onAccent
  c.beginPath()
  c.moveTo(x - r * 0.5, y + r * 0.02)
  c.lineTo(x - r * 0.12, y + r * 0.42)
  c.lineTo(x + r * 0.55, y - r * 0.4)
  c.stroke()
}

/** The same for the legend, in a box of 20 × 20. */
export function seatIcon(scheme: Scheme, what: Letter | 'chosen', category = 0): SVGTemplateResult {
  switch (what) {
    case 'a': {
      const points = shapeOf(category)
      const colour = colourOf(scheme, category)
      return points
        ? svg`<polygon points=${points.map(([x, y]) => `${(10 + x * 8).toFixed(2)},${(10 + y * 8).toFixed(2)}`).join(' ')} fill=${colour}></polygon>`
        : svg`<circle cx="10" cy="10" r="7.6" fill=${colour}></circle>`
    }
    case 'h':
      return svg`<circle cx="10" cy="10" r="6" fill="none" stroke=${scheme.gone} stroke-width="1.8"></circle><circle cx="10" cy="10" r="2.3" fill=${scheme.gone}></circle>`
    case 'b':
      return svg`<path d="M6 6 14 14M14 6 6 14" stroke=${scheme.gone} stroke-width="1.8"></path>`
    case 'x':
      return svg`<path d="M5.5 10h9" stroke=${scheme.gone} stroke-width="2"></path>`
    case 'chosen':
      return svg`<circle cx="10" cy="10" r="9" fill=${scheme.accent}></circle><path d="M6 10.2 9 13.4 14.4 6.8" fill="none" stroke=${scheme.onAccent} stroke-width="2.1"></path>`
  }
}
