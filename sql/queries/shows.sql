-- Shows: their terms, their heads, and what a change of the show writes.

-- name: shows_terms
-- The terms of a show and its definition. $1 show_id.
select s.show_id, s.organisation_id, s.definition, s.status, s.starts_at, s.ends_at,
       s.sales_start_at, s.sales_end_at, s.currency, s.hold_seconds, s.max_hold_seconds,
       s.max_places_per_reservation, coalesce(s.max_places_per_customer, 0), s.plan_id, s.cancellation,
       s.queue, s.queue_open, coalesce(s.queue_ended, ''), s.offer_seconds
  from shows s
 where s.show_id = $1;

-- name: shows_prices
-- Every price of a show. $1 show_id.
select category, ticket_type, amount_minor from show_prices where show_id = $1 order by category, ticket_type;

-- name: show_heads_load
-- The heads of the shows whose lock was had. $1 show_id[].
select h.show_id, h.version, h.changed_at, h.definition, h.waiting
  from unnest($1::uuid[]) as w(show_id)
 cross join lateral (select * from show_heads h where h.show_id = w.show_id limit 1) h;

-- name: show_heads_versions
-- Where the logs of shows stand, and what time it is. $1 show_id[].
select h.show_id, h.version, clock_timestamp() from show_heads h where h.show_id = any ($1::uuid[]);

-- name: show_heads_update
-- Raises versions. One that would not rise becomes null, which the column refuses: the statement travels with COMMIT, so
-- what it finds wrong must fail the transaction by itself.
-- $1 show_id[], $2 organisation_id[], $3 version[], $4 changed_at[], $5 definition[].
insert into show_heads as h (show_id, organisation_id, version, changed_at, definition)
select unnest($1::uuid[]), unnest($2::uuid[]), unnest($3::bigint[]), unnest($4::timestamptz[]), unnest($5::bigint[])
on conflict (show_id) do update
   set version = case when h.version < excluded.version then excluded.version end,
       changed_at = excluded.changed_at, definition = excluded.definition;

-- name: shows_redefine
-- Writes a show's new terms. Who was reminded of another day is reminded again. $1 show_id, $2 definition, then the terms.
update shows
   set definition = $2, status = $3, starts_at = $4, ends_at = $5, sales_start_at = $6, sales_end_at = $7,
       currency = $8, hold_seconds = $9, max_hold_seconds = $10, max_places_per_reservation = $11,
       max_places_per_customer = nullif($12::int, 0), plan_id = coalesce($13, plan_id),
       queue = $14, queue_open = $15, queue_ended = nullif($16, ''), offer_seconds = $17,
       reminded_at = case when starts_at = $4 then reminded_at end
 where show_id = $1 and definition = $2 - 1;

-- name: shows_publish_event
-- An event is published with its first published show. $1 show_id.
update events set status = 'published', revision = revision + 1
 where event_id = (select event_id from shows where show_id = $1) and status = 'draft';

-- name: show_prices_delete
-- $1 show_id.
delete from show_prices where show_id = $1;

-- name: show_prices_insert
-- $1 show_id, $2 organisation_id, $3 category[], $4 ticket_type[], $5 amount_minor[].
insert into show_prices (show_id, category, ticket_type, organisation_id, amount_minor)
select $1, p.category, p.ticket_type, $2, p.amount_minor
  from unnest($3::text[], $4::text[], $5::bigint[]) as p(category, ticket_type, amount_minor);

-- name: shows_insert
-- A new show, as a draft. $1 show_id, $2 organisation_id, $3 event_id, $4 venue_id, $5 hall_id, $6 plan_id (each null for
-- none), $7 starts_at, $8 ends_at, $9 doors_at, $10 time_zone, $11 language or '', $12 format, $13 accessibility,
-- $14 note or '', $15 currency, $16 hold_seconds, $17 max_hold_seconds, $18 max_places_per_reservation,
-- $19 max_places_per_customer or 0, $20 sales_start_at, $21 sales_end_at, $22 cancellation, $23 test_mode,
-- $24 external_ref or '', $25 metadata, $26 offer_seconds.
insert into shows (show_id, organisation_id, event_id, venue_id, hall_id, plan_id, starts_at, ends_at, doors_at, time_zone,
       language, format, accessibility, note, currency, hold_seconds, max_hold_seconds, max_places_per_reservation,
       max_places_per_customer, sales_start_at, sales_end_at, cancellation, test_mode, external_ref, metadata, offer_seconds)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10,
       nullif($11, ''), $12, $13, nullif($14, ''), $15, $16, $17, $18,
       nullif($19::int, 0), $20, $21, $22, $23, nullif($24, ''), $25, $26);

