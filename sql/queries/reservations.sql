-- Reservations. Every loading statement of the lane returns the same columns.

-- name: reservations_named
-- The reservations that commands name, locked in the order given. $1 show_id[], $2 reservation_id[].
select r.show_id, r.reservation_id, r.customer_id, r.status, r.created_at, r.expires_at, r.hold_seconds,
       r.closed_at, r.staff, r.block_id, r.booking_id, r.currency,
       r.seat_nos, r.seat_types, r.seat_prices,
       r.area_nos, r.area_types, r.area_requested, r.area_quantities, r.area_prices, r.metadata, r.own_expires_at, r.cancelled_places, r.waitlist_entry_id
  from unnest($1::uuid[], $2::uuid[]) as w(show_id, reservation_id)
 cross join lateral (
   select * from reservations r where r.show_id = w.show_id and r.reservation_id = w.reservation_id
    limit 1 for no key update) r;

-- name: reservations_due
-- The oldest overdue holds of shows that are to be tidied up. $1 show_id[], $2 now[], $3 limit[].
select r.show_id, r.reservation_id, r.customer_id, r.status, r.created_at, r.expires_at, r.hold_seconds,
       r.closed_at, r.staff, r.block_id, r.booking_id, r.currency,
       r.seat_nos, r.seat_types, r.seat_prices,
       r.area_nos, r.area_types, r.area_requested, r.area_quantities, r.area_prices, r.metadata, r.own_expires_at, r.cancelled_places, r.waitlist_entry_id
  from unnest($1::uuid[], $2::timestamptz[], $3::int[]) as w(show_id, now, most)
 cross join lateral (
   select * from reservations r
    where r.show_id = w.show_id and r.status = 'active' and r.expires_at <= w.now
    order by r.expires_at limit w.most) r;

-- name: reservations_due_in_areas
-- The oldest overdue holds with units of wanted areas, as many as cover what is
-- short; nothing where nothing is short. $1 show_id[], $2 now[], $3 area_no[], $4 wanted[].
select r.show_id, r.reservation_id, r.customer_id, r.status, r.created_at, r.expires_at, r.hold_seconds,
       r.closed_at, r.staff, r.block_id, r.booking_id, r.currency,
       r.seat_nos, r.seat_types, r.seat_prices,
       r.area_nos, r.area_types, r.area_requested, r.area_quantities, r.area_prices, r.metadata, r.own_expires_at, r.cancelled_places, r.waitlist_entry_id
  from unnest($1::uuid[], $2::timestamptz[], $3::int[], $4::int[]) as w(show_id, now, area_no, wanted)
 cross join lateral (
   select w.wanted - (a.capacity - a.held - a.booked) as units
     from show_areas a where a.show_id = w.show_id and a.area_no = w.area_no limit 1) short
 cross join lateral (
   select * from reservations r
    where r.show_id = w.show_id and r.status = 'active' and r.expires_at <= w.now
      and r.area_nos @> array[w.area_no]
    order by r.expires_at
    limit greatest(short.units, 0)) r;

-- name: reservations_places
-- How many places customers have in shows that limit them: live holds and
-- bookings. $1 show_id[], $2 now[], $3 customer_id[].
select w.show_id, w.customer_id, r.places
  from unnest($1::uuid[], $2::timestamptz[], $3::text[]) as w(show_id, now, customer_id)
 cross join lateral (
   select coalesce(sum(r.places - r.cancelled_places), 0)::int as places from reservations r
    where r.customer_id = w.customer_id and r.show_id = w.show_id
      and (r.status = 'consumed' or (r.status = 'active' and r.expires_at > w.now))) r;

-- name: reservations_exist
-- Whether a show ever had a hold. $1 show_id.
select exists (select from reservations where show_id = $1);

