-- Waiting rooms. The row of queue_heads is the lock: whoever joins, calls, leaves or draws has it first.

-- name: queue_plans
-- For the rest of the transaction statements are planned each time, and for their indexes: a plan from when nobody had
-- joined yet would read half a million entries from end to end.
select set_config('plan_cache_mode', 'force_custom_plan', true), set_config('enable_seqscan', 'off', true);

-- name: queue_heads_ensure
-- Makes the head of a waiting room that nobody has come to yet. $1 show_id.
insert into queue_heads (show_id, organisation_id, since)
select show_id, organisation_id, clock_timestamp() from shows
 where show_id = $1 and (queue_open or queue ->> 'mode' = 'automatic')
on conflict (show_id) do nothing;

-- name: queue_heads_open
-- The room opens: the rate counts from now, and turns of another day are not passed on. $1 show_id, $2 organisation_id, $3 now.
insert into queue_heads as h (show_id, organisation_id, since) values ($1, $2, $3)
on conflict (show_id) do update set since = greatest(h.since, excluded.since), freed = 0, calm_since = null;

-- name: queue_heads_lock
-- $1 show_id.
select joined, drawn, head, since, freed, rounds, calm_since from queue_heads where show_id = $1 for update;

-- name: queue_heads_save
-- $1 show_id, $2 joined, $3 drawn, $4 head, $5 since, $6 freed, $7 rounds, $8 calm_since.
update queue_heads
   set joined = $2, drawn = $3, head = $4, since = $5, freed = $6, rounds = $7, calm_since = $8
 where show_id = $1;

-- name: queue_heads_arrive
-- Adds what an instance has seen arrive to the window of ten seconds, and returns the sum. $1 show_id, $2 how many.
insert into queue_heads as h (show_id, organisation_id, since, arrivals, arrivals_since)
select show_id, organisation_id, clock_timestamp(), $2::bigint, clock_timestamp() from shows where show_id = $1
on conflict (show_id) do update
   set arrivals = case when h.arrivals_since > excluded.arrivals_since - interval '10 seconds' then h.arrivals else 0 end + excluded.arrivals,
       arrivals_since = case when h.arrivals_since > excluded.arrivals_since - interval '10 seconds' then h.arrivals_since else excluded.arrivals_since end
returning arrivals;

-- name: queue_shows_read
-- What of a show a waiting room goes by, and how far it has come. $1 show_id; or null, and $2 an entry_id of it.
select s.show_id, s.organisation_id, s.status, s.starts_at, s.ends_at, s.sales_start_at, s.sales_end_at,
       s.queue, s.queue_open, coalesce(s.queue_ended, ''),
       coalesce(h.joined, 0), coalesce(h.drawn, 0), coalesce(h.head, 0), h.since, coalesce(h.freed, 0), coalesce(h.rounds, 0), h.calm_since,
       greatest(clock_timestamp(), h.since)
  from shows s left join queue_heads h using (show_id)
 where s.show_id = coalesce($1::uuid, (select show_id from queue_entries where entry_id = $2));

-- name: queue_shows_open
-- Shows whose waiting room is open.
select show_id from shows where queue_open;

-- name: queue_shows_places
-- Whether a show has a place that is free, and one that is held: a hold may end. $1 show_id.
select exists (select from show_seats where show_id = $1 and state = 'a')
       or exists (select from show_areas where show_id = $1 and held + booked < capacity),
       exists (select from show_seats where show_id = $1 and state = 'h')
       or exists (select from show_areas where show_id = $1 and held > 0);

-- name: queue_rounds_undrawn
-- The rounds whose order is not known yet, in turn. $1 show_id.
select round, first, entries, opened_at, closes_at, closed_at, drawn_at, key, digest, beacon, public_value, public_from
  from queue_rounds where show_id = $1 and drawn_at is null order by round;

-- name: queue_rounds_read
-- Rounds from $2 on. $1 show_id, $3 how many.
select round, first, entries, opened_at, closes_at, closed_at, drawn_at, key, digest, beacon, public_value, public_from
  from queue_rounds where show_id = $1 and round >= $2 order by round limit $3;

-- name: queue_rounds_of_entry
-- The round that an entry is drawn in. $1 entry_id.
select r.round, r.first, r.entries, r.opened_at, r.closes_at, r.closed_at, r.drawn_at, r.key, r.digest, r.beacon, r.public_value, r.public_from
  from queue_entries e join queue_rounds r using (show_id, round) where e.entry_id = $1;

