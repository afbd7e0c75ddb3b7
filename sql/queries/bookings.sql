-- Bookings and who made them.

-- name: bookings_load
-- The bookings that commands are about, locked. $1 show_id[], $2 booking_id[].
select k.show_id, k.booking_id, k.reference, k.reservation_id, k.customer_id, k.status, k.currency, k.total_minor,
       k.refunded_minor, k.applied_payment_id, k.created_at, k.confirmed_at, k.closed_at, k.confirmed_version
  from unnest($1::uuid[], $2::uuid[]) as w(show_id, booking_id)
 cross join lateral (
   select * from bookings k where k.show_id = w.show_id and k.booking_id = w.booking_id limit 1 for no key update) k;

-- name: bookings_save
-- New bookings, and what may change about old ones. $1 show_id[], $2 booking_id[], $3 organisation_id[], $4 reference[],
-- $5 reservation_id[], $6 customer_id[], $7 status[], $8 currency[], $9 total_minor[], $10 refunded_minor[],
-- $11 applied_payment_id[], $12 created_at[], $13 confirmed_at[], $14 closed_at[], $15 confirmed_version[].
insert into bookings (show_id, booking_id, organisation_id, reference, reservation_id, customer_id, status, currency,
       total_minor, refunded_minor, applied_payment_id, created_at, confirmed_at, closed_at, confirmed_version)
select unnest($1::uuid[]), unnest($2::uuid[]), unnest($3::uuid[]), unnest($4::text[]), unnest($5::uuid[]), unnest($6::text[]),
       unnest($7::text[]), unnest($8::text[]), unnest($9::bigint[]), unnest($10::bigint[]), unnest($11::uuid[]),
       unnest($12::timestamptz[]), unnest($13::timestamptz[]), unnest($14::timestamptz[]), unnest($15::bigint[])
on conflict (show_id, booking_id) do update
   set status = excluded.status, total_minor = excluded.total_minor, refunded_minor = excluded.refunded_minor,
       applied_payment_id = excluded.applied_payment_id, confirmed_at = excluded.confirmed_at, closed_at = excluded.closed_at,
       confirmed_version = excluded.confirmed_version;

-- name: bookings_place
-- Where a booking is: its show and reservation, which never change, and whose it is. $1 booking_id.
select show_id, reservation_id, organisation_id, customer_id, status from bookings where booking_id = $1;

-- name: bookings_read
-- Bookings as readers see them, with their buyers. $1 booking_id[].
select k.show_id, k.booking_id, k.reference, k.reservation_id, k.customer_id, k.status, k.currency, k.total_minor,
       k.refunded_minor, k.applied_payment_id, k.created_at, k.confirmed_at, k.closed_at, k.confirmed_version,
       k.organisation_id, p.name, p.email, p.phone, p.locale, r.expires_at, r.metadata, clock_timestamp()
  from bookings k
  join reservations r on r.show_id = k.show_id and r.reservation_id = k.reservation_id
  left join buyers p on p.show_id = k.show_id and p.booking_id = k.booking_id
 where k.booking_id = any ($1::uuid[])
 order by k.booking_id desc;

-- name: bookings_list
-- A page of bookings, newest first. $1 organisation_id, $2 show_id, $3 status, $4 customer_id, $5 the last booking_id of
-- the page before: each or null, $6 how many.
select k.booking_id
  from bookings k
 where k.organisation_id = $1
   and ($2::uuid is null or k.show_id = $2)
   and ($3::text is null or k.status = $3)
   and ($4::text is null or k.customer_id = $4)
   and ($5::uuid is null or k.booking_id < $5)
 order by k.booking_id desc
 limit $6;

-- name: bookings_search
-- The same of bookings that a search finds: by reference, or by words of the buyer (a tsquery of prefixes).
-- $1-$5 as bookings_list, $6 reference or null, $7 tsquery or null, $8 how many.
select k.booking_id
  from (select f.show_id, f.booking_id from bookings f where f.reference = $6
        union
        select p.show_id, p.booking_id from buyers p where p.organisation_id = $1 and p.search @@ $7::tsquery) f
  join bookings k on k.show_id = f.show_id and k.booking_id = f.booking_id
 where k.organisation_id = $1
   and ($2::uuid is null or k.show_id = $2)
   and ($3::text is null or k.status = $3)
   and ($4::text is null or k.customer_id = $4)
   and ($5::uuid is null or k.booking_id < $5)
 order by k.booking_id desc
 limit $8;

-- name: bookings_of_show
-- Bookings of a cancelled show whose buyers still have to be paid back, or told. $1 show_id, $2 after which booking_id, or
-- null, $3 how many.
select k.booking_id, k.reservation_id
  from bookings k
 where k.show_id = $1 and k.status in ('pending', 'confirmed')
   and ($2::uuid is null or k.booking_id > $2)
 order by k.booking_id
 limit $3;

-- name: shows_forsaken
-- Cancelled shows with bookings that are not paid back, and no job that would see to it. $1 how many.
select s.show_id
  from shows s
 where s.status = 'cancelled'
   and exists (select from bookings k where k.show_id = s.show_id and k.status in ('pending', 'confirmed'))
   and not exists (
     select from river_job j
      where j.kind = 'show_cancel' and j.args ->> 'showId' = s.show_id::text
        and j.state in ('available', 'pending', 'retryable', 'running', 'scheduled'))
 order by s.show_id
 limit $1;

