-- The whole story of one seat of a show, and what it is now.
-- params: show, seat
-- psql -c "set rowlock.show = '<show id>'" -c "set rowlock.seat = 'Stalls-A-7'" -f sql/ops/seat_story.sql
-- The seat is named by its label or by its id.
with asked as (
  select s.show_id, n.seat_no, greatest(clock_timestamp(), d.changed_at) as now
    from shows s
    join show_heads d using (show_id)
   cross join lateral (
     select seat_no
       from (select h.seat_no, 0 as rank from hall_seats h
              where h.hall_id = s.hall_id and h.seat_id::text = current_setting('rowlock.seat', true)
             union all
             -- The label as the show's own plan has it, else as the newest plan of the hall that has it.
             select i.seat_no, case when p.plan_id = s.plan_id then 1 else 1000000 - p.version end
               from plans p join plan_seats i using (plan_id)
              where p.hall_id = s.hall_id and i.label = current_setting('rowlock.seat', true)) named
      order by rank limit 1) n
   where s.show_id = nullif(current_setting('rowlock.show', true), '')::uuid
)
select t.at, t.version, t.what,
       case t.state when 'a' then 'available' when 'h' then 'held' when 'b' then 'booked' when 'x' then 'blocked' end as state,
       t.until, t.actor, t.reason, k.reference as booking, t.reservation_id, r.customer_id, t.block_id
  from (select c.show_id, c.at, c.version, c.n, c.type as what,
               substr(c.seat_states, array_position(c.seat_nos, a.seat_no), 1) as state,
               c.expires_at as until, c.actor, c.reason, c.reservation_id, c.block_id
          from asked a
          join changes c on c.show_id = a.show_id and c.seat_nos @> array[a.seat_no]
        union all
        -- Who came with a ticket for it, when that became known.
        select s.show_id, s.recorded_at, null, null, 'scan: ' || s.result || coalesce(', ' || nullif(s.gate, ''), ''),
               null, null, null, case when s.should_not then 'should not have been let in' end, k.reservation_id, null
          from asked a
          join tickets i on i.show_id = a.show_id and i.seat_no = a.seat_no
          join bookings k on k.show_id = i.show_id and k.booking_id = i.booking_id
          join scans s on s.show_id = i.show_id and s.ticket_id = i.ticket_id
        union all
        select s.show_id, a.now, null, null,
               case when s.state = 'h' and s.held_until <= a.now then 'now: the hold is over and not closed yet' else 'now' end,
               s.state::text, s.held_until, null, null, s.reservation_id, s.block_id
          from asked a
          join show_seats s on s.show_id = a.show_id and s.seat_no = a.seat_no) t
  left join reservations r on r.show_id = t.show_id and r.reservation_id = t.reservation_id
  left join bookings k on k.show_id = r.show_id and k.booking_id = r.booking_id
 order by t.what like 'now%', t.at, t.version, t.n;
