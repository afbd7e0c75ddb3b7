// The page's side of leave/leave.ts: what this tab holds is let go when it is
// closed, whichever page it shows then.
import { authorization, newKey } from './api.ts'
import { holds } from './cart.ts'

const graceMillis = 8000

let registration: ServiceWorkerRegistration | undefined
if ('serviceWorker' in navigator) {
  navigator.serviceWorker.register('/leave.js', { type: 'module' }).catch(() => undefined)
  void navigator.serviceWorker.ready.then((r) => {
    registration = r
    stay()
  })
  // Another tab goes that had the same hold: a tab can be duplicated.
  navigator.serviceWorker.addEventListener('message', (e: MessageEvent<{ leaving?: string }>) => {
    if (here && e.data.leaving && holds().some((h) => h.reservationId === e.data.leaving)) stay()
  })
}

let here = true

addEventListener('pagehide', () => {
  here = false
  const signed = authorization()
  if (!signed) return
  for (const { reservationId, stays } of holds()) {
    if (stays) continue
    const headers = { Authorization: signed, 'Idempotency-Key': newKey() }
    const worker = registration?.active
    if (worker) worker.postMessage({ leave: reservationId, headers, graceMillis })
    // Without one there is no later: a page that is loaded again holds anew.
    else void fetch(`/api/v1/reservations/${reservationId}`, { method: 'DELETE', headers, keepalive: true }).catch(() => undefined)
  }
})

addEventListener('pageshow', (e) => {
  here = true
  if (e.persisted) stay()
})

/** Says that the page is here. */
function stay() {
  for (const { reservationId } of holds()) registration?.active?.postMessage({ stay: reservationId })
}
