-- What must hold at every moment, whatever happens: each statement returns the
-- rows that break its rule, and none while it holds. Read them in one snapshot
-- (rowlock prove does): between two statements a sale goes on.
--
-- They are made to be read in whole: joins of sets and aggregates, a second or
-- two over a million rows each, and no look-up per row.

-- name: a_held_seat_belongs_to_an_active_reservation_that_lists_it
-- A seat that nobody's reservation knows of is lost to sale for ever.
select s.show_id, s.seat_no, s.reservation_id, r.status, s.held_until, r.expires_at
  from show_seats s
  left join reservations r on r.show_id = s.show_id and r.reservation_id = s.reservation_id
 where s.state = 'h'
   and (r.status is distinct from 'active' or s.held_until <> r.expires_at or not r.seat_nos @> array[s.seat_no]);

-- name: a_booked_seat_belongs_to_a_consumed_reservation_that_lists_it
-- The same for what is bought.
select s.show_id, s.seat_no, s.reservation_id, r.status
  from show_seats s
  left join reservations r on r.show_id = s.show_id and r.reservation_id = s.reservation_id
 where s.state = 'b'
   and (r.status is distinct from 'consumed' or not r.seat_nos @> array[s.seat_no]);

-- name: an_active_reservation_owns_every_seat_it_lists
-- A customer who was promised a seat has it, until the hold is closed.
select r.show_id, r.reservation_id, i.seat_no, s.state, s.reservation_id as owner
  from reservations r
 cross join unnest(r.seat_nos) as i(seat_no)
  left join show_seats s on s.show_id = r.show_id and s.seat_no = i.seat_no
 where r.status = 'active'
   and (s.state is distinct from 'h' or s.reservation_id <> r.reservation_id);

-- name: no_seat_has_two_owners
-- The reason for all the rest. An overdue hold is closed before its seat is given away.
select r.show_id, i.seat_no, array_agg(r.reservation_id) as owners
  from reservations r
 cross join unnest(r.seat_nos) as i(seat_no)
 where r.status = 'active'
 group by r.show_id, i.seat_no
having count(*) > 1;

-- name: a_blocked_seat_is_one_of_its_block
-- Else unblocking the block would not put it back on sale.
select s.show_id, s.seat_no, s.state, s.block_id
  from show_seats s
  left join blocks b on b.show_id = s.show_id and b.block_id = s.block_id
 where s.block_id is not null
   and not coalesce(b.seat_nos @> array[s.seat_no], false);

-- name: the_held_units_of_an_area_are_those_of_its_active_reservations
-- A counter that drifts sells too many places or too few. What was bought can only become less, by cancellation.
with owed as (
  select r.show_id, i.area_no,
         coalesce(sum(i.quantity) filter (where r.status = 'active'), 0) as held,
         coalesce(sum(i.quantity) filter (where r.status = 'consumed'), 0) as booked
    from reservations r
   cross join unnest(r.area_nos, r.area_quantities) as i(area_no, quantity)
   where r.status in ('active', 'consumed')
   group by r.show_id, i.area_no)
select coalesce(a.show_id, o.show_id) as show_id, coalesce(a.area_no, o.area_no) as area_no,
       a.held, o.held as held_by_reservations, a.booked, o.booked as booked_by_reservations
  from show_areas a
  full join owed o on o.show_id = a.show_id and o.area_no = a.area_no
 where coalesce(a.held, 0) <> coalesce(o.held, 0) or coalesce(a.booked, 0) > coalesce(o.booked, 0);

-- name: no_area_is_oversold
-- Held and booked units fit into the capacity, overdue holds included.
select show_id, area_no, capacity, held, booked
  from show_areas
 where held < 0 or booked < 0 or held + booked > capacity;

-- name: the_places_and_total_of_a_reservation_are_those_of_its_items
-- What the customer pays is what the places cost when they were held.
select r.show_id, r.reservation_id, r.places, i.places as places_of_items, r.total_minor, i.total as total_of_items
  from reservations r
 cross join lateral (
   select sum(i.quantity) as places, sum(i.quantity * i.price_minor) as total
     from (select 1, price_minor from unnest(r.seat_prices) as s(price_minor)
           union all
           select quantity, price_minor from unnest(r.area_quantities, r.area_prices) as a(quantity, price_minor)
          ) as i(quantity, price_minor)) i
 where r.places <> i.places or r.total_minor <> i.total;

-- name: no_price_is_negative_and_no_line_is_empty
-- Frozen prices are paid back as they stand.
select show_id, reservation_id, seat_prices, area_prices, area_quantities, area_requested
  from reservations
 where not (0 <= all (seat_prices) and 0 <= all (area_prices) and 1 <= all (area_quantities)
            and (select bool_and(requested >= quantity) is not false
                   from unnest(area_requested, area_quantities) as a(requested, quantity)));

