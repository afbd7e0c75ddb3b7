-- What must hold after every commit, whatever happens: each statement returns
-- the rows that break its rule, and none while it holds. Read them in one
-- snapshot (rowlock prove does): between two statements a sale goes on. A
-- payment without an outcome breaks none of them: what is not known yet is
-- written down as that.
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

-- name: a_booked_seat_is_that_of_one_live_ticket
-- Who has the ticket has the seat, and nobody has a ticket for a seat that is another's.
with live as (
  select t.show_id, t.seat_no, count(*) as tickets, (array_agg(k.reservation_id))[1] as reservation_id
    from tickets t
    left join bookings k on k.show_id = t.show_id and k.booking_id = t.booking_id
   where t.seat_no is not null and t.status <> 'void'
   group by t.show_id, t.seat_no)
select show_id, seat_no, s.reservation_id, l.reservation_id as reservation_of_ticket, l.tickets
  from (select show_id, seat_no, reservation_id from show_seats where state = 'b') s
  full join live l using (show_id, seat_no)
 where l.tickets is distinct from 1 or s.reservation_id is distinct from l.reservation_id;

-- name: no_seat_has_two_owners
-- The reason for all the rest. An overdue hold is closed before its seat is given away.
select show_id, seat_no, array_agg(owner) as owners
  from (select r.show_id, i.seat_no, r.reservation_id as owner
          from reservations r
         cross join unnest(r.seat_nos) as i(seat_no)
         where r.status = 'active'
        union all
        select show_id, seat_no, ticket_id
          from tickets
         where seat_no is not null and status <> 'void') o
 group by show_id, seat_no
having count(*) > 1;

-- name: a_blocked_seat_is_one_of_its_block
-- Else unblocking the block would not put it back on sale.
select s.show_id, s.seat_no, s.state, s.block_id
  from show_seats s
  left join blocks b on b.show_id = s.show_id and b.block_id = s.block_id
 where s.block_id is not null
   and not coalesce(b.seat_nos @> array[s.seat_no], false);

-- name: the_held_units_of_an_area_are_those_of_its_active_reservations
-- A counter that drifts sells too many places or too few.
with owed as (
  select r.show_id, i.area_no, sum(i.quantity) as held
    from reservations r
   cross join unnest(r.area_nos, r.area_quantities) as i(area_no, quantity)
   where r.status = 'active'
   group by r.show_id, i.area_no)
select show_id, area_no, a.held, o.held as held_by_reservations
  from show_areas a
  full join owed o using (show_id, area_no)
 where coalesce(a.held, 0) <> coalesce(o.held, 0);

-- name: the_booked_units_of_an_area_are_its_live_tickets
-- The same for what is bought, one ticket a unit.
with owed as (
  select show_id, area_no, count(*) as booked
    from tickets
   where area_no is not null and status <> 'void'
   group by show_id, area_no)
select show_id, area_no, a.booked, o.booked as live_tickets
  from show_areas a
  full join owed o using (show_id, area_no)
 where coalesce(a.booked, 0) <> coalesce(o.booked, 0);

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
-- One row made it, one row closed it if it is closed, one revived it if it was paid too late, and the last tells what it is.
select show_id, reservation_id, r.status, l.made, l.closed, l.revived, l.last_status, r.expires_at, l.last_end
  from reservations r
  full join (
    select show_id, reservation_id,
           count(*) filter (where before_status is null) as made,
           count(*) filter (where before_status = 'active' and after_status <> 'active') as closed,
           count(*) filter (where before_status = 'expired') as revived,
           (array_agg(after_status order by version desc, n desc))[1] as last_status,
           (array_agg(expires_at order by version desc, n desc))[1] as last_end
      from changes
     where type like 'reservation.%'
     group by show_id, reservation_id) l using (show_id, reservation_id)
 where r.status is null
    or l.made is distinct from 1
    or l.closed <> (r.status <> 'active')::int
    or l.revived > (r.status = 'consumed')::int
    or l.last_status is distinct from r.status
    or l.last_end is distinct from r.expires_at;

