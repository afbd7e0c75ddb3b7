// What this tab is about to buy in a show. It is kept with the tab, so that a
// reload goes on where it was, also in the middle of a request.
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
  queue?: { entryId: string; token?: string } | undefined
}

const at = (show: string) => `rowlock-cart-${show}`

export function load(show: string): Cart {
  try {
    const kept = JSON.parse(sessionStorage.getItem(at(show)) ?? 'null') as Cart | null
    if (kept) return kept
  } catch {
    // Somebody else's; begin anew.
  }
  return { lines: [], areas: [] }
}

export const save = (show: string, cart: Cart) => sessionStorage.setItem(at(show), JSON.stringify(cart))
export const forget = (show: string) => sessionStorage.removeItem(at(show))
