// Which language, and how it writes money, numbers and times.
import { ar } from './ar.ts'
import { en, type Strings } from './en.ts'

export type { Strings }
export const languages: Record<string, Strings> = { en, ar }

/** The strings of a language tag such as ar-KW; English where there are none. */
export const stringsOf = (tag: string): Strings => languages[tag.toLowerCase().split('-')[0]!] ?? en

// Minor units by ISO 4217, where they are not two digits. Intl knows most, and
// goes by what is customary in shops for some.
const digits: Record<string, number> = {}
for (const c of 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'.split(' ')) digits[c] = 0
for (const c of 'BHD IQD JOD KWD LYD OMR TND'.split(' ')) digits[c] = 3
for (const c of ['CLF', 'UYW']) digits[c] = 4

/** Digits are Latin in every language: so they are on seats and tickets. */
const latin = (tag: string) => `${tag}-u-nu-latn`

const formats = new Map<string, Intl.NumberFormat>()

/** Digits of a currency's minor unit. */
export const exponent = (currency: string): number => digits[currency] ?? 2

/** An amount in minor units, as people write it. */
export function money(tag: string, amount: number, currency: string): string {
  const key = tag + currency
  const places = exponent(currency)
  let format = formats.get(key)
  if (!format) {
    format = new Intl.NumberFormat(latin(tag), { style: 'currency', currency, minimumFractionDigits: places, maximumFractionDigits: places })
    formats.set(key, format)
  }
  return format.format(amount / 10 ** places)
}

/** A time in the venue's zone. */
export const when = (tag: string, time: string, timeZone: string, how: Intl.DateTimeFormatOptions) =>
  new Intl.DateTimeFormat(latin(tag), { timeZone, ...how }).format(new Date(time))

export const day: Intl.DateTimeFormatOptions = { weekday: 'short', day: 'numeric', month: 'short' }
export const clock: Intl.DateTimeFormatOptions = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }
export const dayAndClock: Intl.DateTimeFormatOptions = { ...day, ...clock }