-- name: every_booking_payment_and_refund_is_logged_from_its_making_to_what_it_is
-- Statuses that the log entered and did not leave again are those that things have: one each.
select show_id, what, id, status, sum(n) as logged_too_often
  from (select c.show_id, o.what, o.id, f.status, f.n
          from changes c
         cross join lateral (
           select split_part(c.type, '.', 1) as what,
                  case split_part(c.type, '.', 1) when 'booking' then c.booking_id when 'payment' then c.payment_id else c.refund_id end as id) o
         cross join lateral (values (c.after_status, 1), (c.before_status, -1)) as f(status, n)
         where c.type ~ '^(booking|payment|refund)\.' and f.status is not null
        union all
        select show_id, 'booking', booking_id, status, -1 from bookings
        union all
        select show_id, 'payment', payment_id, status, -1 from payments
        union all
        select show_id, 'refund', refund_id, status, -1 from refunds) l
 group by show_id, what, id, status
having sum(n) <> 0;

-- name: every_ticket_is_logged_once_for_all_that_became_of_it
-- Issued once, used once, void once, and never what it is not.
select show_id, ticket_id, t.status, l.issued, l.used, l.voided
  from tickets t
  full join (
    select c.show_id, i.ticket_id,
           count(*) filter (where c.type = 'ticket.issued') as issued,
           count(*) filter (where c.type = 'ticket.used') as used,
           count(*) filter (where c.type = 'ticket.void') as voided
      from changes c
     cross join unnest(c.ticket_ids) as i(ticket_id)
     where c.type like 'ticket.%'
     group by c.show_id, i.ticket_id) l using (show_id, ticket_id)
 where t.status is null
    or l.issued is distinct from 1
    or l.voided <> (t.status = 'void')::int
    or not case t.status when 'valid' then l.used = 0 when 'used' then l.used = 1 else l.used <= (t.used_at is not null)::int end;

-- name: the_log_tells_transitions_that_there_are
-- The state machines of the contract, as a closed list: nothing ended comes back to life.
with known(type, before_status, after_status) as (values
  ('reservation.created', '', 'active'), ('reservation.changed', 'active', 'active'), ('reservation.extended', 'active', 'active'),
  ('reservation.expired', 'active', 'expired'), ('reservation.cancelled', 'active', 'cancelled'),
  ('reservation.consumed', 'active', 'consumed'), ('reservation.consumed', 'expired', 'consumed'),
  ('booking.created', '', 'pending'), ('booking.confirmed', 'pending', 'confirmed'), ('booking.confirmed', 'expired', 'confirmed'),
  ('booking.failed', 'pending', 'failed'), ('booking.expired', 'pending', 'expired'),
  ('booking.cancelled', 'pending', 'cancelled'), ('booking.cancelled', 'confirmed', 'cancelled'),
  ('payment.created', '', 'pending'), ('payment.failed', 'pending', 'failed'), ('payment.failed', 'pending', 'cancelled'),
  ('payment.succeeded', '', 'succeeded'), ('payment.succeeded', 'pending', 'succeeded'),
  ('payment.succeeded', 'failed', 'succeeded'), ('payment.succeeded', 'cancelled', 'succeeded'),
  ('refund.created', '', 'pending'), ('refund.created', 'failed', 'pending'), ('refund.failed', 'pending', 'failed'),
  ('refund.failed', 'succeeded', 'failed'), ('refund.succeeded', '', 'succeeded'), ('refund.succeeded', 'pending', 'succeeded'),
  ('refund.succeeded', 'failed', 'succeeded'),
  ('ticket.issued', '', 'valid'), ('ticket.used', 'valid', 'used'), ('ticket.void', 'valid', 'void'), ('ticket.void', 'used', 'void'),
  ('ticket.void', '', 'void'), -- some were valid, some used
  ('waitlist.joined', '', 'waiting'), ('waitlist.left', 'waiting', 'left'),
  ('place.blocked', 'available', 'blocked'), ('place.unblocked', 'blocked', 'available'),
  ('show.published', 'draft', 'on_sale'), ('show.paused', 'on_sale', 'paused'), ('show.resumed', 'paused', 'on_sale'),
  ('show.cancelled', 'draft', 'cancelled'), ('show.cancelled', 'on_sale', 'cancelled'), ('show.cancelled', 'paused', 'cancelled'),
  ('show.changed', '', ''), ('show.changed', 'draft', 'draft'), ('show.changed', 'on_sale', 'on_sale'), ('show.changed', 'paused', 'paused'))
select type, before_status, after_status, c.entries, c.a_show
  from (select type, coalesce(before_status, '') as before_status, coalesce(after_status, '') as after_status,
               count(*) as entries, max(show_id::text) as a_show
          from changes
         group by 1, 2, 3) c
  left join known k using (type, before_status, after_status)
 where k.type is null;

