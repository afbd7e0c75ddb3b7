// Draws a hall on a canvas, 20,000 seats at the screen's own rate. While the
// map moves, a picture of it, larger than the window, is moved; the picture is
// drawn again when the map has come to rest, or has left it. A seat that
// changes is drawn again alone.
import type { Box, Hall, Seat } from './layout.ts'
import { colourOf, drawChosen, drawSeat, type Scheme } from './shapes.ts'

/** From the plan to the window's pixels: a point q of the plan lies at q·k + x. */
export interface View {
  x: number
  y: number
  k: number
}

const margin = 0.35 // of the window, on each side of the picture
const restMillis = 110
const spritesMax = 200
const plainBelow = 5 // pixels of a seat below which it is a mere dot

export interface Marks {
  chosen: Iterable<Seat>
  focus?: Seat | undefined
  hover?: Seat | undefined
}

export class Painter {
  private colours!: Scheme
  private hall: Hall | undefined
  private readonly c: CanvasRenderingContext2D
  private readonly picture = document.createElement('canvas')
  private readonly p: CanvasRenderingContext2D
  private pictured: View | undefined // undefined: it must be drawn
  private view: View = { x: 0, y: 0, k: 1 }
  private width = 1
  private height = 1
  private ratio = 1
  private frame = 0
  private rest: ReturnType<typeof setTimeout> | undefined
  private sprites = new Map<string, HTMLCanvasElement>()
  private marks: Marks = { chosen: [] }
  /** Called after the first frame with seats. */
  painted: (() => void) | undefined

  set scheme(s: Scheme) {
    this.colours = s
    this.sprites.clear()
    this.again()
  }

  get scheme(): Scheme {
    return this.colours
  }

  constructor(private readonly canvas: HTMLCanvasElement) {
    this.c = canvas.getContext('2d')!
    this.p = this.picture.getContext('2d')!
  }

  show(hall: Hall) {
    this.hall = hall
    this.again()
  }

  /** Sets the window's size in CSS pixels. */
  resize(width: number, height: number) {
    this.ratio = Math.min(window.devicePixelRatio || 1, 2)
    this.width = Math.max(1, width)
    this.height = Math.max(1, height)
    this.canvas.width = Math.round(this.width * this.ratio)
    this.canvas.height = Math.round(this.height * this.ratio)
    this.again()
  }

  /** Draws all of it anew, at the next frame. */
  again() {
    this.pictured = undefined
    this.ask()
  }

  move(view: View) {
    this.view = view
    this.ask()
    clearTimeout(this.rest)
    this.rest = setTimeout(() => {
      if (this.pictured && this.pictured.k !== this.view.k) this.again()
    }, restMillis)
  }

  mark(marks: Marks) {
    this.marks = marks
    this.ask()
  }

  stop() {
    cancelAnimationFrame(this.frame)
    clearTimeout(this.rest)
    this.frame = 0
  }

  /** Draws seats that changed. */
  changed(seats: Iterable<Seat>) {
    const view = this.pictured
    if (!view || !this.hall) return
    const half = (this.hall.pitch * view.k * this.ratio) / 2
    for (const s of seats) {
      const x = s.x * view.k * this.ratio + view.x, y = s.y * view.k * this.ratio + view.y
      this.p.clearRect(x - half, y - half, half * 2, half * 2)
      if (half < 2 || this.hall.areas.length || this.hall.drawing.length) {
        // What lies behind it, or beside it within the same pixel, would be gone.
        this.pictured = undefined
        break
      }
      this.seat(s, x, y, half * 0.84)
    }
    this.ask()
  }

  private ask() {
    if (!this.frame) this.frame = requestAnimationFrame(() => this.paint())
  }

  private paint() {
    this.frame = 0
    const { c, hall, ratio, view } = this
    if (!hall) return
    if (!this.covers()) this.draw()
    const from = this.pictured!
    const scale = view.k / from.k
    c.setTransform(1, 0, 0, 1, 0, 0)
    c.clearRect(0, 0, this.canvas.width, this.canvas.height)
    c.imageSmoothingEnabled = scale !== 1
    // A point q of the plan lies at q·from.k·ratio + from.x in the picture, and
    // at (q·view.k + view.x)·ratio in the window.
    c.drawImage(
      this.picture, view.x * ratio - from.x * scale, view.y * ratio - from.y * scale,
      this.picture.width * scale, this.picture.height * scale,
    )
    this.overlay()
    if (this.painted) {
      const painted = this.painted
      this.painted = undefined
      painted()
    }
  }

