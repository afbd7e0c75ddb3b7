-- Payments, refunds, and what gateways tell.

-- name: payments_load
-- All payments of bookings, in no order: sorting here would tempt the planner to read in that order. $1 show_id[], $2 booking_id[].
select w.show_id, p.booking_id, p.payment_id, p.gateway, p.method, p.status, p.amount_minor, p.refunded_minor, p.currency,
       p.gateway_ref, p.decline_code, p.next_action, p.created_at, p.settled_at
  from unnest($1::uuid[], $2::uuid[]) as w(show_id, booking_id)
 cross join lateral (
   select * from payments p where p.show_id = w.show_id and p.booking_id = w.booking_id offset 0) p;

-- name: payments_save
-- $1 show_id[], $2 booking_id[], $3 payment_id[], $4 organisation_id[], $5 gateway[], $6 method[], $7 status[],
-- $8 amount_minor[], $9 refunded_minor[], $10 currency[], $11 gateway_ref[], $12 decline_code[], $13 next_action[],
-- $14 created_at[], $15 settled_at[].
insert into payments (show_id, booking_id, payment_id, organisation_id, gateway, method, status, amount_minor,
       refunded_minor, currency, gateway_ref, decline_code, next_action, created_at, settled_at)
select unnest($1::uuid[]), unnest($2::uuid[]), unnest($3::uuid[]), unnest($4::uuid[]), unnest($5::text[]), unnest($6::text[]),
       unnest($7::text[]), unnest($8::bigint[]), unnest($9::bigint[]), unnest($10::text[]), unnest($11::text[]),
       unnest($12::text[]), unnest($13::text[]), unnest($14::timestamptz[]), unnest($15::timestamptz[])
on conflict (show_id, booking_id, payment_id) do update
   set status = excluded.status, refunded_minor = excluded.refunded_minor, gateway_ref = excluded.gateway_ref,
       decline_code = excluded.decline_code, next_action = excluded.next_action, settled_at = excluded.settled_at;

-- name: payments_read
-- Payments of bookings as readers see them, the oldest first. $1 booking_id[].
select k.show_id, p.booking_id, p.payment_id, p.gateway, p.method, p.status, p.amount_minor, p.refunded_minor, p.currency,
       p.gateway_ref, p.decline_code, p.next_action, p.created_at, p.settled_at
  from bookings k
  join payments p on p.show_id = k.show_id and p.booking_id = k.booking_id
 where k.booking_id = any ($1::uuid[])
 order by p.created_at, p.payment_id;

-- name: payments_place
-- Where a payment is, and what has to be known to ask its gateway. $1 payment_id.
select p.show_id, p.booking_id, p.payment_id, k.reservation_id, p.gateway, p.gateway_ref, p.status, p.next_action is not null,
       k.status, r.expires_at <= clock_timestamp(), p.amount_minor, p.currency, k.reference, k.customer_id, r.expires_at
  from payments p
  join bookings k on k.show_id = p.show_id and k.booking_id = p.booking_id
  join reservations r on r.show_id = k.show_id and r.reservation_id = k.reservation_id
 where p.payment_id = $1;

-- name: payments_by_ref
-- Which payment a gateway means by its own id. $1 gateway, $2 its id.
select payment_id from payments where gateway = $1 and gateway_ref = $2;

-- name: payments_pending
-- How many payments have no outcome yet, and the age of the oldest in seconds: a show's own expect theirs within minutes.
select count(*), coalesce(extract(epoch from clock_timestamp() - min(p.created_at)), 0)::float8
  from payment_checks c
  join payments p on p.payment_id = c.payment_id;

-- name: payment_checks_insert
-- $1 payment_id[], $2 show_id[], $3 organisation_id[], $4 due_at[].
insert into payment_checks (payment_id, show_id, organisation_id, due_at)
select unnest($1::uuid[]), unnest($2::uuid[]), unnest($3::uuid[]), unnest($4::timestamptz[])
on conflict (payment_id) do nothing;

