-- What is wrong with one show: seats that two living holds have, and seats and holds that do not know each other. The rules of
-- sql/ops/invariants.sql read every table from end to end, which takes minutes where there are millions of old rows. ($1 show_id)
with held as (
  select seat_no, r.reservation_id from reservations r cross join unnest(r.seat_nos) as i(seat_no) where r.show_id = $1 and r.status = 'active')
select (select count(*) from (select from held group by seat_no having count(*) > 1) as twice)
     + (select count(*) from held full join (select seat_no, reservation_id from show_seats where show_id = $1 and state = 'h') as s
          using (seat_no, reservation_id)
         where held.reservation_id is null or s.reservation_id is null
            or not exists (select from show_seats as x where x.show_id = $1 and x.seat_no = held.seat_no and x.reservation_id = held.reservation_id));
