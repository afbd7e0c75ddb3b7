-- Waits for each seat, in order, until it is ours, and says what it is then. ($1 show_id, $2 seat_no[])
select seat_no, state, reservation_id, held_until, block_id, holder
  from show_seats
 where show_id = $1 and seat_no = any ($2::int[])
 order by seat_no
   for update;
