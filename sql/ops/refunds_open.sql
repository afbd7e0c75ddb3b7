-- Refunds that did not arrive: on their way, and refused by the gateway, which people must see to.
-- params: show
-- psql -c "set rowlock.show = '<show id>'" -f sql/ops/refunds_open.sql (or without a show: the thousand first of all)
-- A refused one whose money went back in another way says so, and needs nobody. A pending one without a job, or with a
-- discarded one, is sent by nobody: run its job again in River UI.
select e.title, k.reference, f.status, f.reason, f.cause, p.gateway, f.amount_minor, f.currency,
       clock_timestamp() - f.created_at as age, f.attempt, f.failure,
       f.status = 'failed' and p.refunded_minor + f.amount_minor > p.amount_minor as made_up_for,
       j.state as job, j.scheduled_at as job_due, j.error as job_error,
       p.gateway_ref as gateway_payment, f.gateway_ref as gateway_refund, f.refund_id, f.booking_id, f.show_id
  from refunds f
  join payments p on p.show_id = f.show_id and p.booking_id = f.booking_id and p.payment_id = f.payment_id
  join bookings k on k.show_id = f.show_id and k.booking_id = f.booking_id
  join shows s on s.show_id = f.show_id
  join events e using (event_id)
  left join (
    select distinct on (args ->> 'refundId') args ->> 'refundId' as refund_id, state::text as state, scheduled_at,
           errors[cardinality(errors)] ->> 'error' as error
      from river_job
     where kind = 'refund_send'
     order by args ->> 'refundId', id desc) j on j.refund_id = f.refund_id::text
 where f.status <> 'succeeded' and not (f.status = 'failed' and f.cause like 'dispute:%') -- that was won
   and (f.show_id = nullif(current_setting('rowlock.show', true), '')::uuid
        or coalesce(current_setting('rowlock.show', true), '') = '')
 order by f.status, f.created_at, f.refund_id
 limit case when coalesce(current_setting('rowlock.show', true), '') = '' then 1000 end;
