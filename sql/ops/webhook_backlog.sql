-- Webhooks of payment gateways whose effect is not in the database, the oldest first.
-- psql -f sql/ops/webhook_backlog.sql
-- job is that of the event: retryable is tried again at job_due, discarded is for people, who run it again in River UI.
-- The payment itself is asked for at its gateway all the same: see payments_open.
select v.gateway, v.event_id, coalesce(v.event ->> 'Type', v.event ->> 'Kind') as tells, v.received_at,
       clock_timestamp() - v.received_at as age, j.state as job, j.attempt, j.max_attempts, j.scheduled_at as job_due, j.error as last_error,
       k.reference, p.status as payment, v.event -> 'Payment' ->> 'PaymentID' as payment_id, v.event -> 'Payment' ->> 'Gateway' as gateway_payment
  from payment_events v
  left join (
    select distinct on (args ->> 'gateway', args ->> 'eventId') args ->> 'gateway' as gateway, args ->> 'eventId' as event_id,
           state::text as state, attempt, max_attempts, scheduled_at, errors[cardinality(errors)] ->> 'error' as error
      from river_job
     where kind = 'payment_event_apply'
     order by args ->> 'gateway', args ->> 'eventId', id desc) j on j.gateway = v.gateway and j.event_id = v.event_id
  left join payments p on p.payment_id = (v.event -> 'Payment' ->> 'PaymentID')::uuid
  left join bookings k on k.show_id = p.show_id and k.booking_id = p.booking_id
 where v.done_at is null
 order by v.received_at, v.gateway, v.event_id
 limit 1000;