-- name: the_log_tells_the_amounts_of_payments_and_refunds
-- The money can be counted from the log alone.
select c.show_id, c.version, c.n, c.type, c.amount_minor, coalesce(f.amount_minor, p.amount_minor) as amount
  from changes c
  left join payments p on c.type like 'payment.%' and p.show_id = c.show_id and p.payment_id = c.payment_id
  left join refunds f on c.type like 'refund.%' and f.show_id = c.show_id and f.refund_id = c.refund_id
 where c.amount_minor is distinct from coalesce(f.amount_minor, p.amount_minor);

-- name: the_log_accounts_for_the_units_of_every_reservation
-- Units that were taken and not given back are those that it holds, and those of its live tickets.
select show_id, reservation_id, area_no, sum(held) as held_beyond_the_log, sum(booked) as booked_beyond_the_log
  from (select r.show_id, r.reservation_id, i.area_no, i.quantity as held, 0 as booked
          from reservations r
         cross join unnest(r.area_nos, r.area_quantities) as i(area_no, quantity)
         where r.status = 'active'
        union all
        select t.show_id, k.reservation_id, t.area_no, 0, 1
          from tickets t
          join bookings k on k.show_id = t.show_id and k.booking_id = t.booking_id
         where t.area_no is not null and t.status <> 'void'
        union all
        select c.show_id, c.reservation_id, i.area_no, -i.held, -coalesce(i.booked, 0)
          from changes c
         cross join unnest(c.area_nos, c.area_units, c.area_booked) as i(area_no, held, booked)) u
 group by show_id, reservation_id, area_no
having sum(held) <> 0 or sum(booked) <> 0;

-- name: the_log_adds_up_to_the_units_of_every_area
-- Replaying the log from its beginning gives the counters, too.
select show_id, area_no, sum(held) as held_beyond_the_log, sum(booked) as booked_beyond_the_log
  from (select show_id, area_no, held, booked from show_areas
        union all
        select c.show_id, i.area_no, -i.held, -coalesce(i.booked, 0)
          from changes c
         cross join unnest(c.area_nos, c.area_units, c.area_booked) as i(area_no, held, booked)) u
 group by show_id, area_no
having sum(held) <> 0 or sum(booked) <> 0;

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
        union select 'changes', show_id, organisation_id from changes
        union select 'bookings', show_id, organisation_id from bookings
        union select 'payments', show_id, organisation_id from payments
        union select 'payment checks', show_id, organisation_id from payment_checks
        union select 'refunds', show_id, organisation_id from refunds
        union select 'tickets', show_id, organisation_id from tickets
        union select 'scans', show_id, organisation_id from scans
        union select 'buyers', show_id, organisation_id from buyers
        union select 'ticket holders', show_id, organisation_id from ticket_holders
        union select 'waitlist', show_id, organisation_id from waitlist_entries
        union select 'waitlist buyers', show_id, organisation_id from waitlist_buyers
        union select 'waitlist looks', show_id, organisation_id from waitlist_looks) i
  left join shows s using (show_id)
 where s.organisation_id is distinct from i.organisation_id;

-- name: a_remembered_answer_is_about_something_that_exists
-- What was acknowledged can be read again: the deed and the answer commit together.
select k.owner, k.key, k.show_id, k.receipt
  from (select owner, key, show_id, receipt, (receipt::jsonb ->> 'r')::uuid as reservation_id,
               (receipt::jsonb ->> 'b')::uuid as booking_id, (receipt::jsonb ->> 'p')::uuid as payment_id
          from idempotency_keys where show_id is not null) k
  left join reservations r on r.show_id = k.show_id and r.reservation_id = k.reservation_id
  left join bookings b on b.show_id = k.show_id and b.booking_id = k.booking_id
  left join payments p on p.show_id = k.show_id and p.payment_id = k.payment_id
 where (k.reservation_id is not null and r.reservation_id is null)
    or (k.booking_id is not null and b.booking_id is null)
    or (k.payment_id is not null and p.payment_id is null);

-- name: a_booking_and_its_reservation_know_each_other
-- One purchase from one hold, for the same customer.
select coalesce(k.show_id, r.show_id) as show_id, k.booking_id, r.booking_id as booking_of_reservation,
       coalesce(k.reservation_id, r.reservation_id) as reservation_id, k.customer_id, r.customer_id as customer_of_reservation
  from bookings k
  full join (select show_id, reservation_id, booking_id, customer_id from reservations where booking_id is not null) r on r.show_id = k.show_id and r.reservation_id = k.reservation_id
 where k.booking_id is distinct from r.booking_id or k.customer_id is distinct from r.customer_id;

