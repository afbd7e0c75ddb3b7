// The server as the organiser's pages see it: the generated client with the
// browser's cookie, errors that people can read, and writes that are sent again
// with the same key.
import type { Problem } from '@rowlock/client'
import { createClient, createConfig } from '@rowlock/client/client'
import { exponent, money as written } from '../strings/index.ts'

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

/** A UUID version 4. */
export function uuid(): string {
  const b = crypto.getRandomValues(new Uint8Array(16))
  b[6] = (b[6]! & 0x0f) | 0x40
  b[8] = (b[8]! & 0x3f) | 0x80
  const hex = Array.from(b, (v) => v.toString(16).padStart(2, '0')).join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

/** A key for a write: a UUID without hyphens. */
export const newKey = () => uuid().replaceAll('-', '')

/** Whether asking again may help, and nobody knows what was done. */
export const unsure = (e: unknown): boolean => e instanceof Refusal && (e.status === 0 || e.status === 503)

/** Writes once, however often it has to be sent. */
export async function write<T>(ask: (headers: { 'Idempotency-Key': string }) => Asked<T>, key = newKey()): Promise<T> {
  for (let again = 0; ; again++) {
    try {
      return await answered(ask({ 'Idempotency-Key': key }))
    } catch (e) {
      if (!unsure(e) || again === 3) throw e
      await new Promise((done) => setTimeout(done, 300 * 2 ** again * (1 + Math.random())))
    }
  }
}

export const said = (e: unknown): string => (e instanceof Error ? e.message : String(e))

/** Every page of a list. */
export async function all<T>(page: (cursor: { cursor?: string }) => Promise<{ nextCursor?: string; list: T[] }>): Promise<T[]> {
  const every: T[] = []
  let cursor: string | undefined
  do {
    const { list, nextCursor } = await page(cursor ? { cursor } : {})
    every.push(...list)
    cursor = nextCursor
  } while (cursor)
  return every
}

/** An amount in minor units, for people. */
export const money = (amount: number, currency: string): string => (currency ? written(navigator.language, amount, currency) : '')

/** An amount as it is typed in, without a currency. */
export const typed = (amount: number, currency: string): string => (amount / 10 ** exponent(currency)).toFixed(exponent(currency))

/** An amount as people type it, in minor units, without passing through fractions. */
export function minor(text: string, currency: string): number {
  const [whole = '', fraction = ''] = text.replace(',', '.').split('.')
  const digits = exponent(currency)
  if (fraction.length > digits) throw new Error(`${text}: ${currency} has ${digits} digits behind the point.`)
  return Number(whole + fraction.padEnd(digits, '0'))
}

export const count = (n: number): string => new Intl.NumberFormat().format(n)

/** So many of something that is counted in the English way. */
export const many = (n: number, one: string, more = `${one}s`): string => `${count(n)} ${n === 1 ? one : more}`

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

/** What the clocks of a zone show, as if it were UTC. */
function shown(at: number, timeZone: string): number {
  const parts = new Intl.DateTimeFormat('en-GB', {
    timeZone, hourCycle: 'h23', year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', second: '2-digit',
  }).formatToParts(new Date(at))
  const of = (type: string) => Number(parts.find((p) => p.type === type)!.value)
  return Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'), of('second'))
}

/** The instant at which clocks in a zone show a local time such as 2026-11-27T20:00. */
export function instantOf(local: string, timeZone: string): string {
  const wanted = Date.parse(local + 'Z')
  // Twice, since the first guess may be on the other side of a change of clocks.
  let at = wanted
  for (let i = 0; i < 2; i++) at += wanted - shown(at, timeZone)
  return new Date(at).toISOString()
}

/** The local time in a zone, such as 2026-11-27T20:00, of an instant. */
export const localOf = (at: string, timeZone: string): string => new Date(shown(Date.parse(at), timeZone)).toISOString().slice(0, 16)
