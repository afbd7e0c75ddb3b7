-- Payments whose outcome is not known, the oldest first, and when their gateway is asked next.
-- params: show
-- psql -c "set rowlock.show = '<show id>'" -f sql/ops/payments_open.sql (or without a show: the thousand oldest of all)
-- waits_for is the buyer while the gateway wants something of them, else the gateway. overdue says that the asking is
-- late: look at jobs of the kind payments_settle.
select e.title, k.reference, p.gateway, p.method, p.amount_minor, p.currency,
       clock_timestamp() - p.created_at as age,
       case when p.next_action is not null then 'buyer' else 'gateway' end as waits_for,
       k.status as booking, r.status as hold, r.expires_at as hold_ends, c.asked, c.due_at as next_asked,
       greatest(clock_timestamp() - c.due_at, interval '0') as overdue,
       p.gateway_ref, p.payment_id, p.booking_id, p.show_id
  from payment_checks c
  join payments p on p.payment_id = c.payment_id
  join bookings k on k.show_id = p.show_id and k.booking_id = p.booking_id
  join reservations r on r.show_id = k.show_id and r.reservation_id = k.reservation_id
  join shows s on s.show_id = p.show_id
  join events e using (event_id)
 where p.show_id = nullif(current_setting('rowlock.show', true), '')::uuid
    or coalesce(current_setting('rowlock.show', true), '') = ''
 order by p.created_at, p.payment_id
 limit case when coalesce(current_setting('rowlock.show', true), '') = '' then 1000 end;
