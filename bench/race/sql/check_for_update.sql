-- The same, but wait for each row, in order, until it is ours. ($1 show_id, $2 seat_no[])
select count(*) filter (where state = 'a' or (state = 'h' and held_until <= clock_timestamp()))
  from (select state, held_until from show_seats
         where show_id = $1 and seat_no = any ($2::int[])
         order by seat_no for update) as s;
