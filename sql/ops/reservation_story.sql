-- The whole story of one reservation, and what it is now.
-- params: reservation
-- psql -c "set rowlock.reservation = '<reservation id>'" -f sql/ops/reservation_story.sql
with asked as (
  select r.*, s.plan_id, greatest(clock_timestamp(), h.changed_at) as now
    from reservations r
    join shows s using (show_id)
    join show_heads h using (show_id)
   where r.reservation_id = nullif(current_setting('rowlock.reservation', true), '')::uuid
)
select t.at, t.version, t.what, t.status, t.until, t.actor, t.reason,
       seats.labels as seats, t.seat_states, areas.units as areas, t.amount_minor, b.reference as booking, t.show_id
  from (select c.at, c.version, c.n, c.type as what, c.after_status as status, c.expires_at as until, c.actor, c.reason,
               c.seat_nos, c.seat_states, c.area_nos, c.area_units, c.amount_minor, a.show_id, a.plan_id, a.booking_id
          from asked a
          join changes c on c.show_id = a.show_id and c.reservation_id = a.reservation_id
        union all
        select a.now, null, null,
               case when a.status = 'active' and a.expires_at <= a.now then 'now: over and not closed yet' else 'now' end,
               a.status, a.expires_at, a.customer_id, a.close_reason,
               a.seat_nos, null, a.area_nos, a.area_quantities, a.total_minor, a.show_id, a.plan_id, a.booking_id
          from asked a) t
  left join bookings b on b.show_id = t.show_id and b.booking_id = t.booking_id
  left join lateral (
    select array_agg(coalesce(p.label, '#' || i.seat_no) order by i.n) as labels
      from unnest(t.seat_nos) with ordinality as i(seat_no, n)
      left join plan_seats p on p.plan_id = t.plan_id and p.seat_no = i.seat_no) seats on true
  left join lateral (
    select array_agg(i.units || ' ' || coalesce(n.name, '#' || i.area_no)) as units
      from unnest(t.area_nos, t.area_units) as i(area_no, units)
      left join show_areas n on n.show_id = t.show_id and n.area_no = i.area_no) areas on true
 order by t.version, t.n;
