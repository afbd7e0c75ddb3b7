-- The same, of seats that are all free; else it divides by zero, which ends the transaction.
-- ($1 show_id, $2 seat_no[], $3 state, $4 reservation_id, $5 held_until, $6 holder)
with taken as (
  update show_seats
     set state = $3::text::"char", reservation_id = $4, held_until = $5, holder = $6
   where show_id = $1 and seat_no = any ($2::int[]) and state = 'a'
  returning 1)
select 1 / (count(*) = cardinality($2::int[]))::int from taken;
