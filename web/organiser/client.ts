// The server as the organiser's pages see it: the generated client with the
// browser's cookie, errors that people can read, and writes that are sent again
// with the same key.
import type { Problem } from '@rowlock/client'
import { createClient, createConfig } from '@rowlock/client/client'

/** Nothing is taken from the browser's cache: it may be what strangers see. */
export const client = createClient(createConfig({ baseUrl: '/api/v1', cache: 'no-store', credentials: 'same-origin' }))

/** A refusal, or no answer at all (status 0). */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly problem: Partial<Problem>,
  ) {
    super(sentence(status, problem))
  }
}

function sentence(status: number, p: Partial<Problem>): string {
  if (status === 0) return 'The server cannot be reached.'
  const wrong = (p.violations ?? []).map((v) => `${v.field}: ${v.message}`).join('; ')
  return [p.detail || p.title || `The server answered ${status}.`, wrong].filter(Boolean).join(' ')
}

type Asked<T> = Promise<{ data?: T | undefined; error?: unknown; response?: Response | undefined }>

/** Tells whoever listens that the session is over. */
export const signedOut = new EventTarget()

/** The answer, or a Refusal. */
export async function answered<T>(asked: Asked<T>): Promise<T> {
  let got: Awaited<Asked<T>>
  try {
    got = await asked
  } catch {
    throw new Refusal(0, {})
  }
  if (got.error === undefined && got.response?.ok) return got.data as T
  const status = got.response?.status ?? 0
  if (status === 401) signedOut.dispatchEvent(new Event('over'))
  throw new Refusal(status, (typeof got.error === 'object' && got.error) || {})
}

/** A key for a write: a UUID version 4 without hyphens. */
export function newKey(): string {
  const b = crypto.getRandomValues(new Uint8Array(16))
  b[6] = (b[6]! & 0x0f) | 0x40
  b[8] = (b[8]! & 0x3f) | 0x80
  return Array.from(b, (v) => v.toString(16).padStart(2, '0')).join('')
}

/** Writes once, however often it has to be sent. */
export async function write<T>(ask: (headers: { 'Idempotency-Key': string }) => Asked<T>): Promise<T> {
  const key = newKey()
  for (let again = 0; ; again++) {
    try {
      return await answered(ask({ 'Idempotency-Key': key }))
    } catch (e) {
      const passing = e instanceof Refusal && (e.status === 0 || e.status === 503)
      if (!passing || again === 3) throw e
      await new Promise((done) => setTimeout(done, 300 * 2 ** again * (1 + Math.random())))
    }
  }
}

export const said = (e: unknown): string => (e instanceof Error ? e.message : String(e))

/** An amount in minor units, for people. */
export function money(amount: number, currency: string): string {
  if (!currency) return ''
  const format = new Intl.NumberFormat(undefined, { style: 'currency', currency })
  const digits = exponent(currency)
  return format.format(amount / 10 ** digits)
}

/** Digits of a currency's minor unit, as ISO 4217 has them. */
export function exponent(currency: string): number {
  const other: Record<string, number> = {
    BIF: 0, CLP: 0, DJF: 0, GNF: 0, ISK: 0, JPY: 0, KMF: 0, KRW: 0, PYG: 0, RWF: 0, UGX: 0, UYI: 0, VND: 0, VUV: 0, XAF: 0, XOF: 0, XPF: 0,
    BHD: 3, IQD: 3, JOD: 3, KWD: 3, LYD: 3, OMR: 3, TND: 3, CLF: 4, UYW: 4,
  }
  return other[currency] ?? 2
}

export const count = (n: number): string => new Intl.NumberFormat().format(n)

/** So many of something that is counted in the English way. */
export const many = (n: number, one: string): string => `${count(n)} ${one}${n === 1 ? '' : 's'}`

/** An instant in the zone of the house. */
export function when(at: string, timeZone?: string): string {
  return new Intl.DateTimeFormat(undefined, {
    weekday: 'short', day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit', ...(timeZone ? { timeZone } : {}),
  }).format(new Date(at))
}

/** An instant to the second. */
export const moment = (at: string, timeZone?: string): string =>
  new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium', ...(timeZone ? { timeZone } : {}) }).format(new Date(at))

export const time = (at: string, timeZone?: string): string =>
  new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', ...(timeZone ? { timeZone } : {}) }).format(new Date(at))

/** The instant at which clocks in a zone show a local time such as 2026-11-27T20:00. */
export function instantOf(local: string, timeZone: string): string {
  const wanted = Date.parse(local + 'Z')
  const shows = (at: number) => {
    const parts = new Intl.DateTimeFormat('en-GB', {
      timeZone, hourCycle: 'h23', year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', second: '2-digit',
    }).formatToParts(new Date(at))
    const of = (type: string) => Number(parts.find((p) => p.type === type)!.value)
    return Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'), of('second'))
  }
  // Twice, since the first guess may be on the other side of a change of clocks.
  let at = wanted
  for (let i = 0; i < 2; i++) at += wanted - shows(at)
  return new Date(at).toISOString()
}
