-- Check: how many of the wanted seats are free? ($1 show_id, $2 seat_no[])
select count(*) from show_seats
 where show_id = $1 and seat_no = any ($2::int[])
   and (state = 'a' or (state = 'h' and held_until <= clock_timestamp()));
