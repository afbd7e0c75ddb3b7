// Keeps a show's statuses right.
import { readAvailability, watchShow, type ChangesEvent, type ShowEvent, type SnapshotEvent, type StaleEvent } from '@rowlock/client'
import type { Client } from '@rowlock/client/client'
import { Follower, type StreamOptions } from './follow.ts'

export interface AreaNews {
  areaId: string
  available: number
}

/** What the show itself is like. */
export type ShowNews = Pick<ShowEvent, 'status' | 'soldOut' | 'saleOpen'>

/** What a stream tells. */
export interface Listener {
  /** The whole map. */
  snapshot(version: number, statuses: string, areas: AreaNews[]): void
  /** Some places, as they are now. */
  changes(version: number, seats: { seatId: string; status: string }[], areas: AreaNews[]): void
  /** The show; terms: also what is read elsewhere, such as prices, may have changed. */
  show?(now: ShowNews, terms: boolean): void
  /** How the news come now. */
  condition(now: 'live' | 'asking' | 'away'): void
}

export class Live extends Follower {
  protected readonly rests = true
  private last: string | undefined // id of the last event
  private etag: string | undefined
  private stale = false // the server's database is away; what is seen may have changed

  constructor(
    private readonly client: Client,
    private readonly showId: string,
    private readonly listener: Listener,
  ) {
    super()
  }

  /** What was read otherwise, to go on from. */
  from(etag: string | null) {
    this.etag = etag ?? undefined
  }

  protected open(o: StreamOptions) {
    this.stale = false
    return watchShow({
      ...o,
      client: this.client,
      path: { showId: this.showId },
      headers: this.last === undefined ? {} : { 'Last-Event-ID': this.last },
    })
  }

  protected hear(event: string, data: never, id: string | undefined) {
    switch (event) {
      case 'snapshot': {
        const now: SnapshotEvent = data
        this.stale = now.stale ?? false
        this.listener.snapshot(now.version, now.statuses, now.areas)
        this.listener.show?.(now, false)
        break
      }
      case 'changes': {
        const now: ChangesEvent = data
        this.listener.changes(now.version, now.seats, now.areas)
        break
      }
      case 'show':
        this.listener.show?.(data, true)
        break
      case 'stale':
        this.stale = (data as StaleEvent).stale
    }
    this.listener.condition(this.stale ? 'away' : 'live')
    if (id) this.last = id
    if (event === 'reset') this.last = undefined // a snapshot follows
  }

  /** Reads the map once, if it has changed. */
  protected async ask() {
    const { data, response } = await readAvailability({
      client: this.client,
      path: { showId: this.showId },
      headers: this.etag ? { 'If-None-Match': this.etag } : {},
      signal: this.ended.signal,
    })
    if (data) {
      this.etag = response?.headers.get('ETag') ?? undefined
      this.listener.snapshot(data.version, data.statuses, data.areas)
    }
    this.listener.condition(data?.stale || (!data && response?.status !== 304) ? 'away' : 'asking')
  }
}
