-- The seats of holds of one seat each. ($1 show_id, $2 seat_no[], $3 reservation_id[], $4 held_until[])
update show_seats as s
   set state = 'h', reservation_id = w.reservation_id, held_until = w.held_until, holder = 1
  from unnest($2::int[], $3::uuid[], $4::timestamptz[]) as w(seat_no, reservation_id, held_until)
 where s.show_id = $1 and s.seat_no = w.seat_no;
