// Where everything is: a plan's seats with their places, sections and rows,
// and which of them is at a point. A plan without coordinates is laid out from
// its rows.
import type { Plan } from '@rowlock/client'
import type { Letter } from './shapes.ts'

export interface Seat {
  no: number // place in the plan, and in the statuses
  seatId: string
  label: string
  section: string
  row: string
  seat: string
  category: number // place in Hall.categories
  kind: string
  features: readonly string[]
  x: number
  y: number
  status: Letter
}

export interface Row {
  name: string
  seats: Seat[] // from left to right
}

export interface Section {
  name: string
  rows: Row[]
  count: number
  box: Box
}

export interface Box {
  x0: number
  y0: number
  x1: number
  y1: number
}

const nothing = (): Box => ({ x0: Infinity, y0: Infinity, x1: -Infinity, y1: -Infinity })

function stretch(b: Box, x: number, y: number) {
  b.x0 = Math.min(b.x0, x)
  b.y0 = Math.min(b.y0, y)
  b.x1 = Math.max(b.x1, x)
  b.y1 = Math.max(b.y1, y)
}

/** A plan made ready to be drawn. */
export class Hall {
  readonly seats: Seat[]
  readonly sections: Section[] = []
  readonly categories: string[]
  readonly drawing: Plan['drawing']
  readonly areas: Plan['areas']
  readonly byId = new Map<string, Seat>()
  readonly box = nothing()
  /** The distance between neighbours, in the plan's units. */
  readonly pitch: number
  private readonly cells = new Map<number, Seat[]>()

  constructor(plan: Plan) {
    this.drawing = plan.drawing
    this.areas = plan.areas
    this.categories = plan.categories.map((c) => c.name)
    const category = new Map(this.categories.map((name, i) => [name, i]))
    const at = (name: string) => {
      let i = category.get(name)
      if (i === undefined) {
        category.set(name, (i = this.categories.push(name) - 1))
      }
      return i
    }
    const sections = new Map<string, { section: Section; rows: Map<string, Row>; drawn: boolean }>()
    this.seats = plan.seats.map((s, no) => {
      const seat: Seat = {
        no, seatId: s.seatId, label: s.label, section: s.section, row: s.row, seat: s.seat, category: at(s.category),
        kind: s.kind, features: s.features ?? [], x: s.x ?? NaN, y: s.y ?? NaN, status: 'a',
      }
      this.byId.set(seat.seatId, seat)
      let entry = sections.get(seat.section)
      if (!entry) {
        entry = { section: { name: seat.section, rows: [], count: 0, box: nothing() }, rows: new Map(), drawn: true }
        sections.set(seat.section, entry)
        this.sections.push(entry.section)
      }
      let row = entry.rows.get(seat.row)
      if (!row) {
        row = { name: seat.row, seats: [] }
        entry.rows.set(seat.row, row)
        entry.section.rows.push(row)
      }
      row.seats.push(seat)
      entry.section.count++
      entry.drawn &&= s.x !== undefined && s.y !== undefined
      return seat
    })
    for (const a of plan.areas) at(a.category)

    const placed = this.seats.filter((s) => sections.get(s.section)!.drawn)
    this.pitch = spacing([...sections.values()].filter((e) => e.drawn).map((e) => e.section)) || 20
    for (const s of placed) stretch(this.box, s.x, s.y)
    this.outlines()
    for (const { section, drawn } of sections.values()) if (!drawn) this.layOut(section)
    for (const s of this.seats) {
      stretch(this.box, s.x, s.y)
      stretch(sections.get(s.section)!.section.box, s.x, s.y)
      const key = this.cell(s.x, s.y)
      const cell = this.cells.get(key)
      if (cell) cell.push(s)
      else this.cells.set(key, [s])
    }
    // Right is right, wherever the plan begins to count.
    for (const section of this.sections) {
      for (const { seats } of section.rows) {
        const first = seats[0]!, last = seats[seats.length - 1]!
        if (last.x < first.x || (last.x === first.x && last.y < first.y)) seats.reverse()
      }
    }
    if (this.box.x0 > this.box.x1) Object.assign(this.box, { x0: 0, y0: 0, x1: 100, y1: 60 })
  }

