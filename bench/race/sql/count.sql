-- What was sold in the end: reservations, seats, and seats that stand in more than one of them. ($1 show_id)
select coalesce((select count(*) from reservations where show_id = $1), 0), count(*), count(*) filter (where owners > 1), coalesce(max(owners), 0)
  from (select i.seat_no, count(*) as owners
          from reservations r cross join unnest(r.seat_nos) as i(seat_no)
         where r.show_id = $1 and r.status = 'active'
         group by i.seat_no) sold;
