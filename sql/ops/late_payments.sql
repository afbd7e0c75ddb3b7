-- Payments that came too late for their hold or after another, and what became of the money, the newest first.
-- params: show
-- psql -c "set rowlock.show = '<show id>'" -f sql/ops/late_payments.sql (or without a show: the thousand newest of all)
-- Many that were refunded because the hold was over say that holds are too short for the way people pay.
select e.title, k.reference, p.gateway, p.method, p.amount_minor, p.currency, p.settled_at,
       case when p.settled_at > r.expires_at then p.settled_at - r.expires_at end as after_the_hold,
       case when p.payment_id = k.applied_payment_id then 'booked' else coalesce('refund ' || f.status, 'not refunded') end as outcome,
       case when p.payment_id = k.applied_payment_id then 'the places were free'
            when k.applied_payment_id is not null or (k.confirmed_at is not null and k.total_minor = 0) then 'the booking was paid already'
            when s.status = 'cancelled' then 'the show is cancelled'
            when k.status = 'cancelled' then 'the purchase was taken back'
            when p.settled_at < r.expires_at then 'the hold had changed'
            else 'the places were gone' end as why,
       k.status as booking, p.created_at, r.expires_at as hold_ended, p.payment_id, p.booking_id, p.show_id
  from payments p
  join bookings k on k.show_id = p.show_id and k.booking_id = p.booking_id
  join reservations r on r.show_id = k.show_id and r.reservation_id = k.reservation_id
  join shows s on s.show_id = p.show_id
  join events e using (event_id)
  left join lateral (
    select min(f.status) as status from refunds f
     where f.show_id = p.show_id and f.booking_id = p.booking_id and f.payment_id = p.payment_id and f.reason = 'late_payment') f on true
 where p.status = 'succeeded'
   and (p.payment_id is distinct from k.applied_payment_id or r.close_reason = 'late_payment')
   and (p.show_id = nullif(current_setting('rowlock.show', true), '')::uuid
        or coalesce(current_setting('rowlock.show', true), '') = '')
 order by p.settled_at desc, p.payment_id
 limit case when coalesce(current_setting('rowlock.show', true), '') = '' then 1000 end;
