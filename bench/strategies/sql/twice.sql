-- Seats that stand in more than one reservation that has them, held or bought.
select count(*)
  from (select from reservations r cross join unnest(r.seat_nos) as i(seat_no)
         where r.status in ('active', 'consumed')
         group by r.show_id, i.seat_no
        having count(*) > 1) s;
