-- The waitlist of sold-out shows.

-- name: waitlist_sorts
-- What sorts of parties wait in a show: sizes, and wanted categories. $1 show_id.
with recursive sorts as (
  (select w.party_size, w.categories from waitlist_entries w
    where w.show_id = $1 and w.status = 'waiting'
    order by w.party_size, w.categories limit 1)
  union all
  select n.party_size, n.categories
    from sorts s
   cross join lateral (
     select w.party_size, w.categories from waitlist_entries w
      where w.show_id = $1 and w.status = 'waiting' and (w.party_size, w.categories) > (s.party_size, s.categories)
      order by w.party_size, w.categories limit 1) n)
select party_size, categories from sorts;

-- name: waitlist_free
-- The seats of a show that are free, as written down, locked, from runs of numbers; those that somebody outside the lanes
-- has are left out. $1 show_id, $2 first[], $3 last[], $4 how many of a run at most.
select s.show_id, s.seat_no, s.state, s.reservation_id, s.held_until, s.block_id, s.holder
  from unnest($2::int[], $3::int[]) as w(first, last)
 cross join lateral (
   select * from show_seats s
    where s.show_id = $1 and s.seat_no between w.first and w.last and s.state = 'a'
    order by s.seat_no limit $4::int for update skip locked) s;

-- name: waitlist_next
-- Who comes next: the earliest of some sorts of parties, without those who may not have so many places more. Between a sort
-- and itself, in the order of sorts, is for the index by sorts alone; another would be read from the show's first entry on.
-- $1 show_id, $2 party_size[], $3 categories as array literals, $4 how many of each sort, $5 how many places a customer may
-- have, 0 for any number, $6 now.
select e.show_id, e.entry_id, e.customer_id, e.entry_no, e.party_size, e.categories, e.status, e.joined_at, e.offered_at,
       e.reservation_id, e.closed_at
  from unnest($2::int[], $3::text[], $4::int[]) as w(party_size, categories, most)
 cross join lateral (
   select * from waitlist_entries e
    where e.show_id = $1 and e.status = 'waiting'
      and (e.party_size, e.categories) between (w.party_size, w.categories::text[]) and (w.party_size, w.categories::text[])
      and ($5::int = 0 or e.party_size + (
           select coalesce(sum(r.places - r.cancelled_places), 0) from reservations r
            where r.customer_id = e.customer_id and r.show_id = $1
              and (r.status = 'consumed' or (r.status = 'active' and r.expires_at > $6::timestamptz))) <= $5::int)
    order by e.party_size, e.categories, e.entry_no
    limit w.most) e;

-- name: waitlist_named
-- Entries that commands and reservations are about, locked. $1 show_id[], $2 entry_id[].
select e.show_id, e.entry_id, e.customer_id, e.entry_no, e.party_size, e.categories, e.status, e.joined_at, e.offered_at,
       e.reservation_id, e.closed_at
  from unnest($1::uuid[], $2::uuid[]) as w(show_id, entry_id)
 cross join lateral (
   select * from waitlist_entries e where e.show_id = w.show_id and e.entry_id = w.entry_id limit 1 for no key update) e;

-- name: waitlist_of_customers
-- Entries that customers have and that are not over. $1 show_id[], $2 customer_id[].
select e.show_id, e.entry_id, e.customer_id, e.entry_no, e.party_size, e.categories, e.status, e.joined_at, e.offered_at,
       e.reservation_id, e.closed_at
  from unnest($1::uuid[], $2::text[]) as w(show_id, customer_id)
 cross join lateral (
   select * from waitlist_entries e
    where e.show_id = w.show_id and e.customer_id = w.customer_id and e.status in ('waiting', 'offered')
    limit 1 for no key update) e;

-- name: waitlist_save
-- New entries, and what may change about old ones. $1 show_id[], $2 entry_id[], $3 organisation_id[], $4 customer_id[],
-- $5 entry_no[], $6 party_size[], $7 categories as array literals, $8 status[], $9 joined_at[], $10 offered_at[],
-- $11 reservation_id[], $12 closed_at[].
insert into waitlist_entries (show_id, entry_id, organisation_id, customer_id, entry_no, party_size, categories, status,
       joined_at, offered_at, reservation_id, closed_at)
select w.show_id, w.entry_id, w.organisation_id, w.customer_id, w.entry_no, w.party_size, w.categories::text[], w.status,
       w.joined_at, w.offered_at, w.reservation_id, w.closed_at
  from (select unnest($1::uuid[]) as show_id, unnest($2::uuid[]) as entry_id, unnest($3::uuid[]) as organisation_id,
               unnest($4::text[]) as customer_id, unnest($5::bigint[]) as entry_no, unnest($6::int[]) as party_size,
               unnest($7::text[]) as categories, unnest($8::text[]) as status, unnest($9::timestamptz[]) as joined_at,
               unnest($10::timestamptz[]) as offered_at, unnest($11::uuid[]) as reservation_id,
               unnest($12::timestamptz[]) as closed_at) as w
on conflict (show_id, entry_id) do update
   set status = excluded.status, offered_at = excluded.offered_at, reservation_id = excluded.reservation_id,
       closed_at = excluded.closed_at;