-- name: a_reservation_is_consumed_by_a_booking_that_was_confirmed
-- Nobody loses a hold to a purchase that was not made, or buys what was not held.
select r.show_id, r.reservation_id, r.status, k.booking_id, k.status as status_of_booking, k.confirmed_at
  from reservations r
  left join bookings k on k.show_id = r.show_id and k.booking_id = r.booking_id
 where (r.status = 'consumed') <> (k.confirmed_at is not null);

-- name: a_booking_waits_fails_and_ends_as_its_hold_and_payments_do
-- Pending is one whose hold lives or whose payment is under way; failed is one whose money came too late.
select k.show_id, k.booking_id, k.status, r.status as status_of_reservation, r.expires_at, k.closed_at,
       coalesce(p.pending, false) as payment_pending, coalesce(p.succeeded, false) as payment_succeeded
  from bookings k
  left join reservations r on r.show_id = k.show_id and r.reservation_id = k.reservation_id
  left join (
    select show_id, booking_id, bool_or(status = 'pending') as pending, bool_or(status = 'succeeded') as succeeded
      from payments
     group by show_id, booking_id) p on p.show_id = k.show_id and p.booking_id = k.booking_id
 where k.confirmed_at is null
   and not coalesce(case k.status
         when 'pending' then r.status = 'active' or (r.status = 'expired' and p.pending)
         when 'failed' then r.status in ('expired', 'cancelled') and p.succeeded
         when 'expired' then r.status = 'expired'
         when 'cancelled' then r.status in ('expired', 'cancelled') or (r.status = 'active' and r.expires_at <= k.closed_at)
       end, false);

-- name: a_booking_costs_what_its_reservation_does
-- Or nothing, when it was given away.
select k.show_id, k.booking_id, k.status, k.total_minor, r.total_minor as total_of_reservation
  from bookings k
  left join reservations r on r.show_id = k.show_id and r.reservation_id = k.reservation_id
 where k.total_minor is distinct from r.total_minor and not (k.total_minor = 0 and k.confirmed_at is not null);

-- name: a_hold_is_lengthened_for_a_payment_once_and_not_for_longer_than_it_takes
-- Two minutes at most, of a hold with a booking, taken back when nothing is under way.
select r.show_id, r.reservation_id, r.status, r.created_at, r.own_expires_at, r.expires_at, k.status as status_of_booking
  from reservations r
  left join bookings k on k.show_id = r.show_id and k.booking_id = r.booking_id
  left join payments p on p.show_id = k.show_id and p.booking_id = k.booking_id and p.status = 'pending'
 where r.own_expires_at is not null
   and (k.booking_id is null
        or r.own_expires_at <= r.created_at
        or r.expires_at not between r.own_expires_at and r.own_expires_at + interval '2 minutes'
        or (r.status = 'active' and k.status = 'pending' and p.payment_id is null and r.expires_at <> r.own_expires_at));

-- name: a_confirmed_booking_has_one_ticket_for_each_of_its_places
-- At the price of the hold, or for nothing when it was given away; and no other booking has any.
with places as (
  select k.show_id, k.booking_id, i.seat_no, i.area_no, i.ticket_type,
         case when k.total_minor > 0 then i.price_minor else 0 end as price_minor, sum(i.quantity) as places
    from bookings k
    join reservations r on r.show_id = k.show_id and r.reservation_id = k.reservation_id
   cross join lateral (
     select seat_no, -1 as area_no, ticket_type, price_minor, 1 as quantity
       from unnest(r.seat_nos, r.seat_types, r.seat_prices) as s(seat_no, ticket_type, price_minor)
     union all
     select -1, area_no, ticket_type, price_minor, quantity
       from unnest(r.area_nos, r.area_types, r.area_prices, r.area_quantities) as a(area_no, ticket_type, price_minor, quantity)) i
   where k.confirmed_at is not null
   group by 1, 2, 3, 4, 5, 6
), issued as (
  select show_id, booking_id, coalesce(seat_no, -1) as seat_no, coalesce(area_no, -1) as area_no, ticket_type, price_minor, count(*) as tickets
    from tickets
   group by 1, 2, 3, 4, 5, 6)
