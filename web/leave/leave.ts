// Lets go of a hold when its page is closed. A page that ends cannot know
// whether it is closed or loaded again, so it tells this service worker, which
// waits a little for it to come back, and asks whether another tab has the same
// hold. Nothing else is done here: no request of the page goes through it.
interface Leave {
  leave?: string // a reservation
  stay?: string // it is needed after all
  headers?: Record<string, string>
  graceMillis?: number
}

// The library of service workers' types does not go together with that of documents.
interface Worker {
  addEventListener(type: string, f: (e: { data: Leave; waitUntil(p: Promise<unknown>): void }) => void): void
  skipWaiting(): Promise<void>
  clients: {
    claim(): Promise<void>
    matchAll(o: { includeUncontrolled: boolean }): Promise<{ postMessage(message: { leaving: string }): void }[]>
  }
}
const self_ = globalThis as unknown as Worker
const leaving = new Map<string, () => void>()

self_.addEventListener('install', (e) => e.waitUntil(self_.skipWaiting()))
self_.addEventListener('activate', (e) => e.waitUntil(self_.clients.claim()))
self_.addEventListener('message', (e) => {
  const { leave, stay, headers, graceMillis } = e.data
  if (stay) leaving.get(stay)?.()
  if (!leave) return
  leaving.get(leave)?.()
  e.waitUntil(new Promise<void>((done) => {
    const timer = setTimeout(() => {
      leaving.delete(leave)
      void fetch(`/api/v1/reservations/${leave}`, { method: 'DELETE', headers: headers ?? {} }).catch(() => undefined).finally(done)
    }, graceMillis ?? 0)
    leaving.set(leave, () => {
      clearTimeout(timer)
      leaving.delete(leave)
      done()
    })
  }))
  e.waitUntil(self_.clients.matchAll({ includeUncontrolled: true }).then((all) => {
    for (const client of all) client.postMessage({ leaving: leave })
  }))
})
