// Keeps a show's statuses right: by the stream, and by asking again and again
// where there is none. Nothing is asked while nobody looks.
import { readAvailability, watchShow, type Availability } from '@rowlock/client'
import type { Client } from '@rowlock/client/client'

export interface AreaNews {
  areaId: string
  available: number
}

/** What a stream tells. */
export interface Listener {
  /** The whole map. */
  snapshot(version: number, statuses: string, areas: AreaNews[]): void
  /** Some places, as they are now. */
  changes(version: number, seats: { seatId: string; status: string }[], areas: AreaNews[]): void
  /** How the news come now. */
  condition(now: 'live' | 'asking' | 'away'): void
}

const silenceMillis = 45_000 // a stream that says nothing for so long is dead
const askMillis = 4_000
const streamAgainMax = 60_000

const apart = (millis: number) => millis * (0.75 + Math.random() / 2)

export class Live {
  private readonly ended = new AbortController()
  private last: string | undefined // id of the last event
  private etag: string | undefined

  constructor(
    private readonly client: Client,
    private readonly showId: string,
    private readonly listener: Listener,
  ) {}

  stop() {
    this.ended.abort()
  }

  /** What was read otherwise, to go on from. */
  from(etag: string | null) {
    this.etag = etag ?? undefined
  }

  async run() {
    let again = 1000
    let tryAt = 0
    while (!this.ended.signal.aborted) {
      await this.looking()
      if (performance.now() >= tryAt) {
        const wait = await this.stream()
        if (this.ended.signal.aborted) return
        if (wait !== undefined) { // it worked, and has ended
          again = 1000
          tryAt = 0
          await this.sleep(apart(wait))
          continue
        }
        tryAt = performance.now() + apart(again)
        again = Math.min(again * 2, streamAgainMax)
      }
      this.listener.condition((await this.ask()) ? 'asking' : 'away')
      await this.sleep(apart(askMillis))
    }
  }

  /** Waits until somebody looks at the page. */
  private looking(): Promise<void> {
    if (document.visibilityState !== 'hidden') return Promise.resolve()
    return new Promise((done) => {
      const look = () => {
        if (document.visibilityState === 'hidden' && !this.ended.signal.aborted) return
        document.removeEventListener('visibilitychange', look)
        done()
      }
      document.addEventListener('visibilitychange', look)
      this.ended.signal.addEventListener('abort', look, { once: true })
    })
  }

  private sleep(millis: number): Promise<void> {
    return new Promise((done) => {
      const over = () => {
        clearTimeout(timer)
        window.removeEventListener('online', over)
        this.ended.signal.removeEventListener('abort', over)
        done()
      }
      const timer = setTimeout(over, millis)
      window.addEventListener('online', over)
      this.ended.signal.addEventListener('abort', over)
    })
  }

  /**
   * Follows the stream to its end, and answers with the time to wait before the
   * next; undefined: there was none.
   */
  private async stream(): Promise<number | undefined> {
    const one = new AbortController()
    const end = () => one.abort()
    const hide = () => {
      // Browsers allow six connections to a server, over all tabs.
      if (document.visibilityState === 'hidden') end()
    }
    let watch = setTimeout(end, silenceMillis)
    let wait: number | undefined
    this.ended.signal.addEventListener('abort', end)
    document.addEventListener('visibilitychange', hide)
    try {
      const { stream } = await watchShow({
        client: this.client,
        path: { showId: this.showId },
        headers: this.last === undefined ? {} : { 'Last-Event-ID': this.last },
        signal: one.signal,
        sseMaxRetryAttempts: 1,
        onSseEvent: ({ event, id, data }) => {
          clearTimeout(watch)
          watch = setTimeout(end, silenceMillis)
          wait ??= 1000
          this.hear(event ?? 'message', data as never)
          if (id) this.last = id
          if (event === 'reset') this.last = undefined // a snapshot follows
          if (event === 'closing') {
            wait = (data as { retryMs?: number }).retryMs ?? wait
            end()
          }
        },
      })
      for await (const _ of stream); // onSseEvent has it
    } catch {
      // It broke; what follows is the same.
    } finally {
      clearTimeout(watch)
      this.ended.signal.removeEventListener('abort', end)
      document.removeEventListener('visibilitychange', hide)
    }
    return wait
  }

  private hear(event: string, data: { version: number; statuses: string; seats?: []; areas?: AreaNews[]; stale?: boolean }) {
    switch (event) {
      case 'snapshot':
        this.listener.snapshot(data.version, data.statuses, data.areas ?? [])
        this.listener.condition('live')
        break
      case 'changes':
        this.listener.changes(data.version, data.seats ?? [], data.areas ?? [])
        this.listener.condition('live')
        break
      case 'heartbeat':
        this.listener.condition('live')
        break
      case 'stale': // the database is away; what is seen may have changed
        this.listener.condition(data.stale ? 'away' : 'live')
    }
  }

  /** Reads the map once, if it has changed; false: it could not be had. */
  private async ask(): Promise<boolean> {
    const { data, response } = await readAvailability({
      client: this.client,
      path: { showId: this.showId },
      headers: this.etag ? { 'If-None-Match': this.etag } : {},
      signal: this.ended.signal,
    })
    if (response?.status === 304) return true
    if (!data) return false
    this.etag = response?.headers.get('ETag') ?? undefined
    const a: Availability = data
    this.listener.snapshot(Number(a.version), a.statuses, a.areas)
    return !a.stale
  }
}
