-- Locks those of the seats that can be had, without waiting: what does not come back is taken. ($1 show_id, $2 seat_no[])
select seat_no, state, reservation_id, held_until, block_id, holder
  from show_seats
 where show_id = $1 and seat_no = any ($2::int[])
   and (state = 'a' or (state = 'h' and held_until <= clock_timestamp()))
 order by seat_no
   for update skip locked;