select show_id, booking_id, seat_no, area_no, ticket_type, price_minor, p.places, t.tickets
  from places p
  full join issued t using (show_id, booking_id, seat_no, area_no, ticket_type, price_minor)
 where p.places is distinct from t.tickets;

-- name: the_tickets_of_a_booking_live_as_it_does
-- Numbered from 1, issued when it was confirmed; a confirmed booking has a live one, a cancelled one has none.
select k.show_id, k.booking_id, k.status, k.confirmed_at, t.tickets, t.live, t.first, t.last, t.issued_at
  from bookings k
  left join (
    select show_id, booking_id, count(*) as tickets, count(*) filter (where status <> 'void') as live,
           min(n) as first, max(n) as last, min(issued_at) as issued_at, max(issued_at) as issued_last
      from tickets
     group by show_id, booking_id) t on t.show_id = k.show_id and t.booking_id = k.booking_id
 where k.confirmed_at is not null
   and (t.first is distinct from 1 or t.last <> t.tickets or t.issued_at <> k.confirmed_at or t.issued_last <> k.confirmed_at
        or (k.status = 'confirmed') <> (t.live > 0));

-- name: the_cancelled_places_of_a_reservation_are_its_void_tickets
-- A customer's limit counts what is left.
select r.show_id, r.reservation_id, r.status, r.cancelled_places, v.tickets as void_tickets
  from reservations r
  left join (
    select show_id, booking_id, count(*) as tickets
      from tickets
     where status = 'void'
     group by show_id, booking_id) v on v.show_id = r.show_id and v.booking_id = r.booking_id
 where r.cancelled_places <> coalesce(v.tickets, 0);

-- name: the_applied_payment_took_what_its_booking_costs
-- Whoever was confirmed has paid, once, or had nothing to pay.
select k.show_id, k.booking_id, k.status, k.total_minor, k.applied_payment_id, p.status as status_of_payment, p.amount_minor
  from bookings k
  left join payments p on p.show_id = k.show_id and p.booking_id = k.booking_id and p.payment_id = k.applied_payment_id
 where (k.applied_payment_id is not null) <> (k.confirmed_at is not null and k.total_minor > 0)
    or (k.applied_payment_id is not null and (p.status is distinct from 'succeeded' or p.amount_minor <> k.total_minor));

-- name: money_that_bought_nothing_goes_back
-- Every payment that succeeded and was not applied has its refund, for all of it.
select p.show_id, p.booking_id, p.payment_id, k.status as status_of_booking, p.amount_minor, p.refunded_minor, f.refused_minor
  from payments p
  left join bookings k on k.show_id = p.show_id and k.booking_id = p.booking_id
  left join (
    select show_id, payment_id, sum(amount_minor) as refused_minor
      from refunds
     where status = 'failed'
     group by show_id, payment_id) f on f.show_id = p.show_id and f.payment_id = p.payment_id
 where p.status = 'succeeded' and k.applied_payment_id is distinct from p.payment_id
   and p.refunded_minor + coalesce(f.refused_minor, 0) < p.amount_minor;

-- name: no_refund_stays_refused
-- The gateway would not give this money back, keeps it without a reason, and no news of it wait: people must act, see refunds_open.
select f.show_id, f.booking_id, f.refund_id, p.gateway, f.reason, f.amount_minor, f.currency, f.attempt, f.settled_at, f.failure
  from refunds f
  join payments p on p.show_id = f.show_id and p.payment_id = f.payment_id
 where f.status = 'failed' and f.cause not like 'dispute:%' -- that was won
   and p.refunded_minor + f.amount_minor <= p.amount_minor
   and not exists (
     select from payment_events e
      where e.done_at is null and e.gateway = p.gateway
        and (strpos(e.event::text, p.payment_id::text) > 0 or strpos(e.event::text, p.gateway_ref) > 0));

-- name: what_is_refunded_is_the_sum_of_the_refunds
-- Of a payment, of a booking and of each ticket: refunds on their way count, refused ones do not.
select 'payment' as what, show_id, p.payment_id as id, p.refunded_minor, f.amount_minor as refunds
  from payments p
  full join (
    select show_id, booking_id, payment_id, sum(amount_minor) as amount_minor
      from refunds
     where status <> 'failed'
     group by 1, 2, 3) f using (show_id, booking_id, payment_id)
 where coalesce(p.refunded_minor, -1) <> coalesce(f.amount_minor, 0)
