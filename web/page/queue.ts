// The waiting room's three calls. They are asked for by their address, so that
// the page also works at a server that has none.
import type { Answer } from './api.ts'
import { client as at } from './api.ts'

/** A place in the line, as GET /queue/{entryId} tells. */
export interface QueueEntry {
  entryId: string
  status: 'waiting' | 'admitted' | 'expired' | 'left'
  position?: number
  estimatedWaitSeconds?: number
  open: boolean
  reason?: string
  admission?: { token: string; expiresAt: string }
}

type Call = (o: { client: typeof at; headers: Record<string, string>; path: Record<string, string> }) => Promise<Answer<QueueEntry>>
const call = (method: 'get' | 'post' | 'delete', url: string): Call => (o) => o.client[method]({ ...o, url }) as Promise<Answer<QueueEntry>>

export const joinQueue = call('post', '/shows/{showId}/queue')
export const readQueueEntry = call('get', '/queue/{entryId}')
export const leaveQueue = call('delete', '/queue/{entryId}')
