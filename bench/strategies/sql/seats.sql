-- Looks at seats, and that is all. ($1 show_id, $2 seat_no[])
select seat_no, state, reservation_id, held_until, block_id, holder
  from show_seats
 where show_id = $1 and seat_no = any ($2::int[]);