-- name: queue_rounds_last
-- The round that began last. $1 show_id.
select round, first, entries, opened_at, closes_at, closed_at, drawn_at, key, digest, beacon, public_value, public_from
  from queue_rounds where show_id = $1 order by round desc limit 1;

-- name: queue_rounds_of
-- The drawn rounds that have the places from $2 to $3 of the order. $1 show_id.
select round, first, entries, opened_at, closes_at, closed_at, drawn_at, key, digest, beacon, public_value, public_from
  from queue_rounds
 where show_id = $1 and drawn_at is not null
   and round >= (select coalesce(max(round), 0) from (
     select round from queue_rounds where show_id = $1 and first < $2 order by round desc limit 1) r)
   and first < $3
 order by round;

-- name: queue_rounds_save
-- $1 show_id, $2 organisation_id, $3 round, $4 first, $5 entries, $6 opened_at, $7 closes_at, $8 closed_at, $9 drawn_at,
-- $10 key, $11 digest, $12 beacon, $13 public_value, $14 public_from.
insert into queue_rounds (show_id, organisation_id, round, first, entries, opened_at, closes_at, closed_at, drawn_at, key, digest,
       beacon, public_value, public_from)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
on conflict (show_id, round) do update
   set entries = excluded.entries, closed_at = excluded.closed_at, drawn_at = excluded.drawn_at, digest = excluded.digest,
       public_value = excluded.public_value, public_from = excluded.public_from;

-- name: queue_entries_of
-- The living entries of customers, with their turns. $1 show_id, $2 customer_id[].
select e.entry_id, e.number, e.round, e.customer_id, e.joined_at, e.closed_at,
       a.position, a.turn, a.admitted_at, a.lapses_at, a.session_ends_at, a.reservation_id, a.returning_at, a.passed_on, a.closed_at,
       r.status is not distinct from 'consumed'
  from unnest($2::text[]) as w(customer_id)
 cross join lateral (
   select * from queue_entries e where e.customer_id = w.customer_id and e.show_id = $1 and e.closed_at is null limit 1) e
  left join lateral (
   select * from queue_admissions a where a.show_id = e.show_id and a.number = e.number limit 1) a on true
  left join lateral (
   select r.status from reservations r where r.show_id = a.show_id and r.reservation_id = a.reservation_id limit 1) r on true;

-- name: queue_entries_insert
-- $1 show_id, $2 organisation_id, $3 round, $4 joined_at, $5 number[], $6 entry_id[], $7 customer_id[].
insert into queue_entries (show_id, organisation_id, round, joined_at, number, entry_id, customer_id)
select $1, $2, $3, $4, w.number, w.entry_id, w.customer_id
  from unnest($5::bigint[], $6::uuid[], $7::text[]) as w(number, entry_id, customer_id);

-- name: queue_entries_close
-- $1 show_id, $2 number[], $3 now.
update queue_entries set closed_at = $3 where show_id = $1 and number = any ($2::bigint[]) and closed_at is null;

-- name: queue_entries_find
-- Where an entry is. $1 entry_id.
select show_id, customer_id, organisation_id from queue_entries where entry_id = $1;

-- name: queue_entries_read
-- An entry with its turn, and whose show's it is. $1 entry_id.
select e.entry_id, e.number, e.round, e.customer_id, e.joined_at, e.closed_at,
       a.position, a.turn, a.admitted_at, a.lapses_at, a.session_ends_at, a.reservation_id, a.returning_at, a.passed_on, a.closed_at,
       r.status is not distinct from 'consumed', e.organisation_id
  from queue_entries e
  left join queue_admissions a on a.show_id = e.show_id and a.number = e.number
  left join reservations r on r.show_id = a.show_id and r.reservation_id = a.reservation_id
 where e.entry_id = $1;

-- name: queue_entries_list
-- Numbers and ids of the entries of a round, in order. $1 show_id, $2 after this number, $3 how many.
select number, entry_id from queue_entries where show_id = $1 and number > $2 order by number limit $3;

-- name: queue_entries_purge
-- Forgets who waited for shows that were over 30 days ago, at most $1 at a time.
with gone as (
  delete from queue_entries
   where ctid = any (array(
     select e.ctid
       from queue_heads h
       join shows s using (show_id)
      cross join lateral (select ctid from queue_entries e where e.show_id = h.show_id limit $1) e
      where h.joined > 0 and coalesce(s.ends_at, s.starts_at) < clock_timestamp() - interval '30 days' limit $1))
  returning show_id, number),
