// How the page talks to the server: as a guest whose token this browser keeps,
// and again with the same idempotency key when no answer came.
import { createSession, type Problem } from '@rowlock/client'
import { createClient, createConfig } from '@rowlock/client/client'

export const client = createClient(createConfig({ baseUrl: '/api/v1' }))

const tokenAt = 'rowlock-session'

interface Session {
  token: string
  expiresAt: string
}

function kept(): Session | undefined {
  try {
    const s = JSON.parse(localStorage.getItem(tokenAt) ?? 'null') as Session | null
    return s && Date.parse(s.expiresAt) > Date.now() + 60_000 ? s : undefined
  } catch {
    return undefined
  }
}

/** The header of the guest that this browser is, if it is one. */
export const authorization = (): string | undefined => {
  const have = kept()
  return have && `Bearer ${have.token}`
}

/** Whether this browser has been a guest before, and may have bookings. */
export const known = () => kept() !== undefined

/** The guest's token; the first call makes a guest. Two tabs make one between them. */
async function token(): Promise<string> {
  const have = kept()
  if (have) return have.token
  const make = async () => {
    const again = kept()
    if (again) return again.token
    const { data, error } = await createSession({ client })
    if (!data) throw error ?? new TypeError('no answer')
    localStorage.setItem(tokenAt, JSON.stringify({ token: data.token, expiresAt: data.expiresAt }))
    return data.token
  }
  return navigator.locks ? navigator.locks.request(tokenAt, make) : make()
}

export const newKey = () => {
  const b = crypto.getRandomValues(new Uint8Array(16))
  b[6] = (b[6]! & 0x0f) | 0x40
  b[8] = (b[8]! & 0x3f) | 0x80
  return [...b].map((n) => n.toString(16).padStart(2, '0')).join('')
}

export interface Answer<T> {
  data?: T | undefined
  error?: unknown
  response?: Response | undefined
}

/** What was answered; problem says why nothing was done, undefined with no data: there was no answer. */
export interface Outcome<T> {
  data?: T
  problem?: Problem
  status: number // 0: no answer
}

const isProblem = (e: unknown): e is Problem => typeof e === 'object' && e !== null && 'code' in e

const signed = async () => ({ Authorization: `Bearer ${await token()}` })

/** Asks as the guest. A token that the server does not know any more is replaced once. */
export async function ask<T>(call: (headers: { Authorization: string }) => Promise<Answer<T>>): Promise<Outcome<T>> {
  for (let turn = 0; ; turn++) {
    let a: Answer<T>
    try {
      a = await call(await signed())
    } catch (e) {
      a = { error: e }
    }
    const status = a.response?.status ?? 0
    if (status === 401 && turn === 0) {
      localStorage.removeItem(tokenAt)
      continue
    }
    if (a.response?.ok) return { data: a.data as T, status }
    return isProblem(a.error) ? { problem: a.error, status } : { status }
  }
}

const patience = 90_000

/**
 * Asks for something that must happen once. While there is no answer, or the
 * server says to come again, the same request is sent with the same key.
 * waiting is told when that begins and ends.
 */
export async function once<T>(
  key: string,
  call: (headers: { Authorization: string; 'Idempotency-Key': string }) => Promise<Answer<T>>,
  waiting: (so: boolean) => void,
): Promise<Outcome<T>> {
  const end = performance.now() + patience
  for (let turn = 0; ; turn++) {
    let retryAfter = 0
    const out = await ask<T>(async (headers) => {
      const a = await call({ ...headers, 'Idempotency-Key': key })
      retryAfter = Number(a.response?.headers.get('Retry-After') ?? 0)
      return a
    })
    const again = out.status === 0 || out.status === 429 || out.status === 503 || out.problem?.code === 'IDEMPOTENCY_KEY_IN_USE' ||
      (out.status >= 500 && !out.problem)
    if (!again || performance.now() > end) {
      if (turn > 0) waiting(false)
      return out
    }
    waiting(true)
    // Not all at once: many pages may have been told the same.
    await pause(Math.max(retryAfter * 1000, Math.min(500 * 2 ** turn, 8000)) * (1 + Math.random() / 2))
  }
}

/** Waits so long, or until there is a connection again. */
function pause(millis: number): Promise<void> {
  return new Promise((done) => {
    const over = () => {
      clearTimeout(timer)
      window.removeEventListener('online', over)
      done()
    }
    const timer = setTimeout(over, millis)
    window.addEventListener('online', over)
  })
}