union all
select 'booking', show_id, booking_id, k.refunded_minor, p.refunded_minor
  from bookings k
  full join (select show_id, booking_id, sum(refunded_minor) as refunded_minor from payments group by 1, 2) p using (show_id, booking_id)
 where coalesce(k.refunded_minor, -1) <> coalesce(p.refunded_minor, 0)
union all
select 'ticket', show_id, ticket_id, t.refunded_minor, f.amount_minor
  from tickets t
  full join (
    select f.show_id, f.booking_id, i.ticket_id, sum(i.amount_minor) as amount_minor
      from refunds f
     cross join unnest(f.ticket_ids, f.ticket_amounts) as i(ticket_id, amount_minor)
     where f.status <> 'failed'
     group by 1, 2, 3) f using (show_id, booking_id, ticket_id)
 where coalesce(t.refunded_minor, -1) <> coalesce(f.amount_minor, 0);

-- name: a_refund_is_of_a_payment_that_succeeded_and_of_the_tickets_it_bought
-- It adds up to its tickets' shares; a payment that bought nothing has no tickets to name.
select f.show_id, f.booking_id, f.refund_id, f.amount_minor, f.ticket_amounts, p.status as status_of_payment,
       k.applied_payment_id = f.payment_id as applied
  from refunds f
  left join payments p on p.show_id = f.show_id and p.booking_id = f.booking_id and p.payment_id = f.payment_id
  left join bookings k on k.show_id = f.show_id and k.booking_id = f.booking_id
 where p.status is distinct from 'succeeded'
    or (k.applied_payment_id is not distinct from f.payment_id) <> (cardinality(f.ticket_ids) > 0)
    or (cardinality(f.ticket_ids) > 0
        and f.amount_minor <> (select case when min(amount) < 0 then -1 else sum(amount) end from unnest(f.ticket_amounts) as a(amount)));

-- name: money_in_is_what_a_booking_keeps_and_what_goes_back
-- Taken = kept by its tickets (void ones keep the fee) + given back or on its way + what a gateway refuses to give back.
select show_id, booking_id, sum(taken) as taken, sum(kept) as kept, sum(refunded) as refunded, sum(refused) as refused
  from (select p.show_id, p.booking_id, p.amount_minor as taken, 0 as kept, 0 as refunded,
               case when f.payment_id is not null and k.applied_payment_id is distinct from p.payment_id
                    then p.amount_minor - p.refunded_minor else 0 end as refused
          from payments p
          left join bookings k on k.show_id = p.show_id and k.booking_id = p.booking_id
          left join (select distinct show_id, payment_id from refunds where status = 'failed') f on f.show_id = p.show_id and f.payment_id = p.payment_id
         where p.status = 'succeeded'
        union all
        select show_id, booking_id, 0, price_minor - refunded_minor, 0, 0 from tickets
        union all
        select show_id, booking_id, 0, 0, amount_minor, 0 from refunds where status <> 'failed') m
 group by show_id, booking_id
having sum(taken) <> sum(kept) + sum(refunded) + sum(refused);

-- name: money_in_is_confirmed_bookings_and_refunds
-- The same in total, by organisation and currency, counted from bookings instead of tickets.
select organisation_id, currency, sum(taken) as taken, sum(confirmed) as confirmed, sum(refunded) as refunded, sum(refused) as refused
  from (select p.organisation_id, p.currency, p.amount_minor as taken, 0 as confirmed, 0 as refunded,
               case when f.payment_id is not null and k.applied_payment_id is distinct from p.payment_id
                    then p.amount_minor - p.refunded_minor else 0 end as refused
          from payments p
          left join bookings k on k.show_id = p.show_id and k.booking_id = p.booking_id
          left join (select distinct show_id, payment_id from refunds where status = 'failed') f on f.show_id = p.show_id and f.payment_id = p.payment_id
         where p.status = 'succeeded'
        union all
        -- What was paid for and is still kept: refunds of other payments of the booking are not its loss.
        select k.organisation_id, k.currency, 0, k.total_minor - coalesce(p.refunded_minor, 0), 0, 0
          from bookings k
          left join payments p on p.show_id = k.show_id and p.payment_id = k.applied_payment_id
         where k.confirmed_at is not null
        union all
        select organisation_id, currency, 0, 0, amount_minor, 0 from refunds where status <> 'failed') m
 group by organisation_id, currency