-- name: show_heads_insert
-- $1 show_id, $2 organisation_id.
insert into show_heads (show_id, organisation_id) values ($1, $2);

-- name: show_seats_insert
-- The seats of a show are those of its plan. $1 show_id, $2 organisation_id, $3 plan_id.
insert into show_seats (show_id, organisation_id, seat_no)
select $1, $2, seat_no from plan_seats where plan_id = $3 order by seat_no;

-- name: show_areas_insert
-- $1 show_id, $2 organisation_id, $3 area_no[], $4 area_id[], $5 name[], $6 category[], $7 external_ref[] ('' for none),
-- $8 capacity[].
insert into show_areas (show_id, organisation_id, area_no, area_id, name, category, external_ref, capacity)
select $1, $2, a.area_no, a.area_id, a.name, a.category, nullif(a.external_ref, ''), a.capacity
  from (select unnest($3::int[]) as area_no, unnest($4::uuid[]) as area_id, unnest($5::text[]) as name,
               unnest($6::text[]) as category, unnest($7::text[]) as external_ref, unnest($8::int[]) as capacity) as a;

-- name: shows_save_facts
-- What is told about a show and decides nothing. $1 show_id, $2 doors_at, $3 language or '', $4 format, $5 accessibility,
-- $6 note or '', $7 cancellation, $8 test_mode, $9 external_ref or '', $10 metadata.
update shows
   set doors_at = $2, language = nullif($3, ''), format = $4, accessibility = $5, note = nullif($6, ''),
       cancellation = $7, test_mode = $8, external_ref = nullif($9, ''), metadata = $10
 where show_id = $1;

-- name: shows_facts
-- $1 show_id.
select doors_at, coalesce(language, ''), format, accessibility, coalesce(note, ''), cancellation, test_mode,
       coalesce(external_ref, ''), metadata
  from shows where show_id = $1;

-- name: shows_find
-- A page of shows in time order. $1 organisation_id, $2 drafts too, $3 from or null, $4 to or null, $5 status as a reader
-- sees it or '', $6 and $7 start and show_id of the last show of the page before or null, $8 how many, $9 now or null.
select s.show_id
  from shows s
 where s.organisation_id = $1
   and ($2 or s.status <> 'draft')
   and (s.starts_at, s.show_id) > (coalesce($6::timestamptz, '-infinity'), coalesce($7::uuid, '00000000-0000-0000-0000-000000000000'))
   and s.starts_at >= coalesce($3::timestamptz, '-infinity')
   and s.starts_at < coalesce($4::timestamptz, 'infinity')
   and ($5 = '' or $5 = case when s.status in ('on_sale', 'paused') and coalesce(s.ends_at, s.starts_at) <= coalesce($9, now())
                             then 'ended' else s.status end)
 order by s.starts_at, s.show_id
 limit $8;

-- name: shows_find_upcoming
-- A page of shows that are not over, in time order. $1 organisation_id, $2 drafts too, $3 and $4 start and show_id of the
-- last show of the page before or null, $5 how many, $6 now or null.
select s.show_id
  from shows s
 where s.organisation_id = $1
   and ($2 or s.status <> 'draft')
   and coalesce(s.ends_at, s.starts_at) > coalesce($6::timestamptz, now())
   and (s.starts_at, s.show_id) > (coalesce($3::timestamptz, '-infinity'), coalesce($4::uuid, '00000000-0000-0000-0000-000000000000'))
 order by s.starts_at, s.show_id
 limit $5;

-- name: shows_find_by_event
-- As shows_find, of one event. $10 event_id, $11 venue_id or null, $12 only those not over.
select s.show_id
  from shows s
 where s.organisation_id = $1
   and ($2 or s.status <> 'draft')
   and s.event_id = $10
   and ($11::uuid is null or s.venue_id = $11)
   and (s.starts_at, s.show_id) > (coalesce($6::timestamptz, '-infinity'), coalesce($7::uuid, '00000000-0000-0000-0000-000000000000'))
   and s.starts_at >= coalesce($3::timestamptz, '-infinity')
   and s.starts_at < coalesce($4::timestamptz, 'infinity')
   and ($5 = '' or $5 = case when s.status in ('on_sale', 'paused') and coalesce(s.ends_at, s.starts_at) <= coalesce($9, now())
                             then 'ended' else s.status end)
   and (not $12 or coalesce(s.ends_at, s.starts_at) > coalesce($9, now()))
 order by s.starts_at, s.show_id
 limit $8;