-- name: reservations_insert
-- $1 show_id[], $2 reservation_id[], $3 organisation_id[], $4 customer_id[], $5 created_at[], $6 expires_at[],
-- $7 hold_seconds[], $8 staff[], $9 block_id[], $10 currency[], $11 total_minor[], $12 places[],
-- $13-$15 seats as array literals, $16-$20 areas as array literals (null: none), $21 metadata[].
insert into reservations (show_id, reservation_id, organisation_id, customer_id, status, created_at, expires_at,
       hold_seconds, staff, block_id, currency, total_minor, places,
       seat_nos, seat_types, seat_prices,
       area_nos, area_types, area_requested, area_quantities, area_prices, metadata)
select w.show_id, w.reservation_id, w.organisation_id, w.customer_id, 'active', w.created_at, w.expires_at,
       w.hold_seconds, w.staff, w.block_id, w.currency, w.total_minor, w.places,
       w.seat_nos::int[], w.seat_types::text[], w.seat_prices::bigint[],
       coalesce(w.area_nos::int[], '{}'), coalesce(w.area_types::text[], '{}'), coalesce(w.area_requested::int[], '{}'), coalesce(w.area_quantities::int[], '{}'), coalesce(w.area_prices::bigint[], '{}'),
       w.metadata::jsonb
  from (select unnest($1::uuid[]) as show_id, unnest($2::uuid[]) as reservation_id, unnest($3::uuid[]) as organisation_id,
               unnest($4::text[]) as customer_id, unnest($5::timestamptz[]) as created_at,
               unnest($6::timestamptz[]) as expires_at, unnest($7::int[]) as hold_seconds, unnest($8::boolean[]) as staff,
               unnest($9::uuid[]) as block_id, unnest($10::text[]) as currency, unnest($11::bigint[]) as total_minor,
               unnest($12::int[]) as places, unnest($13::text[]) as seat_nos, unnest($14::text[]) as seat_types,
               unnest($15::text[]) as seat_prices, unnest($16::text[]) as area_nos, unnest($17::text[]) as area_types,
               unnest($18::text[]) as area_requested, unnest($19::text[]) as area_quantities,
               unnest($20::text[]) as area_prices, unnest($21::text[]) as metadata) as w;

-- name: reservations_update
-- What may change about reservations that exist. The arguments are those of reservations_insert, then
-- $22 status[], $23 closed_at[], $24 close_reason[], $25 booking_id[], $26 own_expires_at[], $27 cancelled_places[].
insert into reservations as r (show_id, reservation_id, organisation_id, customer_id, created_at, expires_at,
       hold_seconds, staff, block_id, currency, total_minor, places,
       seat_nos, seat_types, seat_prices,
       area_nos, area_types, area_requested, area_quantities, area_prices, metadata, status, closed_at, close_reason,
       booking_id, own_expires_at, cancelled_places)
select w.show_id, w.reservation_id, w.organisation_id, w.customer_id, w.created_at, w.expires_at,
       w.hold_seconds, w.staff, w.block_id, w.currency, w.total_minor, w.places,
       w.seat_nos::int[], w.seat_types::text[], w.seat_prices::bigint[],
       coalesce(w.area_nos::int[], '{}'), coalesce(w.area_types::text[], '{}'), coalesce(w.area_requested::int[], '{}'), coalesce(w.area_quantities::int[], '{}'), coalesce(w.area_prices::bigint[], '{}'),
       w.metadata::jsonb, w.status, w.closed_at, w.close_reason, w.booking_id, w.own_expires_at, w.cancelled_places
  from (select unnest($1::uuid[]) as show_id, unnest($2::uuid[]) as reservation_id, unnest($3::uuid[]) as organisation_id,
               unnest($4::text[]) as customer_id, unnest($5::timestamptz[]) as created_at,
               unnest($6::timestamptz[]) as expires_at, unnest($7::int[]) as hold_seconds, unnest($8::boolean[]) as staff,
               unnest($9::uuid[]) as block_id, unnest($10::text[]) as currency, unnest($11::bigint[]) as total_minor,
               unnest($12::int[]) as places, unnest($13::text[]) as seat_nos, unnest($14::text[]) as seat_types,
               unnest($15::text[]) as seat_prices, unnest($16::text[]) as area_nos, unnest($17::text[]) as area_types,
               unnest($18::text[]) as area_requested, unnest($19::text[]) as area_quantities,
               unnest($20::text[]) as area_prices, unnest($21::text[]) as metadata, unnest($22::text[]) as status,
               unnest($23::timestamptz[]) as closed_at, unnest($24::text[]) as close_reason, unnest($25::uuid[]) as booking_id,
               unnest($26::timestamptz[]) as own_expires_at, unnest($27::int[]) as cancelled_places) as w