having sum(taken) <> sum(confirmed) + sum(refunded) + sum(refused);

-- name: the_money_of_a_booking_is_in_one_currency
-- That of its show.
select 'booking' as what, k.show_id, k.booking_id as id, k.currency, s.currency as other
  from bookings k left join shows s using (show_id) where s.currency is distinct from k.currency
union all
select 'payment', p.show_id, p.payment_id, p.currency, k.currency
  from payments p left join bookings k using (show_id, booking_id) where k.currency is distinct from p.currency
union all
select 'refund', f.show_id, f.refund_id, f.currency, k.currency
  from refunds f left join bookings k using (show_id, booking_id) where k.currency is distinct from f.currency;

-- name: a_payment_without_an_outcome_is_asked_for_and_no_other
-- A payment that nobody asks for hangs for ever.
select coalesce(p.show_id, c.show_id) as show_id, coalesce(p.payment_id, c.payment_id) as payment_id, p.status, c.due_at
  from (select show_id, payment_id, status from payments where status = 'pending') p
  full join payment_checks c on c.payment_id = p.payment_id and c.show_id = p.show_id
 where p.payment_id is null or c.payment_id is null;

-- name: what_a_gateway_did_once_is_counted_once
-- One charge pays one booking, and one refund is money back once.
select 'payment' as what, gateway, gateway_ref, count(*) as times, array_agg(payment_id) as ids
  from payments
 where gateway <> 'manual' and gateway_ref is not null
 group by gateway, gateway_ref
having count(*) > 1
union all
select 'refund', p.gateway, f.gateway_ref, count(*), array_agg(f.refund_id)
  from refunds f
  join payments p on p.show_id = f.show_id and p.payment_id = f.payment_id
 where p.gateway <> 'manual' and f.gateway_ref is not null
 group by p.gateway, f.gateway_ref
having count(*) > 1;

-- name: a_ticket_was_used_by_the_one_scan_that_admitted_it_first
-- One head a ticket: who came later was let in by a device without a line, or not at all.
select show_id, ticket_id, t.status, t.used_at, t.used_scan, s.scan_id, s.at, s.gate
  from (select show_id, ticket_id, status, used_at, used_scan, coalesce(used_gate, '') as gate from tickets where used_at is not null) t
  full join (select show_id, ticket_id, scan_id, at, gate from scans where admitted and not should_not) s using (show_id, ticket_id)
 where t.used_scan is distinct from s.scan_id or t.used_at <> s.at or t.gate <> s.gate or t.status = 'valid';

-- name: a_scan_says_what_its_ticket_says
-- Void wins over used; who was let in after another is marked, as soon as that is known.
select s.show_id, s.scan_id, s.ticket_id, t.status, s.result, s.admitted, s.should_not, s.at, s.first_at, t.used_at
  from scans s
  left join tickets t on t.show_id = s.show_id and t.ticket_id = s.ticket_id
 where t.ticket_id is null
    or s.admitted <> (s.result = 'admitted' or s.should_not)
    or (s.result = 'void' and t.status <> 'void')
    or (s.result = 'already_used' or (s.result = 'admitted' and s.should_not))
       and (t.used_at is null or t.used_at > s.at or s.first_at is null or s.first_at > s.at);

-- name: what_is_personal_belongs_to_a_booking_of_the_same_customer
-- Or forgetting the customer would leave it behind.
select p.what, p.show_id, p.booking_id, p.customer_id, k.customer_id as customer_of_booking
  from (select 'buyer' as what, show_id, booking_id, customer_id from buyers
        union all
        select 'holder', show_id, booking_id, customer_id from ticket_holders) p
  left join bookings k on k.show_id = p.show_id and k.booking_id = p.booking_id
 where k.customer_id is distinct from p.customer_id;

-- name: an_offer_of_the_waitlist_is_a_hold_of_the_one_who_waited
-- Each entry has one at most, and is what became of it: an offer that was bought is spent, one that was let go is over.
select show_id, entry_id, e.status, e.customer_id, e.reservation_id, r.reservation_id as reservation_of_entry, r.status as status_of_reservation,
       r.customer_id as customer_of_reservation
  from (select show_id, entry_id, status, customer_id, party_size, reservation_id from waitlist_entries where reservation_id is not null) e
  full join (select show_id, waitlist_entry_id as entry_id, reservation_id, status, customer_id from reservations
              where waitlist_entry_id is not null) r using (show_id, entry_id)
 where e.reservation_id is distinct from r.reservation_id
    or e.customer_id is distinct from r.customer_id
    or e.status is distinct from case r.status when 'active' then 'offered' when 'consumed' then 'accepted' when 'cancelled' then 'declined'
                                               else 'lapsed' end;