-- name: payment_checks_hurry
-- Lets payments be asked for at once. $1 payment_id[], $2 due_at[].
insert into payment_checks as c (payment_id, show_id, organisation_id, due_at)
select w.payment_id, p.show_id, p.organisation_id, w.due_at
  from unnest($1::uuid[], $2::timestamptz[]) as w(payment_id, due_at)
 cross join lateral (select * from payment_checks p where p.payment_id = w.payment_id limit 1) p
on conflict (payment_id) do update set due_at = least(c.due_at, excluded.due_at);

-- name: payment_checks_delete
-- $1 payment_id[].
delete from payment_checks where payment_id = any ($1::uuid[]);

-- name: payment_checks_claim
-- Payments of a show that are due, each put off by its back-off, so that nobody else asks meanwhile. $1 show_id, $2 how
-- many, $3 the back-off in seconds, the last for all further times; but not beyond the hold's end, when a session at the
-- gateway has to be ended.
with due as (
  select c.payment_id, c.asked from payment_checks c
   where c.show_id = $1 and c.due_at <= clock_timestamp()
   order by c.due_at limit $2 for update skip locked)
update payment_checks c
   set asked = c.asked + 1,
       due_at = least(clock_timestamp() + make_interval(secs => ($3::float8[])[least(due.asked + 1, cardinality($3::float8[]))]), h.ends)
  from due
  left join lateral (
    select r.expires_at as ends
      from payments p
      join bookings k on k.show_id = p.show_id and k.booking_id = p.booking_id
      join reservations r on r.show_id = k.show_id and r.reservation_id = k.reservation_id
     where p.payment_id = due.payment_id and r.expires_at > clock_timestamp()) h on true
 where c.payment_id = due.payment_id
returning c.payment_id, c.due_at;

-- name: payment_checks_overdue_shows
-- Shows with payments that should have been asked for $1 seconds ago. $2 how many.
select c.show_id from payment_checks c
 where c.due_at <= clock_timestamp() - make_interval(secs => $1::float8)
 group by c.show_id order by min(c.due_at) limit $2;

-- name: refunds_load
-- All refunds of bookings, in no order. $1 show_id[], $2 booking_id[].
select w.show_id, f.booking_id, f.refund_id, f.payment_id, f.cause, f.reason, f.status, f.attempt, f.amount_minor, f.currency,
       f.ticket_ids, f.ticket_amounts, f.gateway_ref, f.failure, f.created_at, f.settled_at
  from unnest($1::uuid[], $2::uuid[]) as w(show_id, booking_id)
 cross join lateral (
   select * from refunds f where f.show_id = w.show_id and f.booking_id = w.booking_id offset 0) f;

-- name: refunds_save
-- $1 show_id[], $2 booking_id[], $3 refund_id[], $4 organisation_id[], $5 payment_id[], $6 cause[], $7 reason[], $8 status[],
-- $9 amount_minor[], $10 currency[], $11 ticket_ids[], $12 ticket_amounts[] as array literals, $13 gateway_ref[],
-- $14 failure[], $15 created_at[], $16 settled_at[], $17 attempt[].
insert into refunds (show_id, booking_id, refund_id, organisation_id, payment_id, cause, reason, status, amount_minor,
       currency, ticket_ids, ticket_amounts, gateway_ref, failure, created_at, settled_at, attempt)
select w.show_id, w.booking_id, w.refund_id, w.organisation_id, w.payment_id, w.cause, w.reason, w.status, w.amount_minor,
       w.currency, w.ticket_ids::uuid[], w.ticket_amounts::bigint[], w.gateway_ref, w.failure, w.created_at, w.settled_at, w.attempt
  from (select unnest($1::uuid[]) as show_id, unnest($2::uuid[]) as booking_id, unnest($3::uuid[]) as refund_id,
               unnest($4::uuid[]) as organisation_id, unnest($5::uuid[]) as payment_id, unnest($6::text[]) as cause,
               unnest($7::text[]) as reason, unnest($8::text[]) as status, unnest($9::bigint[]) as amount_minor,
               unnest($10::text[]) as currency, unnest($11::text[]) as ticket_ids, unnest($12::text[]) as ticket_amounts,
               unnest($13::text[]) as gateway_ref, unnest($14::text[]) as failure, unnest($15::timestamptz[]) as created_at,
               unnest($16::timestamptz[]) as settled_at, unnest($17::int[]) as attempt) as w