turns as (
  delete from queue_admissions a using gone g where a.show_id = g.show_id and a.number = g.number)
select count(*) from gone;

-- name: queue_admissions_lapse
-- Turns that were missed are to be passed on. $1 show_id, $2 now.
update queue_admissions set passed_on = true
 where show_id = $1 and session_ends_at is null and not passed_on and returning_at is null and lapses_at <= $2;

-- name: queue_admissions_resume
-- The sale goes on after a pause: turns that were not used begin anew. $1 show_id, $2 lapses_at.
update queue_admissions set lapses_at = greatest(lapses_at, $2::timestamptz)
 where show_id = $1 and session_ends_at is null and not passed_on and returning_at is null;

-- name: queue_admissions_returning
-- Who missed their turn and came back, the first first. $1 show_id, $2 how many.
select number from queue_admissions
 where show_id = $1 and returning_at is not null and closed_at is null
 order by returning_at, number limit $2;

-- name: queue_admissions_recall
-- $1 show_id, $2 number[], $3 now, $4 lapses_at.
update queue_admissions
   set turn = 2, admitted_at = $3, lapses_at = $4, returning_at = null, passed_on = false
 where show_id = $1 and number = any ($2::bigint[]);

-- name: queue_admissions_call
-- The turns of those who are still there. $1 show_id, $2 organisation_id, $3 now, $4 lapses_at, $5 number[], $6 position[].
insert into queue_admissions (show_id, organisation_id, admitted_at, lapses_at, number, position, entry_id, customer_id)
select $1, $2, $3, $4, w.number, w.position, e.entry_id, e.customer_id
  from unnest($5::bigint[], $6::bigint[]) as w(number, position)
 cross join lateral (
   select * from queue_entries e where e.show_id = $1 and e.number = w.number limit 1) e
 where e.closed_at is null;

-- name: queue_admissions_return
-- Who missed their turn comes back. $1 show_id, $2 number[], $3 now.
update queue_admissions set returning_at = $3, passed_on = true
 where show_id = $1 and number = any ($2::bigint[]) and returning_at is null and session_ends_at is null;

-- name: queue_admissions_close
-- The turn of an entry that leaves. It is passed on if nobody used it, which the answer says. $1 show_id, $2 number, $3 now.
update queue_admissions a
   set closed_at = $3, passed_on = a.passed_on or a.session_ends_at is null, returning_at = null
  from (select number, session_ends_at is null and not passed_on as unused
          from queue_admissions where show_id = $1 and number = $2 for update) w
 where a.show_id = $1 and a.number = w.number and a.closed_at is null
returning w.unused;

-- name: queue_admissions_load
-- The turns that holds need, locked, for the lane. $1 show_id[], $2 number[].
select a.show_id, a.number, a.entry_id, a.customer_id, a.position, a.turn, a.admitted_at, a.lapses_at, a.session_ends_at, a.reservation_id,
       a.returning_at, a.passed_on, a.closed_at
  from unnest($1::uuid[], $2::bigint[]) as w(show_id, number)
 cross join lateral (
   select * from queue_admissions a where a.show_id = w.show_id and a.number = w.number
    limit 1 for no key update) a;

-- name: queue_admissions_use
-- Uses turns up. $1 show_id[], $2 organisation_id[], $3 number[], $4 entry_id[], $5 customer_id[], $6 position[], $7 admitted_at[],
-- $8 lapses_at[], $9 session_ends_at[], $10 reservation_id[].
insert into queue_admissions (show_id, organisation_id, number, entry_id, customer_id, position, admitted_at, lapses_at, session_ends_at, reservation_id)
select unnest($1::uuid[]), unnest($2::uuid[]), unnest($3::bigint[]), unnest($4::uuid[]), unnest($5::text[]),
       unnest($6::bigint[]), unnest($7::timestamptz[]), unnest($8::timestamptz[]), unnest($9::timestamptz[]),
       unnest($10::uuid[])
on conflict (show_id, number) do update
   set session_ends_at = excluded.session_ends_at, reservation_id = excluded.reservation_id;

-- name: queue_admissions_positions
-- Where the turns were called that there were, by number. $1 show_id, $2 after this number, $3 how many.
select number, position from queue_admissions where show_id = $1 and number > $2 order by number limit $3;

-- name: queue_waiting
-- How many wait and how old the head is, over all open waiting rooms, for metrics.
select coalesce(sum(h.joined - h.head), 0)::bigint, count(*)
  from shows s join queue_heads h using (show_id) where s.queue_open;
