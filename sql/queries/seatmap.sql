-- Who owns the places of a show.

-- name: seats_wanted
-- The wanted seats as they are, and those that might be had locked, in the order given. It never waits: a free seat
-- whose lock is not had (locked_state is null) is taken. $1 show_id[], $2 seat_no[], $3 now[]; sorted by show and seat.
select s.show_id, s.seat_no, s.state, s.reservation_id, s.held_until, s.block_id, s.holder, l.state as locked_state
  from unnest($1::uuid[], $2::int[], $3::timestamptz[]) as w(show_id, seat_no, now)
 cross join lateral (
   select * from show_seats s where s.show_id = w.show_id and s.seat_no = w.seat_no limit 1) s
  left join lateral (
   select l.state from show_seats l
    where l.show_id = w.show_id and l.seat_no = w.seat_no
      and (s.state = 'a' or s.state = 'x' or (s.state = 'h' and s.held_until <= w.now))
    limit 1 for update skip locked) l on true;

-- name: seats_lock_owned
-- Locks the seats of reservations, waiting for them: a release must not lose one. $1 show_id[], $2 reservation_id[].
select s.show_id, s.seat_no, s.state, s.reservation_id, s.held_until, s.block_id, s.holder
  from unnest($1::uuid[], $2::uuid[]) as w(show_id, reservation_id)
 cross join lateral (
   select r.seat_nos from reservations r where r.show_id = w.show_id and r.reservation_id = w.reservation_id limit 1) r
 cross join lateral unnest(r.seat_nos) as n(seat_no)
 cross join lateral (
   select * from show_seats s where s.show_id = w.show_id and s.seat_no = n.seat_no limit 1 for update) s;

-- name: seats_lock_all
-- Locks every seat of a show that moves to another plan. $1 show_id.
select s.show_id, s.seat_no, s.state, s.reservation_id, s.held_until, s.block_id, s.holder
  from show_seats s
 where s.show_id = $1
 order by s.seat_no
   for update of s;

-- name: seats_update
-- $1 show_id[], $2 organisation_id[], $3 seat_no[], $4 state[], $5 reservation_id[], $6 held_until[], $7 block_id[],
-- $8 holder[].
insert into show_seats (show_id, organisation_id, seat_no, state, reservation_id, held_until, block_id, holder)
select w.show_id, w.organisation_id, w.seat_no, w.state::"char", w.reservation_id, w.held_until, w.block_id, w.holder
  from (select unnest($1::uuid[]) as show_id, unnest($2::uuid[]) as organisation_id, unnest($3::int[]) as seat_no,
               unnest($4::text[]) as state, unnest($5::uuid[]) as reservation_id, unnest($6::timestamptz[]) as held_until,
               unnest($7::uuid[]) as block_id, unnest($8::int[]) as holder) as w
on conflict (show_id, seat_no) do update
   set state = excluded.state, reservation_id = excluded.reservation_id, held_until = excluded.held_until,
       block_id = excluded.block_id, holder = excluded.holder;

-- name: seats_insert
-- Seats that a new plan brings. $1 show_id, $2 organisation_id, $3 seat_no[].
insert into show_seats (show_id, organisation_id, seat_no) select $1, $2, unnest($3::int[]);

-- name: seats_delete
-- Seats that a new plan lacks; only free ones go. $1 show_id, $2 seat_no[].
delete from show_seats where show_id = $1 and seat_no = any ($2::int[]) and state = 'a';

-- name: areas_load
-- All areas of the shows. $1 show_id[].
select a.show_id, a.area_no, a.area_id, a.name, a.category, a.capacity, a.held, a.booked
  from unnest($1::uuid[]) as w(show_id)
 cross join lateral (select * from show_areas a where a.show_id = w.show_id offset 0) a;

-- name: areas_update
-- $1 show_id[], $2 organisation_id[], $3 area_no[], $4 area_id[], $5 name[], $6 category[], $7 capacity[], $8 held[], $9 booked[].
insert into show_areas (show_id, organisation_id, area_no, area_id, name, category, capacity, held, booked)
select unnest($1::uuid[]), unnest($2::uuid[]), unnest($3::int[]), unnest($4::uuid[]), unnest($5::text[]), unnest($6::text[]),
       unnest($7::int[]), unnest($8::int[]), unnest($9::int[])