-- name: bookings_progress
-- How far the paying back of a cancelled show is: bookings left, refunds not settled, refunds that failed. $1 show_id.
select (select count(*) from bookings where show_id = $1 and status in ('pending', 'confirmed')),
       (select count(*) from bookings where show_id = $1 and status = 'cancelled' and confirmed_at is not null),
       (select count(*) from refunds where show_id = $1 and status = 'pending'),
       (select count(*) from refunds where show_id = $1 and status = 'failed');

-- name: bookings_to_remind
-- Confirmed bookings of a show that is about to begin. $1 show_id.
select booking_id from bookings where show_id = $1 and status = 'confirmed' order by booking_id;

-- name: shows_to_remind
-- Shows that begin within $1 seconds and whose buyers were not reminded, locked. $2 how many.
select s.show_id, s.starts_at
  from shows s
 where s.status in ('on_sale', 'paused') and s.reminded_at is null
   and s.starts_at > clock_timestamp() and s.starts_at <= clock_timestamp() + make_interval(secs => $1::float8)
 order by s.starts_at
 limit $2
   for no key update skip locked;

-- name: shows_reminded
-- $1 show_id.
update shows set reminded_at = clock_timestamp() where show_id = $1;

-- name: buyers_save
-- $1 show_id[], $2 booking_id[], $3 organisation_id[], $4 customer_id[], $5 name[], $6 email[], $7 phone[], $8 locale[],
-- $9 words[] as array literals.
insert into buyers (show_id, booking_id, organisation_id, customer_id, name, email, phone, locale, search)
select w.show_id, w.booking_id, w.organisation_id, w.customer_id, w.name, w.email, w.phone, w.locale, array_to_tsvector(w.words::text[])
  from (select unnest($1::uuid[]) as show_id, unnest($2::uuid[]) as booking_id, unnest($3::uuid[]) as organisation_id,
               unnest($4::text[]) as customer_id, unnest($5::text[]) as name, unnest($6::text[]) as email,
               unnest($7::text[]) as phone, unnest($8::text[]) as locale, unnest($9::text[]) as words) as w
on conflict (show_id, booking_id) do update
   set name = excluded.name, email = excluded.email, phone = excluded.phone, locale = excluded.locale, search = excluded.search;

-- name: ticket_holders_save
-- $1 show_id[], $2 booking_id[], $3 n[], $4 organisation_id[], $5 customer_id[], $6 name[].
insert into ticket_holders (show_id, booking_id, n, organisation_id, customer_id, name)
select unnest($1::uuid[]), unnest($2::uuid[]), unnest($3::int[]), unnest($4::uuid[]), unnest($5::text[]), unnest($6::text[])
on conflict (show_id, booking_id, n) do update set name = excluded.name;

-- name: ticket_holders_clear
-- Takes all names off bookings whose places have changed. $1 show_id[], $2 booking_id[].
delete from ticket_holders
 where ctid = any (array(
   select h.ctid
     from unnest($1::uuid[], $2::uuid[]) as w(show_id, booking_id)
    cross join lateral (
      select h.ctid from ticket_holders h where h.show_id = w.show_id and h.booking_id = w.booking_id offset 0) h));

-- name: ticket_holders_delete
-- Takes a name off a ticket. $1 show_id, $2 booking_id, $3 n.
delete from ticket_holders where show_id = $1 and booking_id = $2 and n = $3;

-- name: people_forget
-- Empties what is personal of a customer. $1 organisation_id, $2 customer_id. Returns how many rows.
with b as (delete from buyers where organisation_id = $1 and customer_id = $2 returning 1),
     h as (delete from ticket_holders where organisation_id = $1 and customer_id = $2 returning 1),
     w as (delete from waitlist_buyers where organisation_id = $1 and customer_id = $2 returning 1)
select (select count(*) from b) + (select count(*) from h) + (select count(*) from w);

-- name: sales_read
-- What a show has sold and held, and where its money is, of one moment. $1 show_id.
with moment as (select show_id, version, greatest(clock_timestamp(), changed_at) as now from show_heads where show_id = $1)
select m.now, m.version, h.*, k.*, t.*, p.*, f.*
  from moment m
 cross join lateral (
   select count(*), coalesce(sum(places), 0)::bigint, coalesce(sum(total_minor), 0)::bigint
     from reservations where show_id = m.show_id and status = 'active' and expires_at > m.now) h(holds, held, held_minor)
 cross join lateral (
   select count(*) filter (where status = 'confirmed'), count(*) filter (where status = 'pending')
     from bookings where show_id = m.show_id) k(confirmed, pending)
 cross join lateral (
   select count(*), coalesce(sum(price_minor), 0)::bigint from tickets where show_id = m.show_id and status <> 'void') t(sold, sold_minor)
 cross join lateral (
   select coalesce(sum(amount_minor) filter (where status = 'succeeded'), 0)::bigint,
          coalesce(sum(amount_minor) filter (where status = 'pending'), 0)::bigint
     from payments where show_id = m.show_id) p(taken_minor, open_minor)
 cross join lateral (
   select coalesce(sum(amount_minor) filter (where status <> 'failed'), 0)::bigint, count(*) filter (where status = 'failed')
     from refunds where show_id = m.show_id) f(refunded_minor, refused);

-- name: sales_minutes
-- What was sold in each minute of the last hour in which something was. $1 show_id.
select date_trunc('minute', k.confirmed_at), count(*), coalesce(sum(r.places), 0)::bigint, coalesce(sum(k.total_minor), 0)::bigint
  from bookings k
  join reservations r on r.show_id = k.show_id and r.reservation_id = k.reservation_id
 where k.show_id = $1 and k.confirmed_at > date_trunc('minute', clock_timestamp()) - interval '59 minutes'
 group by 1
 order by 1;
