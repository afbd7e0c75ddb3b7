-- The whole story of one booking: its hold, payments, refunds, tickets and scans, and what they are now.
-- params: booking
-- psql -c "set rowlock.booking = 'K7QX3MRD'" -f sql/ops/booking_story.sql
-- The booking is named by its reference or by its id. id is the end of that of the payment, refund, ticket or scan;
-- tickets are those concerned, by their numbers in the booking.
with asked as (
  select k.*, s.plan_id, greatest(clock_timestamp(), h.changed_at) as now
    from bookings k
    join shows s using (show_id)
    join show_heads h using (show_id)
   where k.reference = upper(translate(current_setting('rowlock.booking', true), ' -', ''))
      or k.booking_id = case when current_setting('rowlock.booking', true) ~* '^[0-9a-f-]{36}$'
                             then current_setting('rowlock.booking', true)::uuid end
), story as (
  select a.show_id, a.plan_id, c.at, 0 as after, c.version, c.n, c.type as what, c.after_status as status, c.amount_minor,
         c.actor, c.reason, c.detail ->> 'text' as detail, coalesce(c.refund_id, c.payment_id) as id,
         c.seat_nos, c.area_nos, c.area_booked,
         (select array_agg(t.n order by t.n) from tickets t
           where t.show_id = a.show_id and t.booking_id = a.booking_id and t.ticket_id = any (c.ticket_ids)) as tickets
    from asked a
    join changes c on c.show_id = a.show_id and (c.booking_id = a.booking_id or c.reservation_id = a.reservation_id)
  union all
  select a.show_id, a.plan_id, s.recorded_at, 1, null, null,
         case when s.offline then 'scan, uploaded' else 'scan' end, s.result, null, nullif(s.gate, ''),
         case when s.should_not then 'was let in' end,
         case when s.at <> s.recorded_at then 'read at ' || s.at || '; ' else '' end
           || coalesce('first at ' || s.first_at || coalesce(', ' || nullif(s.first_gate, ''), ''), ''),
         s.scan_id, null, null, null, array[t.n]
    from asked a
    join tickets t on t.show_id = a.show_id and t.booking_id = a.booking_id
    join scans s on s.show_id = t.show_id and s.ticket_id = t.ticket_id
  union all
  select a.show_id, a.plan_id, v.received_at, 1, null, null, 'webhook: ' || coalesce(v.event ->> 'Type', v.event ->> 'Kind'),
         coalesce(v.outcome, 'not done'), null, 'gateway:' || v.gateway, null, null, p.payment_id, null, null, null, null
    from asked a
    join payments p on p.show_id = a.show_id and p.booking_id = a.booking_id
    join payment_events v on v.gateway = p.gateway and v.received_at >= p.created_at - interval '1 hour'
                         and (v.event -> 'Payment' ->> 'PaymentID' = p.payment_id::text or v.event -> 'Payment' ->> 'Gateway' = p.gateway_ref)
  union all
  select a.show_id, a.plan_id, a.now, 2, null, 0, 'now: ' || a.reference, a.status, a.total_minor, a.customer_id, null,
         case when a.refunded_minor > 0 then a.refunded_minor || ' given back or on its way' end, a.booking_id, null, null, null, null
    from asked a
  union all
  select a.show_id, a.plan_id, a.now, 3, null, row_number() over (order by p.created_at, p.payment_id)::int, 'now: payment' || case when p.payment_id = a.applied_payment_id then ', applied' else '' end,
         p.status, p.amount_minor, p.gateway || ', ' || p.method, null,
         concat_ws('; ', p.gateway_ref, p.decline_code, case when p.next_action is not null then 'waits for the buyer' end,
                   case when c.due_at is not null then 'asked ' || c.asked || ' times, next at ' || c.due_at end),
         p.payment_id, null, null, null, null
    from asked a
    join payments p on p.show_id = a.show_id and p.booking_id = a.booking_id
    left join payment_checks c on c.payment_id = p.payment_id
  union all
  select a.show_id, a.plan_id, a.now, 4, null, row_number() over (order by f.created_at, f.refund_id)::int, 'now: refund', f.status, f.amount_minor, f.cause, f.reason,
         concat_ws('; ', f.gateway_ref, f.failure, case when f.attempt > 1 then 'attempt ' || f.attempt end), f.refund_id, null, null, null,
         (select array_agg(t.n order by t.n) from tickets t
           where t.show_id = a.show_id and t.booking_id = a.booking_id and t.ticket_id = any (f.ticket_ids))
    from asked a
    join refunds f on f.show_id = a.show_id and f.booking_id = a.booking_id
  union all
  select a.show_id, a.plan_id, a.now, 5, null, t.n, 'now: ticket ' || t.n, t.status, t.price_minor, null, t.ticket_type,
         concat_ws('; ', case when t.refunded_minor > 0 then t.refunded_minor || ' given back or on its way' end,
                   case when t.used_at is not null then 'used at ' || t.used_at || coalesce(', ' || t.used_gate, '') end),
         t.ticket_id, array[t.seat_no], array[t.area_no], array[1], array[t.n]
    from asked a
    join tickets t on t.show_id = a.show_id and t.booking_id = a.booking_id
)
select s.at, s.version, s.what, s.status, s.amount_minor, s.actor, s.reason, nullif(s.detail, '') as detail,
       seats.labels as seats, areas.units as areas, s.tickets, right(s.id::text, 12) as id, s.show_id
  from story s
  left join lateral (
    select array_agg(coalesce(p.label, '#' || i.seat_no) order by i.n) as labels
      from unnest(s.seat_nos) with ordinality as i(seat_no, n)
      left join plan_seats p on p.plan_id = s.plan_id and p.seat_no = i.seat_no
     where i.seat_no is not null) seats on true
  left join lateral (
    select array_agg(i.units || ' ' || coalesce(n.name, '#' || i.area_no)) as units
      from unnest(s.area_nos, s.area_booked) as i(area_no, units)
      left join show_areas n on n.show_id = s.show_id and n.area_no = i.area_no
     where i.area_no is not null and i.units <> 0) areas on true
 order by s.after > 1, s.at, s.after, s.version, s.n;