-- name: the_currency_of_a_reservation_is_that_of_its_show
-- The currency is fixed after the first hold.
select r.show_id, r.reservation_id, r.currency, s.currency as currency_of_show
  from reservations r
  left join shows s using (show_id)
 where s.currency is distinct from r.currency;

-- name: the_change_log_of_a_show_has_no_gap_and_ends_at_its_version
-- Live maps, streams and webhooks follow the log by its versions.
select show_id, h.version, c.versions as logged, c.last as last_logged
  from show_heads h
  full join (select show_id, count(distinct version) as versions, max(version) as last from changes group by show_id) c using (show_id)
 where h.version is distinct from coalesce(c.versions, 0) or h.version <> coalesce(c.last, 0);

-- name: the_rows_of_a_change_are_numbered_without_a_gap
-- A reader who stops within a version must see that more follows.
select show_id, version, count(*) as logged, min(n) as first, max(n) as last
  from changes
 group by show_id, version
having min(n) <> 0 or max(n) + 1 <> count(*);

-- name: time_does_not_run_backwards_in_a_show
-- What the log has seen does not un-happen when a clock steps back.
select c.show_id, c.version, c.n, c.at, c.next_at
  from (select show_id, version, n, at,
               coalesce(lead(at) over (partition by show_id order by version, n), 'infinity') as next_at
          from changes) c
 where c.next_at < c.at
union all
select h.show_id, h.version, null, h.changed_at, c.last
  from show_heads h
  join (select show_id, max(at) as last from changes group by show_id) c using (show_id)
 where h.changed_at < c.last;

-- name: a_show_and_its_head_have_the_same_definition
-- A lane learns from the head that the terms it knows are old.
select show_id, s.definition, h.definition as definition_of_head
  from shows s
  full join show_heads h using (show_id)
 where s.definition is distinct from h.definition;

-- name: the_last_logged_state_of_a_seat_is_its_state
-- Replaying the log from its beginning gives the map. A seat that was never logged is free, as is one that a new plan took away.
select show_id, seat_no, s.state::text as state, l.state as last_logged, l.version
  from show_seats s
  full join (
    select distinct on (c.show_id, i.seat_no)
           c.show_id, i.seat_no, c.version, substr(c.seat_states, i.at::int, 1) as state
      from changes c
     cross join unnest(c.seat_nos) with ordinality as i(seat_no, at)
     order by c.show_id, i.seat_no, c.version desc, c.n desc) l using (show_id, seat_no)
 where coalesce(s.state::text, 'a') <> coalesce(l.state, 'a');

-- name: every_reservation_is_logged_from_its_making_to_its_end
-- One row made it, one row closed it if it is closed, and the last row tells its status and its end.
select show_id, reservation_id, r.status, l.made, l.closed, l.last_status, r.expires_at, l.last_end
  from reservations r
  full join (
    select show_id, reservation_id,
           count(*) filter (where before_status is null) as made,
           count(*) filter (where before_status = 'active' and after_status <> 'active') as closed,
           (array_agg(after_status order by version desc, n desc))[1] as last_status,
           (array_agg(expires_at order by version desc, n desc))[1] as last_end
      from changes
     where type like 'reservation.%'
     group by show_id, reservation_id) l using (show_id, reservation_id)
 where r.status is null
    or l.made is distinct from 1
    or l.closed <> (r.status <> 'active')::int
    or l.last_status is distinct from r.status
    or l.last_end is distinct from r.expires_at;

-- name: the_log_accounts_for_the_units_of_every_active_reservation
-- Units that were taken and not given back are those that the reservation lists.
select show_id, reservation_id, area_no, r.units, l.units as units_by_log
  from (select r.show_id, r.reservation_id, i.area_no, sum(i.quantity) as units
          from reservations r
         cross join unnest(r.area_nos, r.area_quantities) as i(area_no, quantity)
         where r.status = 'active'
         group by r.show_id, r.reservation_id, i.area_no) r
  full join (
    select c.show_id, c.reservation_id, i.area_no, sum(i.units) as units
      from changes c
      join reservations r on r.show_id = c.show_id and r.reservation_id = c.reservation_id and r.status = 'active'
     cross join unnest(c.area_nos, c.area_units) as i(area_no, units)
     group by c.show_id, c.reservation_id, i.area_no
    having sum(i.units) <> 0) l using (show_id, reservation_id, area_no)
 where r.units is distinct from l.units;

