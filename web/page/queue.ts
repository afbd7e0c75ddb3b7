// One's place in a waiting room, as its stream and, where there is none, the
// entry tell.
import {
  readQueueEntry, streamQueueEntry, type QueueAdmittedEvent, type QueueEndedEvent, type QueueEntry, type QueueExpiredEvent, type QueuePositionEvent,
} from '@rowlock/client'
import { Follower, type StreamOptions } from '../map/follow.ts'
import { ask, client } from './api.ts'

/** What a place has come to. until is by performance.now. */
export type Turn =
  | { status: 'waiting'; position?: number | undefined; seconds?: number | undefined; reason?: string | undefined }
  | { status: 'admitted'; token: string; until: number; used: boolean }
  | { status: 'expired'; until: number }
  | { status: 'ended'; reason: string }

/** The instant that the server's clock will show, by ours. */
const instant = (at: string, serverTime: string) => performance.now() + Date.parse(at) - Date.parse(serverTime)

function turnOf(e: QueueEntry): Turn {
  switch (e.status) {
    case 'waiting':
      if (!e.open && e.reason !== 'before_sales' && e.reason !== 'paused') return { status: 'ended', reason: e.reason ?? 'closed' }
      return { status: 'waiting', position: e.position, seconds: e.estimatedWaitSeconds, reason: e.reason }
    case 'admitted':
      if (!e.admission) break
      return { status: 'admitted', token: e.admission.token, until: instant(e.admission.expiresAt, e.serverTime), used: e.admission.used }
    case 'expired':
      if (!e.returnUntil) break
      return { status: 'expired', until: instant(e.returnUntil, e.serverTime) }
    case 'left':
      return { status: 'ended', reason: 'left' }
  }
  return { status: 'ended', reason: 'turn_over' }
}

export class Place extends Follower {
  // A hidden tab hears, too, when it is its turn.
  protected readonly rests = false
  private entry: QueueEntry | undefined

  /** tell gets the entry, too, as it was read last: a stream says only what changes. */
  constructor(
    readonly entryId: string,
    private readonly tell: (turn: Turn, entry: QueueEntry | undefined) => void,
  ) {
    super()
    document.addEventListener('visibilitychange', this.woken)
    this.ended.signal.addEventListener('abort', () => document.removeEventListener('visibilitychange', this.woken))
  }

  /** A phone that slept has heard nothing. */
  private readonly woken = () => {
    if (document.visibilityState === 'visible') void this.ask()
  }

  private say(turn: Turn) {
    if (this.ended.signal.aborted) return
    if (turn.status === 'ended') this.stop()
    this.tell(turn, this.entry)
  }

  override async ask() {
    const { data, problem } = await ask<QueueEntry>((headers) => readQueueEntry({ client, headers, path: { entryId: this.entryId } }))
    if (data) this.entry = data
    if (data) this.say(turnOf(data))
    else if (problem?.code === 'NOT_FOUND') this.say({ status: 'ended', reason: 'left' })
  }

  /** One tab has the stream, as browsers allow few; others ask. */
  protected override async stream(): Promise<number | undefined> {
    const follow = () => super.stream()
    if (!navigator.locks) return follow()
    return await navigator.locks.request(`rowlock-queue-${this.entryId}`, { ifAvailable: true }, async (lock) => (lock ? follow() : undefined))
  }

  protected async open(o: StreamOptions) {
    if (!this.entry) await this.ask()
    if (!this.entry) throw new TypeError('no answer')
    return streamQueueEntry({ ...o, client, path: { entryId: this.entryId }, query: { streamToken: this.entry.streamToken } })
  }

  protected hear(event: string, data: never) {
    switch (event) {
      case 'position': {
        const { position, estimatedWaitSeconds, reason }: QueuePositionEvent = data
        this.say({ status: 'waiting', position, seconds: estimatedWaitSeconds, reason })
        break
      }
      case 'admitted': {
        const { token, expiresAt, serverTime, used }: QueueAdmittedEvent = data
        this.say({ status: 'admitted', token, until: instant(expiresAt, serverTime), used })
        break
      }
      case 'expired': {
        const { returnUntil, serverTime }: QueueExpiredEvent = data
        this.say({ status: 'expired', until: instant(returnUntil, serverTime) })
        break
      }
      case 'ended':
        this.say({ status: 'ended', reason: (data as QueueEndedEvent).reason })
    }
  }
}