-- name: a_show_knows_how_many_wait
-- Or what becomes free would be sold past them, and buyers would be held up for nobody.
select show_id, h.waiting, w.waiting as entries_that_wait
  from show_heads h
  full join (select show_id, count(*) as waiting from waitlist_entries where status = 'waiting' group by show_id) w using (show_id)
 where coalesce(h.waiting, 0) <> coalesce(w.waiting, 0);

-- name: a_customer_waits_once_in_a_show
-- Nobody has two turns.
select show_id, customer_id, count(*) as entries
  from waitlist_entries
 where status in ('waiting', 'offered')
 group by show_id, customer_id
having count(*) > 1;

-- name: who_waits_is_logged_as_they_came_and_went
-- Who came first is first: by the show's versions.
select show_id, e.entry_id, version, e.status, l.entries as logged
  from (select show_id, entry_no as version, entry_id, status, 'waiting' as what from waitlist_entries) e
  full join (select show_id, version, after_status as what, count(*) as entries from changes where type = 'waitlist.joined' group by 1, 2, 3) l
       using (show_id, version, what)
 where e.entry_id is null or l.entries is distinct from 1
union all
select show_id, null, null, 'left', coalesce(e.entries, 0) - coalesce(l.entries, 0)
  from (select show_id, count(*) as entries from waitlist_entries where status = 'left' group by show_id) e
  full join (select show_id, count(*) as entries from changes where type = 'waitlist.left' group by show_id) l using (show_id)
 where coalesce(e.entries, 0) <> coalesce(l.entries, 0);

-- name: what_is_personal_of_a_waitlist_belongs_to_an_entry_of_the_same_customer
-- Or forgetting the customer would leave it behind.
select b.show_id, b.entry_id, b.customer_id, e.customer_id as customer_of_entry
  from waitlist_buyers b
  left join waitlist_entries e on e.show_id = b.show_id and e.entry_id = b.entry_id
 where e.customer_id is distinct from b.customer_id;

-- name: the_numbers_of_a_waiting_room_are_those_of_its_rounds
-- Positions are computed from them: a gap or an overlap would be two people's place, or nobody's.
select h.show_id, h.joined, h.rounds, r.rounds as of_rounds, r.entries, r.overlaps, e.last
  from queue_heads h
  left join (
    select show_id, count(*) as rounds, sum(entries) as entries, count(*) filter (where first <> before) as overlaps
      from (select show_id, first, entries, coalesce(sum(entries) over (partition by show_id order by round rows between unbounded preceding and 1 preceding), 0) as before
              from queue_rounds) x
     group by show_id) r using (show_id)
  left join (select show_id, max(number) as last from queue_entries group by show_id) e using (show_id)
 where h.joined <> coalesce(r.entries, 0) or h.rounds <> coalesce(r.rounds, 0) or r.overlaps > 0 or e.last > h.joined;

-- name: nobody_was_called_before_their_turn
-- A turn is for a place up to the head, of the entry that has it, in a round that is drawn.
select a.show_id, a.number, a.position, h.head, e.entry_id is not null as entered, r.drawn_at
  from queue_admissions a
  left join queue_heads h using (show_id)
  left join queue_entries e on e.show_id = a.show_id and e.number = a.number and e.entry_id = a.entry_id and e.customer_id = a.customer_id
  left join queue_rounds r on r.show_id = a.show_id and r.round = e.round
 where h.head is null or a.position > h.head or r.drawn_at is null
    or a.position not between r.first + 1 and r.first + r.entries or a.number not between r.first + 1 and r.first + r.entries;

-- name: a_turn_was_used_by_its_own_customer
-- What was held with a turn is a hold of the same show and customer, placed before the turn was over.
select a.show_id, a.number, a.customer_id, a.reservation_id, r.customer_id as holder, r.created_at, a.session_ends_at
  from queue_admissions a
  left join reservations r on r.show_id = a.show_id and r.reservation_id = a.reservation_id
 where a.reservation_id is not null
   and (r.customer_id is distinct from a.customer_id or r.created_at >= a.session_ends_at);
