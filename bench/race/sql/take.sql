-- Then act: the seats are ours. ($1 show_id, $2 seat_no[], $3 reservation_id, $4 held_until)
update show_seats set state = 'h', reservation_id = $3, held_until = $4
 where show_id = $1 and seat_no = any ($2::int[]);