on conflict (show_id, reservation_id) do update
   set status = excluded.status, expires_at = excluded.expires_at, closed_at = excluded.closed_at,
       close_reason = excluded.close_reason, total_minor = excluded.total_minor, places = excluded.places,
       seat_nos = excluded.seat_nos, seat_types = excluded.seat_types, seat_prices = excluded.seat_prices,
       area_nos = excluded.area_nos, area_types = excluded.area_types, area_requested = excluded.area_requested,
       area_quantities = excluded.area_quantities, area_prices = excluded.area_prices,
       booking_id = excluded.booking_id, own_expires_at = excluded.own_expires_at, cancelled_places = excluded.cancelled_places;

-- name: reservations_show_of
-- In which show a reservation is. $1 reservation_id.
select show_id from reservations where reservation_id = $1;

-- name: reservations_read
-- One reservation and the clock it is judged by. $1 reservation_id.
select r.show_id, r.reservation_id, r.customer_id, r.status, r.created_at, r.expires_at, r.hold_seconds,
       r.closed_at, r.staff, r.block_id, r.booking_id, r.currency,
       r.seat_nos, r.seat_types, r.seat_prices,
       r.area_nos, r.area_types, r.area_requested, r.area_quantities, r.area_prices, r.metadata, r.own_expires_at, r.cancelled_places, r.waitlist_entry_id,
       r.organisation_id, h.version, greatest(clock_timestamp(), h.changed_at)
  from reservations r
  join show_heads h using (show_id)
 where r.reservation_id = $1;

-- name: reservations_list
-- A page of reservations, newest first. $1 organisation_id, $2 show_id or null, $3 status or null ('active' and
-- 'expired' as a reader sees them), $4 customer_id or null, $5 the last reservation_id of the page before or null,
-- $6 how many, $7 now or null.
select r.show_id, r.reservation_id, r.customer_id, r.status, r.created_at, r.expires_at, r.hold_seconds,
       r.closed_at, r.staff, r.block_id, r.booking_id, r.currency,
       r.seat_nos, r.seat_types, r.seat_prices,
       r.area_nos, r.area_types, r.area_requested, r.area_quantities, r.area_prices, r.metadata, r.own_expires_at, r.cancelled_places, r.waitlist_entry_id,
       r.organisation_id, h.version, greatest(coalesce($7, clock_timestamp()), h.changed_at)
  from reservations r
  join show_heads h using (show_id)
 where r.organisation_id = $1
   and ($2::uuid is null or r.show_id = $2)
   and ($4::text is null or r.customer_id = $4)
   and ($5::uuid is null or r.reservation_id < $5)
   and ($3::text is null
        or ($3 = 'active' and r.status = 'active' and r.expires_at > greatest(coalesce($7, clock_timestamp()), h.changed_at))
        or ($3 = 'expired' and (r.status = 'expired' or (r.status = 'active' and r.expires_at <= greatest(coalesce($7, clock_timestamp()), h.changed_at))))
        or ($3 not in ('active', 'expired') and r.status = $3))
 order by r.reservation_id desc
 limit $6;

-- name: reservations_overdue_shows
-- Shows with holds that ended before $1 seconds ago and are not closed, the most overdue first, and by how many
-- seconds. $2 how many shows.
select r.show_id, extract(epoch from clock_timestamp() - min(r.expires_at))::float8, count(*)::int
  from reservations r
 where r.status = 'active' and r.expires_at <= clock_timestamp() - make_interval(secs => $1::float8)
 group by r.show_id
 order by min(r.expires_at)
 limit $2;

-- name: reservations_any_due
-- Whether a show has anything overdue, asked without a lock. $1 show_id.
select exists (select from reservations where show_id = $1 and status = 'active' and expires_at <= clock_timestamp());
