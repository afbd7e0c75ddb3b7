-- What becomes of a reservation. ($1 show_id, $2 reservation_id, $3 status, $4 expires_at, $5 closed_at, $6 close_reason,
-- $7 booking_id, $8 own_expires_at)
update reservations
   set status = $3, expires_at = $4, closed_at = $5, close_reason = $6, booking_id = $7, own_expires_at = $8
 where show_id = $1 and reservation_id = $2;