-- name: shows_find_by_venue
-- As shows_find, of one venue. $10 venue_id, $11 only those not over.
select s.show_id
  from shows s
 where s.organisation_id = $1
   and ($2 or s.status <> 'draft')
   and s.venue_id = $10
   and (s.starts_at, s.show_id) > (coalesce($6::timestamptz, '-infinity'), coalesce($7::uuid, '00000000-0000-0000-0000-000000000000'))
   and s.starts_at >= coalesce($3::timestamptz, '-infinity')
   and s.starts_at < coalesce($4::timestamptz, 'infinity')
   and ($5 = '' or $5 = case when s.status in ('on_sale', 'paused') and coalesce(s.ends_at, s.starts_at) <= coalesce($9, now())
                             then 'ended' else s.status end)
   and (not $11 or coalesce(s.ends_at, s.starts_at) > coalesce($9, now()))
 order by s.starts_at, s.show_id
 limit $8;

-- name: shows_find_by_ref
-- The show with this external_ref, if there is one. $1 organisation_id, $2 drafts too, $3 external_ref.
select show_id from shows where organisation_id = $1 and external_ref = $3 and ($2 or status <> 'draft');

-- name: shows_state
-- What of shows may have changed since they were read: which version of its row, how far the show's log is, and the clock
-- that it is judged by. In the order asked for. $1 show_id[].
select s.show_id, s.xmin, d.version, greatest(clock_timestamp(), d.changed_at)
  from unnest($1::uuid[]) with ordinality as w(show_id, i)
  join shows s using (show_id)
  join show_heads d using (show_id)
 order by w.i;

-- name: shows_read
-- Shows as readers see them, without the names of places. $1 show_id[].
select s.show_id, s.organisation_id, s.event_id, s.plan_id, s.status, s.starts_at, s.ends_at, s.time_zone,
       s.currency, s.hold_seconds, s.max_hold_seconds, s.max_places_per_reservation, coalesce(s.max_places_per_customer, 0),
       s.offer_seconds, s.sales_start_at, s.sales_end_at, s.definition,
       s.doors_at, coalesce(s.language, ''), s.format, s.accessibility, coalesce(s.note, ''), s.cancellation, s.test_mode,
       coalesce(s.external_ref, ''), s.metadata, s.venue_id, s.hall_id, s.queue_open,
       s.xmin, d.version, greatest(clock_timestamp(), d.changed_at)
  from unnest($1::uuid[]) as w(show_id)
  join shows s using (show_id)
  join show_heads d using (show_id);

-- name: show_prices_read
-- $1 show_id[].
select show_id, category, ticket_type, amount_minor
  from show_prices where show_id = any ($1::uuid[])
 order by show_id, category, ticket_type;

-- name: shows_count
-- What is free in shows, counted: version, clock, places in all, places free, and when the next hold ends. An overdue
-- hold is free, or blocked if it was sold from a block. $1 show_id[].
select w.show_id, w.version, w.now, s.places + a.places, s.free + a.free + o.units,
       d.next
  from (select show_id, version, greatest(clock_timestamp(), changed_at) as now
          from show_heads where show_id = any ($1::uuid[]) offset 0) w
 cross join lateral (
   select count(*)::int as places,
          count(*) filter (where state = 'a' or (state = 'h' and held_until <= w.now and block_id is null))::int as free
     from show_seats where show_id = w.show_id) s
 cross join lateral (
   select coalesce(sum(capacity), 0)::int as places, coalesce(sum(capacity - held - booked), 0)::int as free
     from show_areas where show_id = w.show_id) a
 cross join lateral (
   select coalesce(sum(u.quantity), 0)::int as units
     from reservations r cross join lateral unnest(r.area_quantities) as u(quantity)
    where r.show_id = w.show_id and r.status = 'active' and r.expires_at <= w.now) o
 cross join lateral (
   select min(r.expires_at) as next
     from reservations r
    where r.show_id = w.show_id and r.status = 'active' and r.expires_at > w.now) d;
