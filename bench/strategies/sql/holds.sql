-- Locks reservations, in order. ($1 show_id, $2 reservation_id[])
select reservation_id, customer_id, status, created_at, expires_at, hold_seconds, closed_at, staff, booking_id, currency,
       seat_nos, seat_types, seat_prices, own_expires_at
  from reservations
 where show_id = $1 and reservation_id = any ($2::uuid[])
 order by reservation_id
   for no key update;