-- name: the_seats_of_a_show_are_those_of_its_plan
-- A seat of the plan without a row cannot be bought, a row without a seat cannot be seen.
(select s.show_id, p.seat_no, 'has no row' as what from shows s join plan_seats p using (plan_id)
 except
 select show_id, seat_no, 'has no row' from show_seats)
union all
(select show_id, seat_no, 'is not in the plan' from show_seats
 except
 select s.show_id, p.seat_no, 'is not in the plan' from shows s join plan_seats p using (plan_id));

-- name: the_areas_of_a_show_are_those_of_its_plan
-- As the seats; a stock has areas of its own.
(select s.show_id, p.area_no, 'has no row' as what from shows s join plan_areas p using (plan_id)
 except
 select show_id, area_no, 'has no row' from show_areas)
union all
(select show_id, a.area_no, 'is not in the plan' from show_areas a join shows s using (show_id) where s.plan_id is not null
 except
 select s.show_id, p.area_no, 'is not in the plan' from shows s join plan_areas p using (plan_id));

-- name: every_category_with_places_has_a_standard_price
-- Else its places could be seen and not bought.
select c.show_id, c.category
  from (select s.show_id, k.name as category
          from shows s
          join (select distinct plan_id, category_no from plan_seats) u using (plan_id)
          join plan_categories k using (plan_id, category_no)
        union
        select show_id, category from show_areas) c
  left join show_prices p on p.show_id = c.show_id and p.category = c.category and p.ticket_type = 'standard'
 where p.show_id is null;

-- name: a_plan_is_whole
-- Its seats and areas are known to its hall, have a category, and are as many as it says.
select p.plan_id, p.seat_count, u.seats, u.strange
  from plans p
  left join (
    select s.plan_id,
           count(*) filter (where s.kind = 'seat') as seats,
           count(*) filter (where s.known is null or k.category_no is null) as strange
      from (select i.plan_id, 'seat' as kind, i.category_no, h.seat_no as known
              from plan_seats i join plans p using (plan_id)
              left join hall_seats h on h.hall_id = p.hall_id and h.seat_no = i.seat_no
            union all
            select i.plan_id, 'area', i.category_no, h.area_no
              from plan_areas i join plans p using (plan_id)
              left join hall_areas h on h.hall_id = p.hall_id and h.area_no = i.area_no) s
      left join plan_categories k on k.plan_id = s.plan_id and k.category_no = s.category_no
     group by s.plan_id) u on u.plan_id = p.plan_id
 where p.seat_count <> coalesce(u.seats, 0) or u.strange > 0;

-- name: what_belongs_together_belongs_to_one_organisation
-- No organisation sees or sells what is another's.
select 'hall' as what, h.hall_id as id, h.organisation_id, v.organisation_id as other
  from halls h join venues v using (venue_id) where h.organisation_id <> v.organisation_id
union all
select 'plan', p.plan_id, p.organisation_id, h.organisation_id
  from plans p join halls h using (hall_id) where p.organisation_id <> h.organisation_id
union all
select 'places of the plan', p.plan_id, i.organisation_id, p.organisation_id
  from plans p
  join (select plan_id, organisation_id from plan_seats union select plan_id, organisation_id from plan_areas
        union select plan_id, organisation_id from plan_categories) i using (plan_id)
 where i.organisation_id <> p.organisation_id
union all
select 'event of the show', s.show_id, s.organisation_id, e.organisation_id
  from shows s join events e using (event_id) where s.organisation_id <> e.organisation_id
union all
select 'plan of the show', s.show_id, s.organisation_id, p.organisation_id
  from shows s join plans p using (plan_id) where s.organisation_id <> p.organisation_id
union all
select i.what, i.show_id, i.organisation_id, s.organisation_id
  from (select 'head' as what, show_id, organisation_id from show_heads
        union select 'prices', show_id, organisation_id from show_prices
        union select 'seats', show_id, organisation_id from show_seats
        union select 'areas', show_id, organisation_id from show_areas
        union select 'blocks', show_id, organisation_id from blocks
        union select 'reservations', show_id, organisation_id from reservations
        union select 'changes', show_id, organisation_id from changes) i
  left join shows s using (show_id)
 where s.organisation_id is distinct from i.organisation_id;

-- name: a_remembered_answer_is_about_a_reservation_that_exists
-- What was acknowledged can be read again: the hold and the answer commit together.
select k.owner, k.key, k.show_id, k.receipt
  from (select owner, key, show_id, receipt, (receipt::jsonb ->> 'r')::uuid as reservation_id
          from idempotency_keys where show_id is not null) k
  left join reservations r on r.show_id = k.show_id and r.reservation_id = k.reservation_id
 where k.reservation_id is not null and r.reservation_id is null;