  /** What is drawn besides seats takes room, too. */
  private outlines() {
    for (const d of this.drawing) {
      if (d.points?.length) for (const p of d.points) stretch(this.box, p.x, p.y)
      else {
        const w = (d.width ?? 0) / 2, h = (d.height ?? 0) / 2
        if (d.kind !== 'text') {
          stretch(this.box, d.x - w, d.y - h)
          stretch(this.box, d.x + w, d.y + h)
        } else stretch(this.box, d.x, d.y)
      }
    }
    for (const a of this.areas) for (const p of a.outline ?? []) stretch(this.box, p.x, p.y)
  }

  /** Puts a section without coordinates below what is there, a line a row. */
  private layOut(section: Section) {
    const step = this.pitch
    const empty = this.box.x0 > this.box.x1
    const widest = Math.max(...section.rows.map((r) => r.seats.length))
    const middle = empty ? (widest * step) / 2 : (this.box.x0 + this.box.x1) / 2
    let y = empty ? 0 : this.box.y1 + step * 3
    for (const row of section.rows) {
      let x = middle - ((row.seats.length - 1) * step) / 2
      for (const seat of row.seats) {
        seat.x = x
        seat.y = y
        stretch(this.box, x, y)
        x += step
      }
      y += step * 1.25
    }
  }

  private cell(x: number, y: number) {
    const size = this.pitch * 4
    return Math.floor(x / size) * 65_536 + Math.floor(y / size)
  }

  /** Calls f with every seat that may lie in a box. */
  within(b: Box, f: (seat: Seat) => void) {
    const size = this.pitch * 4
    const x0 = Math.floor(b.x0 / size), x1 = Math.floor(b.x1 / size), y0 = Math.floor(b.y0 / size), y1 = Math.floor(b.y1 / size)
    if ((x1 - x0 + 1) * (y1 - y0 + 1) >= this.cells.size) {
      for (const s of this.seats) if (s.x >= b.x0 && s.x <= b.x1 && s.y >= b.y0 && s.y <= b.y1) f(s)
      return
    }
    for (let cx = x0; cx <= x1; cx++) {
      for (let cy = y0; cy <= y1; cy++) for (const s of this.cells.get(cx * 65_536 + cy) ?? []) f(s)
    }
  }

  /** The seat at a point, if there is one. */
  hit(x: number, y: number): Seat | undefined {
    let best: Seat | undefined, nearest = this.pitch * 0.55
    this.within({ x0: x - nearest, y0: y - nearest, x1: x + nearest, y1: y + nearest }, (s) => {
      const d = Math.hypot(s.x - x, s.y - y)
      if (d < nearest) {
        nearest = d
        best = s
      }
    })
    return best
  }

  /** The standing area at a point, if there is one. */
  hitArea(x: number, y: number) {
    return this.areas.find((a) => {
      const p = a.outline ?? []
      let inside = false
      for (let i = 0, j = p.length - 1; i < p.length; j = i++) {
        const a = p[i]!, b = p[j]!
        if (a.y > y !== b.y > y && x < ((b.x - a.x) * (y - a.y)) / (b.y - a.y) + a.x) inside = !inside
      }
      return inside
    })
  }
}

/** The usual distance of neighbours: a low one of all, as aisles lie between some. */
function spacing(sections: Section[]): number {
  const all: number[] = []
  for (const { rows } of sections) {
    for (const { seats } of rows) {
      for (let i = 1; i < seats.length; i++) {
        const d = Math.hypot(seats[i]!.x - seats[i - 1]!.x, seats[i]!.y - seats[i - 1]!.y)
        if (d > 0) all.push(d)
      }
    }
  }
  return all.sort((a, b) => a - b)[Math.floor(all.length / 4)] ?? 0
}