on conflict (show_id, booking_id, refund_id) do update
   set status = excluded.status, gateway_ref = excluded.gateway_ref, failure = excluded.failure, settled_at = excluded.settled_at,
       attempt = excluded.attempt;

-- name: refunds_read
-- Refunds of bookings, the oldest first. $1 booking_id[].
select k.show_id, f.booking_id, f.refund_id, f.payment_id, f.cause, f.reason, f.status, f.attempt, f.amount_minor, f.currency,
       f.ticket_ids, f.ticket_amounts, f.gateway_ref, f.failure, f.created_at, f.settled_at
  from bookings k
  join refunds f on f.show_id = k.show_id and f.booking_id = k.booking_id
 where k.booking_id = any ($1::uuid[])
 order by f.created_at, f.refund_id;

-- name: refunds_place
-- Where a refund is, and what its gateway has to be told. $1 refund_id.
select f.show_id, f.booking_id, f.refund_id, k.reservation_id, f.payment_id, p.gateway, p.gateway_ref, f.status, f.amount_minor,
       f.currency, f.reason, f.attempt, f.created_at, clock_timestamp()
  from refunds f
  join payments p on p.show_id = f.show_id and p.booking_id = f.booking_id and p.payment_id = f.payment_id
  join bookings k on k.show_id = f.show_id and k.booking_id = f.booking_id
 where f.refund_id = $1;

-- name: refunds_watch
-- Refunds without an outcome, the age of the oldest in seconds, and refunds that failed and were not made up for: there is
-- room for them in their payment still. A dispute that was won needs no refund.
select count(*) filter (where f.status = 'pending'),
       coalesce(extract(epoch from clock_timestamp() - min(f.created_at) filter (where f.status = 'pending')), 0)::float8,
       count(*) filter (where f.status = 'failed' and f.cause not like 'dispute:%' and p.refunded_minor + f.amount_minor <= p.amount_minor)
  from refunds f
  join payments p on p.show_id = f.show_id and p.booking_id = f.booking_id and p.payment_id = f.payment_id
 where f.status <> 'succeeded';

-- name: refunds_forsaken
-- Refunds that were decided $1 seconds ago, have no outcome, and no job that would send them. $2 how many.
select f.show_id, f.booking_id, f.refund_id
  from refunds f
 where f.status <> 'succeeded' and f.status = 'pending' and f.created_at <= clock_timestamp() - make_interval(secs => $1::float8)
   and not exists (
     select from river_job j
      where j.kind = 'refund_send' and j.args ->> 'refundId' = f.refund_id::text
        and j.state in ('available', 'pending', 'retryable', 'running', 'scheduled'))
 order by f.created_at
 limit $2;

-- name: payment_events_store
-- Keeps what a gateway tells, once. Returns whether its effect is in the database already. $1 gateway, $2 event_id, $3 event.
insert into payment_events as e (gateway, event_id, event) values ($1, $2, $3)
on conflict (gateway, event_id) do update set event_id = excluded.event_id
returning e.done_at is not null, e.xmax = 0;

-- name: payment_events_read
-- $1 gateway, $2 event_id.
select event, done_at is not null from payment_events where gateway = $1 and event_id = $2;

-- name: payment_events_done
-- $1 gateway, $2 event_id, $3 outcome.
update payment_events set done_at = clock_timestamp(), outcome = $3 where gateway = $1 and event_id = $2 and done_at is null;

-- name: payment_events_watch
-- Events without their effect, and the age of the oldest in seconds.
select count(*), coalesce(extract(epoch from clock_timestamp() - min(received_at)), 0)::float8 from payment_events where done_at is null;

-- name: payment_events_purge
-- Forgets events that were done with 90 days ago, at most $1 at a time.
delete from payment_events
 where ctid = any (array(
   select ctid from payment_events
    where received_at < clock_timestamp() - interval '90 days' and done_at is not null limit $1));