-- name: waitlist_mark
-- Says of a reservation whose offer it is. Apart from reservations_insert, where every hold would pay for it.
-- $1 show_id, $2 reservation_id, $3 entry_id.
update reservations set waitlist_entry_id = $3 where show_id = $1 and reservation_id = $2;

-- name: waitlist_count
-- How many wait in a show, when that has changed. $1 show_id, $2 how many.
update show_heads set waiting = $2 where show_id = $1;

-- name: waitlist_buyers_save
-- $1 show_id, $2 entry_id, $3 organisation_id, $4 customer_id, $5 name, $6 email, $7 phone, $8 locale.
insert into waitlist_buyers (show_id, entry_id, organisation_id, customer_id, name, email, phone, locale)
values ($1, $2, $3, $4, $5, $6, $7, $8);

-- name: waitlist_looks_save
-- $1 show_id, $2 organisation_id, $3 looked_at, $4 categories, $5 found, $6 remaining.
insert into waitlist_looks (show_id, organisation_id, looked_at, categories, found, remaining)
values ($1, $2, $3, $4, $5, $6)
on conflict (show_id) do update
   set looked_at = excluded.looked_at, categories = excluded.categories, found = excluded.found, remaining = excluded.remaining;

-- name: waitlist_show_of
-- In which show an entry is. $1 entry_id.
select show_id from waitlist_entries where entry_id = $1;

-- name: waitlist_read
-- One entry as a reader sees it, with the end of its offer and the clock that it is judged by. $1 entry_id.
select e.show_id, e.entry_id, e.customer_id, e.entry_no, e.party_size, e.categories, e.status, e.joined_at, e.offered_at,
       e.reservation_id, e.closed_at,
       e.organisation_id, b.name, b.email, b.phone, b.locale, r.expires_at, h.version, greatest(clock_timestamp(), h.changed_at)
  from waitlist_entries e
  join show_heads h on h.show_id = e.show_id
  left join waitlist_buyers b on b.show_id = e.show_id and b.entry_id = e.entry_id
  left join reservations r on r.show_id = e.show_id and r.reservation_id = e.reservation_id
 where e.entry_id = $1;

-- name: waitlist_list
-- A page of a show's waitlist, the earliest first. $1 organisation_id, $2 show_id, $3 status or null ('offered' and
-- 'lapsed' as a reader sees them), $4 entry_no of the last entry of the page before, or 0, $5 how many.
select e.show_id, e.entry_id, e.customer_id, e.entry_no, e.party_size, e.categories, e.status, e.joined_at, e.offered_at,
       e.reservation_id, e.closed_at,
       e.organisation_id, b.name, b.email, b.phone, b.locale, r.expires_at, h.version, greatest(clock_timestamp(), h.changed_at)
  from waitlist_entries e
  join show_heads h on h.show_id = e.show_id
  left join waitlist_buyers b on b.show_id = e.show_id and b.entry_id = e.entry_id
  left join reservations r on r.show_id = e.show_id and r.reservation_id = e.reservation_id
 where e.organisation_id = $1 and e.show_id = $2 and e.entry_no > $4
   and ($3::text is null
        or $3 = case when e.status = 'offered' and r.expires_at <= greatest(clock_timestamp(), h.changed_at) then 'lapsed' else e.status end)
 order by e.entry_no
 limit $5;

-- name: waitlist_position
-- How many wait in a show, up to and with an entry. $1 show_id, $2 entry_no.
select count(*)::int from waitlist_entries where show_id = $1 and status = 'waiting' and entry_no <= $2;

-- name: waitlist_look
-- What was free when a show's waitlist was last served. $1 show_id.
select looked_at, categories, found, remaining from waitlist_looks where show_id = $1;

-- name: waitlist_shows
-- Shows on sale where somebody waits though something is free, or an overdue hold is not closed. Most of that is of no use
-- to those who wait: it is for the sweep, which asks seldom. When they are too many, lots are drawn, or the same would
-- always be first. $1 how many.
select h.show_id
  from show_heads h
  join shows s on s.show_id = h.show_id and s.status = 'on_sale'
 where h.waiting > 0
   and coalesce(s.ends_at, s.starts_at) > clock_timestamp()
   and (s.sales_start_at is null or s.sales_start_at <= clock_timestamp())
   and (s.sales_end_at is null or s.sales_end_at > clock_timestamp())
   and (exists (select from show_seats p where p.show_id = h.show_id and p.state = 'a')
     or exists (select from show_areas a where a.show_id = h.show_id and a.held + a.booked < a.capacity)
     or exists (select from reservations r where r.show_id = h.show_id and r.status = 'active' and r.expires_at <= clock_timestamp()))
 order by random()
 limit $1;

-- name: waitlist_buyers_purge
-- Forgets who waited for shows that were over 30 days ago, at most $1 at a time.
delete from waitlist_buyers
 where ctid = any (array(
   select b.ctid
     from waitlist_buyers b join shows s using (show_id)
    where coalesce(s.ends_at, s.starts_at) < clock_timestamp() - interval '30 days' limit $1));