on conflict (show_id, area_no) do update
   set name = excluded.name, category = excluded.category, capacity = excluded.capacity,
       held = excluded.held, booked = excluded.booked;

-- name: areas_delete
-- Areas that a new plan lacks; the rules have made sure that nobody holds a place there. $1 show_id, $2 area_no[].
delete from show_areas where show_id = $1 and area_no = any ($2::int[]);

-- name: blocks_insert
-- $1 show_id, $2 block_id, $3 organisation_id, $4 reason, $5 seat_nos, $6 created_at.
insert into blocks (show_id, block_id, organisation_id, reason, seat_nos, created_at) values ($1, $2, $3, $4, $5, $6);

-- name: blocks_read
-- The seats that a block was made of. $1 show_id, $2 block_id.
select seat_nos from blocks where show_id = $1 and block_id = $2;

-- name: seatmap_read
-- The whole map of a show, from one snapshot, as one row: its head, the clock, its seats and areas, and the holds of
-- areas. seat_nos and states are in step, in no particular order; held_until has one entry for each h and H in states,
-- in theirs. H is a held seat that goes back to its block. $1 show_id.
select h.version, h.definition, h.changed_at, greatest(clock_timestamp(), h.changed_at),
       s.seat_nos, s.states, s.held_until,
       a.area_nos, a.area_ids, a.external_refs, a.names, a.categories, a.capacities, a.held, a.booked,
       r.reservation_ids, r.expires_at, r.area_nos, r.quantities
  from show_heads h
 cross join lateral (
   select array_agg(s.seat_no) as seat_nos,
          string_agg(case when s.state = 'h' and s.block_id is not null then 'H' else s.state::text end, '') as states,
          array_agg(s.held_until) filter (where s.state = 'h') as held_until
     from show_seats s
    where s.show_id = h.show_id) s
 cross join lateral (
   select array_agg(a.area_no) as area_nos, array_agg(a.area_id) as area_ids,
          array_agg(coalesce(a.external_ref, '')) as external_refs, array_agg(a.name) as names,
          array_agg(a.category) as categories, array_agg(a.capacity) as capacities,
          array_agg(a.held) as held, array_agg(a.booked) as booked
     from (select * from show_areas a where a.show_id = h.show_id order by a.area_no) a) a
 cross join lateral (
   select array_agg(r.reservation_id) as reservation_ids, array_agg(r.expires_at) as expires_at,
          array_agg(i.area_no) as area_nos, array_agg(i.quantity) as quantities
     from reservations r
    cross join lateral unnest(r.area_nos, r.area_quantities) as i(area_no, quantity)
    where r.show_id = h.show_id and r.status = 'active') r
 where h.show_id = $1;

-- name: seatmap_changes
-- For each of many questions the head of its show, the clock, and what was logged after a version: from one snapshot. One
-- row without a change when nothing was; none when there is no such show. $1 show_id[], $2 the versions, $3 how many changes
-- at most for each.
select w.n, h.version, h.definition, h.changed_at, greatest(clock_timestamp(), h.changed_at),
       c.version, c.type, c.reservation_id, c.expires_at, c.seat_nos, c.seat_states, c.area_nos, c.area_units, c.area_booked
  from unnest($1::uuid[], $2::bigint[]) with ordinality as w(show_id, after, n)
 cross join lateral (select * from show_heads h where h.show_id = w.show_id limit 1) h
  left join lateral (
    select * from changes c
     where c.show_id = w.show_id and c.version > w.after
     order by c.version, c.n
     limit $3) c on true
 order by w.n, c.version, c.n;

-- name: seatmap_owners
-- Whose the places of a show are: the seats that somebody holds or has bought, or that are blocked. $1 show_id.
select s.seat_no, s.reservation_id, r.customer_id, s.block_id, s.held_until
  from show_seats s
  left join reservations r on r.show_id = s.show_id and r.reservation_id = s.reservation_id
 where s.show_id = $1 and s.state <> 'a';