  /** Whether the picture still serves for this view. */
  private covers(): boolean {
    const from = this.pictured
    if (!from) return false
    const scale = this.view.k / from.k
    if (scale < 0.5 || scale > 2) return false
    const k = this.view.k * this.ratio, vx = this.view.x * this.ratio, vy = this.view.y * this.ratio
    const left = vx - from.x * scale, top = vy - from.y * scale
    const hall = this.outer()
    // Beyond the hall there is nothing to be seen.
    return left <= Math.max(0, hall.x0 * k + vx) + 1 && top <= Math.max(0, hall.y0 * k + vy) + 1 &&
      left + this.picture.width * scale >= Math.min(this.canvas.width, hall.x1 * k + vx) - 1 &&
      top + this.picture.height * scale >= Math.min(this.canvas.height, hall.y1 * k + vy) - 1
  }

  private outer(): Box {
    const b = this.hall!.box, p = this.hall!.pitch
    return { x0: b.x0 - p, y0: b.y0 - p, x1: b.x1 + p, y1: b.y1 + p }
  }

  private seat(s: Seat, x: number, y: number, r: number) {
    const size = Math.ceil(r * 2 + 2)
    const key = `${s.category}${s.status}${size}`
    let sprite = this.sprites.get(key)
    if (!sprite) {
      sprite = document.createElement('canvas')
      sprite.width = sprite.height = size
      drawSeat(sprite.getContext('2d')!, this.scheme, s.category, s.status, size / 2, size / 2, size / 2 - 1)
      this.sprites.set(key, sprite)
    }
    this.p.drawImage(sprite, Math.round(x - size / 2), Math.round(y - size / 2))
  }

  /** Draws the picture for the present view. */
  private draw() {
    const { p, hall, ratio, view } = this
    if (!hall) return
    const mx = Math.round(this.canvas.width * margin), my = Math.round(this.canvas.height * margin)
    const w = this.canvas.width + 2 * mx, h = this.canvas.height + 2 * my
    if (this.picture.width !== w || this.picture.height !== h) {
      this.picture.width = w
      this.picture.height = h
    }
    const k = view.k * ratio
    const at: View = { k: view.k, x: Math.round(view.x * ratio) + mx, y: Math.round(view.y * ratio) + my }
    this.pictured = at
    if (this.sprites.size > spritesMax) this.sprites.clear()
    p.setTransform(1, 0, 0, 1, 0, 0)
    p.clearRect(0, 0, w, h)
    this.behind(at, k)

    const box = { x0: -at.x / k - hall.pitch, y0: -at.y / k - hall.pitch, x1: (w - at.x) / k + hall.pitch, y1: (h - at.y) / k + hall.pitch }
    const size = hall.pitch * k
    const r = (size / 2) * 0.84
    if (size / ratio >= plainBelow) {
      hall.within(box, (s) => this.seat(s, s.x * k + at.x, s.y * k + at.y, r))
      if (size / ratio >= 24) this.numbers(box, at, k, size)
      this.rowNames(at, k, size)
      return
    }
    // Small ones are dots: what is free large and coloured, the rest small and grey.
    const colours: Seat[][] = hall.categories.map(() => [])
    const gone: Seat[] = []
    hall.within(box, (s) => (s.status === 'a' ? colours[s.category]! : gone).push(s))
    const side = Math.max(1, size * 0.82)
    colours.forEach((seats, category) => {
      p.fillStyle = colourOf(this.scheme, category)
      for (const s of seats) p.fillRect(s.x * k + at.x - side / 2, s.y * k + at.y - side / 2, side, side)
    })
    const little = Math.max(0.8, size * 0.36)
    p.fillStyle = this.scheme.gone
    for (const s of gone) p.fillRect(s.x * k + at.x - little / 2, s.y * k + at.y - little / 2, little, little)
  }

  private numbers(box: Box, at: View, k: number, size: number) {
    const { p, scheme } = this
    p.font = `600 ${Math.round(size * 0.3)}px system-ui, sans-serif`
    p.textAlign = 'center'
    p.textBaseline = 'middle'
    p.fillStyle = scheme.ground
    this.hall!.within(box, (s) => {
      if (s.status === 'a') p.fillText(s.seat, s.x * k + at.x, s.y * k + at.y + size * 0.02, size * 0.62)
    })
  }

  private rowNames(at: View, k: number, size: number) {
    const { p, scheme, hall } = this
    if (size / this.ratio < 11) return
    p.font = `${Math.round(Math.min(size * 0.5, 14 * this.ratio))}px system-ui, sans-serif`
    p.textAlign = 'center'
    p.textBaseline = 'middle'
    p.fillStyle = scheme.soft
    for (const section of hall!.sections) {
      for (const row of section.rows) {
        const first = row.seats[0]!, second = row.seats[1] ?? { x: first.x + hall!.pitch, y: first.y }
        const d = Math.hypot(second.x - first.x, second.y - first.y) || 1
        const x = (first.x - ((second.x - first.x) / d) * hall!.pitch) * k + at.x
        const y = (first.y - ((second.y - first.y) / d) * hall!.pitch) * k + at.y
        if (row.name && x > 0 && y > 0 && x < this.picture.width && y < this.picture.height) p.fillText(row.name, x, y, size)
      }
    }
  }

