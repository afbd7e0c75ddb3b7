// Follows something that changes: by its stream of events, and by asking again
// and again where there is none.

/** What a generated function for a stream is to be called with. */
export interface StreamOptions {
  signal: AbortSignal
  sseMaxRetryAttempts: number
  onSseEvent(e: { event?: string; id?: string; data: unknown; retry?: number }): void
}

const silenceMillis = 45_000 // a stream that says nothing for so long is dead
const askMillis = 4_000
const streamAgainMillis = 1_000
const streamAgainMax = 60_000

const apart = (millis: number) => millis * (0.75 + Math.random() / 2)

export abstract class Follower {
  protected readonly ended = new AbortController()

  /** Nothing is asked, and no stream is open, while nobody looks at the page. */
  protected abstract readonly rests: boolean

  /** Opens the stream, by one of the generated functions. */
  protected abstract open(o: StreamOptions): Promise<{ stream: AsyncIterable<unknown> }>

  /** What one event of the stream says. */
  protected abstract hear(event: string, data: never, id: string | undefined): void

  /** Asks once how things are. */
  protected abstract ask(): Promise<void>

  stop() {
    this.ended.abort()
  }

  async run() {
    let again = streamAgainMillis
    let tryAt = 0
    while (!this.ended.signal.aborted) {
      if (this.rests) await this.looking()
      if (performance.now() >= tryAt) {
        const wait = await this.stream()
        if (this.ended.signal.aborted) return
        if (wait !== undefined) { // it worked, and has ended
          again = streamAgainMillis
          tryAt = 0
          await this.sleep(apart(wait))
          continue
        }
        tryAt = performance.now() + apart(again)
        again = Math.min(again * 2, streamAgainMax)
      }
      await this.ask()
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
  protected async stream(): Promise<number | undefined> {
    const one = new AbortController()
    const end = () => one.abort()
    const hide = () => {
      // Browsers allow six connections to a server, over all tabs.
      if (this.rests && document.visibilityState === 'hidden') end()
    }
    let watch = setTimeout(end, silenceMillis)
    let wait: number | undefined
    this.ended.signal.addEventListener('abort', end)
    document.addEventListener('visibilitychange', hide)
    try {
      const { stream } = await this.open({
        signal: one.signal,
        sseMaxRetryAttempts: 1,
        onSseEvent: ({ event, id, data, retry }) => {
          clearTimeout(watch)
          watch = setTimeout(end, silenceMillis)
          wait = retry ?? streamAgainMillis
          if (event === 'closing') {
            wait = (data as { retryMs?: number }).retryMs ?? wait
            end()
          } else this.hear(event ?? 'message', data as never, id)
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
}
