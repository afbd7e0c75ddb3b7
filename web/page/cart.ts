// What this tab is about to buy in a show. It is kept with the tab, so that a
// reload goes on where it was, also in the middle of a request. What somebody
// waits for is kept with the browser: a tab that is closed loses no turn.
export interface Line {
  seatId: string
  label: string
  category: string
  ticketType: string
}

export interface Cart {
  lines: Line[]
  areas: { areaId: string; name: string; category: string; ticketType: string; quantity: number }[]
  reservationId?: string | undefined
  bookingId?: string | undefined
  buyer?: { name: string; email: string; phone?: string }
  /** A request whose answer was not seen: it is sent again as it was. */
  pending?: { what: 'hold' | 'buy' | 'pay'; key: string; body: unknown } | undefined
  /** The hold is being paid, or was offered to somebody who waited: it stays when the tab is closed. */
  stays?: boolean | undefined
  /** For X-Queue-Token. */
  turn?: string | undefined
}

const at = 'rowlock-cart-'

function parsed(text: string | null): Cart | undefined {
  try {
    return (JSON.parse(text ?? 'null') as Cart | null) ?? undefined
  } catch {
    return undefined // somebody else's
  }
}

export const load = (show: string): Cart => parsed(sessionStorage.getItem(at + show)) ?? { lines: [], areas: [] }
export const save = (show: string, cart: Cart) => sessionStorage.setItem(at + show, JSON.stringify(cart))
export const forget = (show: string) => sessionStorage.removeItem(at + show)

/** The holds of this tab, by show. */
export function holds(): { show: string; reservationId: string; stays: boolean }[] {
  return Object.keys(sessionStorage).filter((key) => key.startsWith(at)).flatMap((key) => {
    const cart = parsed(sessionStorage.getItem(key))
    return cart?.reservationId ? [{ show: key.slice(at.length), reservationId: cart.reservationId, stays: Boolean(cart.stays || cart.pending) }] : []
  })
}

type List = 'queue' | 'waitlist'
const entryAt = (list: List, show: string) => `rowlock-${list}-${show}`

/** The entry of a show's waiting room or waitlist that this browser has, if any. */
export const entryOf = (list: List, show: string) => localStorage.getItem(entryAt(list, show)) ?? undefined

export function noteEntry(list: List, show: string, entryId: string | undefined) {
  if (entryId) localStorage.setItem(entryAt(list, show), entryId)
  else localStorage.removeItem(entryAt(list, show))
}
