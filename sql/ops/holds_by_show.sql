-- Who holds what in a show, the next to end first.
-- params: show
-- psql -c "set rowlock.show = '<show id>'" -f sql/ops/holds_by_show.sql
-- Without a show: the next thousand to end in any. An overdue hold is over; its places are free to the next buyer.
select e.title, r.reservation_id, r.customer_id, r.staff,
       seats.labels as seats, areas.units as areas, r.places, r.total_minor, r.currency,
       case when r.expires_at > r.now then 'held' else 'overdue' end as status,
       r.created_at, r.expires_at, round(extract(epoch from r.expires_at - r.now))::int as seconds_left,
       k.reference as booking, p.payment_id is not null as being_paid, r.show_id
  from (select r.*, s.event_id, s.plan_id, greatest(clock_timestamp(), h.changed_at) as now
          from shows s
          join show_heads h using (show_id)
          join reservations r on r.show_id = s.show_id and r.status = 'active'
         where s.show_id = nullif(current_setting('rowlock.show', true), '')::uuid
            or coalesce(current_setting('rowlock.show', true), '') = ''
         order by r.expires_at, r.reservation_id
         limit case when coalesce(current_setting('rowlock.show', true), '') = '' then 1000 end) r
  join events e using (event_id)
  left join bookings k on k.show_id = r.show_id and k.booking_id = r.booking_id
  left join payments p on p.show_id = k.show_id and p.booking_id = k.booking_id and p.status = 'pending'
  left join lateral (
    select array_agg(p.label order by p.position) as labels
      from plan_seats p where p.plan_id = r.plan_id and p.seat_no = any (r.seat_nos)) seats on true
  left join lateral (
    select array_agg(i.quantity || ' ' || n.name || ' (' || i.ticket_type || ')' order by i.area_no, i.ticket_type) as units
      from unnest(r.area_nos, r.area_types, r.area_quantities) as i(area_no, ticket_type, quantity)
      join show_areas n on n.show_id = r.show_id and n.area_no = i.area_no) areas on true
 order by r.expires_at, r.reservation_id;
