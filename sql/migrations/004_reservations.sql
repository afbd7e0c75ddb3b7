-- Reservations: who holds what, until when, at which price.
-- Lock cost: new tables only.

create table reservations (
  show_id         uuid not null,
  reservation_id  uuid not null,
  organisation_id uuid not null,
  customer_id     text collate "C" not null check (char_length(customer_id) between 1 and 128),
  status          text not null default 'active',
  created_at      timestamptz not null,
  expires_at      timestamptz not null,
  hold_seconds    int not null check (hold_seconds between 1 and 604800),
  closed_at       timestamptz,
  close_reason    text,
  staff           boolean not null default false,
  block_id        uuid,
  booking_id      uuid,
  currency        text not null,
  total_minor     bigint not null check (total_minor >= 0),
  places          int not null check (places >= 1),
  seat_nos        int[] not null default '{}',
  seat_types      text[] not null default '{}',
  seat_prices     bigint[] not null default '{}',
  area_nos        int[] not null default '{}',
  area_types      text[] not null default '{}',
  area_requested  int[] not null default '{}',
  area_quantities int[] not null default '{}',
  area_prices     bigint[] not null default '{}',
  metadata        jsonb,
  primary key (show_id, reservation_id),
  constraint reservations_status check (
    case status
      when 'active'    then closed_at is null
      when 'consumed'  then closed_at is not null
      when 'expired'   then closed_at is not null and closed_at >= expires_at
      when 'cancelled' then closed_at is not null
      else false
    end),
  constraint reservations_items check (
    cardinality(seat_nos) = cardinality(seat_types) and cardinality(seat_nos) = cardinality(seat_prices)
    and cardinality(area_nos) = cardinality(area_types) and cardinality(area_nos) = cardinality(area_quantities)
    and cardinality(area_nos) = cardinality(area_requested) and cardinality(area_nos) = cardinality(area_prices)
    and cardinality(seat_nos) + cardinality(area_nos) >= 1)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
create index reservations_by_id on reservations (reservation_id);
create index reservations_by_customer on reservations (customer_id, show_id);
create index reservations_due on reservations (show_id, expires_at) where status = 'active';
comment on table reservations is 'Holds: places kept for one customer until expires_at. Items are arrays, in step with each other; reservation_items shows them as rows.';
comment on column reservations.show_id is 'The show.';
comment on column reservations.reservation_id is 'UUIDv7.';
comment on column reservations.organisation_id is 'Whose show.';
comment on column reservations.customer_id is 'Whose hold.';
comment on column reservations.status is 'active, consumed, expired or cancelled. An active one past expires_at is over, whether or not it has been closed.';
comment on column reservations.created_at is 'When it was placed: the batch''s now.';
comment on column reservations.expires_at is 'The instant it ends.';
comment on column reservations.hold_seconds is 'Its length, by which it is extended.';
comment on column reservations.closed_at is 'When it left active.';
comment on column reservations.close_reason is 'buyer, staff, expired, swept, cancelled.';
comment on column reservations.staff is 'Placed with the scope reservations:staff.';
comment on column reservations.block_id is 'The block it was sold from; its seats go back there when it ends.';
comment on column reservations.booking_id is 'The booking that consumed it.';
comment on column reservations.currency is 'ISO 4217.';
comment on column reservations.total_minor is 'Sum of all prices, minor units.';
comment on column reservations.places is 'Seats and units.';
comment on column reservations.seat_nos is 'Its seats, sorted.';
comment on column reservations.seat_types is 'Ticket type of each seat.';
comment on column reservations.seat_prices is 'Price of each seat as it was when held, minor units.';
comment on column reservations.area_nos is 'Its areas, sorted; an area stands once per ticket type.';
comment on column reservations.area_types is 'Ticket type of each area line.';
comment on column reservations.area_requested is 'Units asked for; more than area_quantities when a part was allowed.';
comment on column reservations.area_quantities is 'Units held.';
comment on column reservations.area_prices is 'Price of one unit as it was when held, minor units.';
comment on column reservations.metadata is 'At most 20 string pairs of the caller''s.';

create function reservations_stay_closed() returns trigger
  language plpgsql as $$
begin
  raise exception 'reservation % is % and cannot become %', old.reservation_id, old.status, new.status
    using errcode = 'integrity_constraint_violation', constraint = 'reservations_stay_closed';
end $$;
comment on function reservations_stay_closed is 'Refuses to bring an ended reservation back to life.';
create trigger reservations_stay_closed
  before update of status on reservations
  for each row when (old.status <> 'active' and new.status <> old.status
                     and not (old.status = 'expired' and new.status = 'consumed'))
  execute function reservations_stay_closed();
comment on trigger reservations_stay_closed on reservations is 'Ended is ended; only a late payment may still consume an expired hold.';

create view reservation_items as
  select r.show_id, r.reservation_id, r.organisation_id, r.status, r.expires_at,
         i.n, i.seat_no, null::int as area_no, i.ticket_type, 1 as quantity, i.price_minor
    from reservations r
    cross join lateral unnest(r.seat_nos, r.seat_types, r.seat_prices)
      with ordinality as i(seat_no, ticket_type, price_minor, n)
  union all
  select r.show_id, r.reservation_id, r.organisation_id, r.status, r.expires_at,
         cardinality(r.seat_nos) + i.n, null, i.area_no, i.ticket_type, i.quantity, i.price_minor
    from reservations r
    cross join lateral unnest(r.area_nos, r.area_types, r.area_quantities, r.area_prices)
      with ordinality as i(area_no, ticket_type, quantity, price_minor, n);
comment on view reservation_items is 'The items of reservations as rows, with the frozen price of one place.';
comment on column reservation_items.show_id is 'The show.';
comment on column reservation_items.reservation_id is 'The reservation.';
comment on column reservation_items.organisation_id is 'Whose show.';
comment on column reservation_items.status is 'The reservation''s status.';
comment on column reservation_items.expires_at is 'The reservation''s end.';
comment on column reservation_items.n is 'Place in the reservation, from 1; seats first.';
comment on column reservation_items.seat_no is 'The seat, or null.';
comment on column reservation_items.area_no is 'The area, or null.';
comment on column reservation_items.ticket_type is 'Ticket type.';
comment on column reservation_items.quantity is '1 for a seat; units of an area.';
comment on column reservation_items.price_minor is 'Price of one place, minor units, as it was when held.';

---- create above / drop below ----

drop view reservation_items;
drop table reservations;
drop function reservations_stay_closed;
