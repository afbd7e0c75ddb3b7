// The page's side of leave/leave.ts.
import { newKey } from './api.ts'

const graceMillis = 8000

if ('serviceWorker' in navigator) navigator.serviceWorker.register('/leave.js', { type: 'module' }).catch(() => undefined)

/** Says that the page goes; unless it comes back, the hold is let go. */
export function leave(reservationId: string, authorization: string) {
  const headers = { Authorization: authorization, 'Idempotency-Key': newKey() }
  const worker = navigator.serviceWorker?.controller
  if (worker) worker.postMessage({ leave: reservationId, headers, graceMillis })
  // Without one there is no later: a page that is loaded again holds anew.
  else void fetch(`/api/v1/reservations/${reservationId}`, { method: 'DELETE', headers, keepalive: true }).catch(() => undefined)
}

/** Says that the page is here. */
export const stay = (reservationId: string) => navigator.serviceWorker?.controller?.postMessage({ stay: reservationId })