  /** Stage, walls, areas and whatever else the plan draws. */
  private behind(at: View, k: number) {
    const { p, scheme, hall } = this
    const X = (x: number) => x * k + at.x, Y = (y: number) => y * k + at.y
    const dark = scheme.ground !== '#ffffff'
    for (const d of hall!.drawing) {
      p.save()
      p.translate(X(d.x), Y(d.y))
      if (d.turn) p.rotate((d.turn * Math.PI) / 180)
      // The plan's colours are for paper.
      p.fillStyle = dark ? scheme.line : d.color || scheme.line
      const w = (d.width ?? 0) * k, h = (d.height ?? 0) * k
      switch (d.kind) {
        case 'rectangle':
          p.fillRect(-w / 2, -h / 2, w, h)
          break
        case 'circle':
        case 'ellipse':
          p.beginPath()
          p.ellipse(0, 0, w / 2, (h || w) / 2, 0, 0, 2 * Math.PI)
          p.fill()
          break
        case 'polygon':
          p.beginPath()
          for (const q of d.points ?? []) p.lineTo((q.x - d.x) * k, (q.y - d.y) * k)
          p.closePath()
          p.fill()
          break
        case 'text': {
          const px = Math.max((d.height || hall!.pitch) * k, 0)
          if (px >= 6 * this.ratio) {
            p.font = `600 ${px}px system-ui, sans-serif`
            p.textAlign = 'center'
            p.textBaseline = 'middle'
            p.fillStyle = dark ? scheme.soft : d.color || scheme.soft
            p.fillText(d.text ?? '', 0, 0)
          }
        }
      }
      p.restore()
    }
    for (const a of hall!.areas) {
      if (!a.outline?.length) continue
      p.beginPath()
      for (const q of a.outline) p.lineTo(X(q.x), Y(q.y))
      p.closePath()
      const colour = colourOf(scheme, hall!.categories.indexOf(a.category))
      p.fillStyle = colour + '22'
      p.strokeStyle = colour
      p.lineWidth = 1.5 * this.ratio
      p.fill()
      p.stroke()
      const cx = a.outline.reduce((s, q) => s + q.x, 0) / a.outline.length
      const cy = a.outline.reduce((s, q) => s + q.y, 0) / a.outline.length
      const xs = a.outline.map((q) => q.x)
      const room = (Math.max(...xs) - Math.min(...xs)) * k * 0.9
      let px = 14 * this.ratio
      p.font = `600 ${px}px system-ui, sans-serif`
      px *= Math.min(1, room / p.measureText(a.name).width)
      if (px < 7 * this.ratio) continue // its name is in the list below
      p.font = `600 ${px}px system-ui, sans-serif`
      p.textAlign = 'center'
      p.textBaseline = 'middle'
      p.fillStyle = scheme.ink
      p.fillText(a.name, X(cx), Y(cy))
    }
  }

  /** What is chosen, pointed at and focused, and the sections' names from afar. */
  private overlay() {
    const { c, view, ratio, scheme, hall } = this
    const k = view.k * ratio
    const X = (s: Seat) => s.x * k + view.x * ratio, Y = (s: Seat) => s.y * k + view.y * ratio
    const r = Math.max((hall!.pitch * k * 0.84) / 2, 5 * ratio)
    const named = hall!.drawing.some((d) => d.kind === 'text')
    if (!named && hall!.pitch * view.k < 12 && hall!.sections.length > 1) {
      c.font = `600 ${Math.round(13 * ratio)}px system-ui, sans-serif`
      c.textAlign = 'center'
      c.textBaseline = 'middle'
      c.lineWidth = 4 * ratio
      c.lineJoin = 'round'
      c.strokeStyle = scheme.ground
      c.fillStyle = scheme.ink
      for (const s of hall!.sections) {
        const x = ((s.box.x0 + s.box.x1) / 2) * k + view.x * ratio, y = (s.box.y0 - hall!.pitch) * k + view.y * ratio
        c.strokeText(s.name, x, y)
        c.fillText(s.name, x, y)
      }
    }
    for (const s of this.marks.chosen) drawChosen(c, scheme, X(s), Y(s), r)
    for (const s of [this.marks.hover, this.marks.focus]) {
      if (!s) continue
      c.beginPath()
      c.arc(X(s), Y(s), r * 1.5, 0, 2 * Math.PI)
      c.strokeStyle = scheme.ink
      c.lineWidth = (s === this.marks.focus ? 3 : 1.5) * ratio
      c.stroke()
    }
  }
}
