-- Shows, and who owns each of their places.
-- Lock cost: new tables only.

-- The key of a show's lock. It never changes: two binaries that computed
-- different keys would sell the same show side by side. The last 64 bits of a
-- UUIDv7 are random.
create function show_lock_key(show_id uuid) returns bigint
  language sql immutable strict parallel safe
  return ('x' || right(replace(show_id::text, '-', ''), 16))::bit(64)::bigint;
comment on function show_lock_key is 'The advisory lock key of a show, in the one-argument key space. Must never change.';

create table shows (
  show_id                    uuid primary key,
  organisation_id            uuid not null references organisations,
  event_id                   uuid not null references events,
  venue_id                   uuid references venues,
  hall_id                    uuid references halls,
  plan_id                    uuid references plans,
  status                     text not null default 'draft' check (status in ('draft', 'on_sale', 'paused', 'cancelled')),
  starts_at                  timestamptz not null,
  ends_at                    timestamptz check (ends_at > starts_at),
  doors_at                   timestamptz,
  time_zone                  text not null,
  language                   text check (char_length(language) between 1 and 35),
  format                     text[] not null default '{}',
  accessibility              text[] not null default '{}',
  note                       text check (char_length(note) <= 2000),
  currency                   text not null check (currency ~ '^[A-Z]{3}$'),
  hold_seconds               int not null default 900 check (hold_seconds between 1 and 3600),
  max_hold_seconds           int not null default 1800 check (max_hold_seconds between 1 and 604800),
  max_places_per_reservation int not null default 5 check (max_places_per_reservation between 1 and 10000),
  max_places_per_customer    int check (max_places_per_customer between 1 and 1000000),
  sales_start_at             timestamptz,
  sales_end_at               timestamptz,
  cancellation               jsonb,
  test_mode                  boolean not null default false,
  external_ref               text check (char_length(external_ref) between 1 and 200),
  metadata                   jsonb not null default '{}',
  definition                 bigint not null default 1,
  created_at                 timestamptz not null default clock_timestamp(),
  constraint shows_external_ref unique (organisation_id, external_ref),
  constraint shows_hold_within_max check (max_hold_seconds >= hold_seconds),
  constraint shows_sales_window check (sales_end_at > sales_start_at)
);
create index shows_by_event on shows (event_id, starts_at);
create index shows_by_start on shows (organisation_id, starts_at, show_id);
create index shows_by_end on shows (organisation_id, (coalesce(ends_at, starts_at)));
create index shows_by_venue on shows (venue_id, starts_at);
comment on table shows is 'One performance of an event in one hall at one time; or a bare stock of places without a hall. What rarely changes; what changes with each sale is in show_heads.';
comment on column shows.show_id is 'UUIDv7.';
comment on column shows.organisation_id is 'Whose show.';
comment on column shows.event_id is 'What is performed.';
comment on column shows.venue_id is 'Where; null for a stock without a venue.';
comment on column shows.hall_id is 'In which hall; null for a stock.';
comment on column shows.plan_id is 'The pinned version of the seating plan; null for a stock.';
comment on column shows.status is 'ended is not here: it is derived from ends_at, or starts_at, and the clock.';
comment on column shows.starts_at is 'Start.';
comment on column shows.ends_at is 'End; null when unknown: sales then end at the start.';
comment on column shows.doors_at is 'Doors open.';
comment on column shows.time_zone is 'IANA zone of the hall, to print the start in.';
comment on column shows.language is 'BCP 47 tag, when it differs from the event''s.';
comment on column shows.format is 'imax, 3d, dubbed and the like.';
comment on column shows.accessibility is 'subtitled, audio_description, relaxed and the like.';
comment on column shows.note is 'Shown to buyers.';
comment on column shows.currency is 'ISO 4217; fixed after the first hold.';
comment on column shows.hold_seconds is 'Length of a usual hold, seconds.';
comment on column shows.max_hold_seconds is 'The longest a hold can be made to last from its creation, seconds.';
comment on column shows.max_places_per_reservation is 'Places in one reservation.';
comment on column shows.max_places_per_customer is 'Places of one customer in this show, held and booked; null: no limit.';
comment on column shows.sales_start_at is 'Sales begin; null: at publication.';
comment on column shows.sales_end_at is 'Sales end; null: with the show.';
comment on column shows.cancellation is 'The cancellation policy of bookings.';
comment on column shows.test_mode is 'A show to try things on.';
comment on column shows.external_ref is 'The organiser''s own identifier, unique per organisation.';
comment on column shows.metadata is 'At most 20 string pairs of the organiser''s.';
comment on column shows.definition is 'Raised by each change of this row, its prices or its plan; tells lanes that what they know is old.';
comment on column shows.created_at is 'When the row was written, database clock.';

create table show_prices (
  show_id         uuid not null references shows,
  category        text not null,
  ticket_type     text not null,
  organisation_id uuid not null,
  amount_minor    bigint not null check (amount_minor between 0 and 1000000000000),
  primary key (show_id, category, ticket_type)
);
comment on table show_prices is 'What a place of a category costs for a ticket type. Every category prices "standard".';
comment on column show_prices.show_id is 'The show.';
comment on column show_prices.category is 'Category name of the show''s plan or areas.';
comment on column show_prices.ticket_type is 'standard, child, member and the like.';
comment on column show_prices.organisation_id is 'Whose show.';
comment on column show_prices.amount_minor is 'Gross price in the currency''s minor unit.';

create table show_heads (
  show_id         uuid primary key references shows,
  organisation_id uuid not null,
  version         bigint not null default 0,
  changed_at      timestamptz not null default clock_timestamp(),
  definition      bigint not null default 1
) with (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
comment on table show_heads is 'The narrow row of a show that every change writes.';
comment on column show_heads.show_id is 'The show.';
comment on column show_heads.organisation_id is 'Whose show.';
comment on column show_heads.version is 'Raised by one by each command that changes something.';
comment on column show_heads.changed_at is 'The latest "now" that decided something here: time never runs backwards in a show, whatever the clock does.';
comment on column show_heads.definition is 'Copy of shows.definition.';

create table show_seats (
  show_id         uuid not null,
  seat_no         int not null,
  state           "char" not null default 'a',
  organisation_id uuid not null,
  reservation_id  uuid,
  held_until      timestamptz,
  block_id        uuid,
  holder          int not null default 0,
  primary key (show_id, seat_no),
  -- One row is one seat and has one owner: two owners cannot be written down.
  constraint show_seats_one_owner check (
    case state
      when 'a' then reservation_id is null and held_until is null and block_id is null
      when 'h' then reservation_id is not null and held_until is not null
      when 'b' then reservation_id is not null and held_until is null
      when 'x' then reservation_id is null and held_until is null and block_id is not null
      else false
    end)
) with (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
comment on table show_seats is 'Who owns each seat of a show. No foreign key points here or away, and no index is on a column that changes: seats stay HOT.';
comment on column show_seats.show_id is 'The show.';
comment on column show_seats.seat_no is 'The seat, in hall_seats of the show''s hall.';
comment on column show_seats.state is 'a available, h held, b booked, x blocked. A held seat past held_until is available to the next buyer.';
comment on column show_seats.organisation_id is 'Whose show.';
comment on column show_seats.reservation_id is 'The reservation that owns it, held or booked.';
comment on column show_seats.held_until is 'The end of the hold, copied from the reservation.';
comment on column show_seats.holder is 'A hash of the holding customer''s id, so that a refusal can name one''s own hold without reading reservations.';
comment on column show_seats.block_id is 'The block it belongs to; kept while a staff hold sells from the block.';

create function show_seats_keep_owner() returns trigger
  language plpgsql as $$
begin
  if old.held_until is null or old.held_until > greatest(
      clock_timestamp(), (select changed_at from show_heads where show_id = old.show_id)) then
    raise exception 'seat % of show % belongs to reservation %', old.seat_no, old.show_id, old.reservation_id
      using errcode = 'integrity_constraint_violation', constraint = 'show_seats_keep_owner',
            hint = 'Close that reservation first.';
  end if;
  return new;
end $$;
comment on function show_seats_keep_owner is 'Refuses to hand a seat from one living owner straight to another.';
create trigger show_seats_keep_owner
  before update of reservation_id on show_seats
  for each row when (old.reservation_id is not null and new.reservation_id is not null
                     and old.reservation_id <> new.reservation_id)
  execute function show_seats_keep_owner();
comment on trigger show_seats_keep_owner on show_seats is 'Rule 1, also for hands at a psql prompt; it runs only when an owner would be replaced.';

create table show_areas (
  show_id         uuid not null,
  area_no         int not null,
  organisation_id uuid not null,
  area_id         uuid not null,
  name            text not null,
  category        text not null,
  external_ref    text check (char_length(external_ref) between 1 and 200),
  capacity        int not null check (capacity >= 0),
  held            int not null default 0,
  booked          int not null default 0,
  primary key (show_id, area_no),
  constraint show_areas_by_id unique (show_id, area_id),
  constraint show_areas_external_ref unique (show_id, external_ref),
  constraint show_areas_never_oversold check (held >= 0 and booked >= 0 and held + booked <= capacity)
) with (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
comment on table show_areas is 'Countable places of a show.';
comment on column show_areas.show_id is 'The show.';
comment on column show_areas.area_no is 'The area''s number, in hall_areas, or counted from 0 in a stock.';
comment on column show_areas.organisation_id is 'Whose show.';
comment on column show_areas.area_id is 'UUIDv7, what clients see.';
comment on column show_areas.name is 'Display name.';
comment on column show_areas.category is 'What prices refer to.';
comment on column show_areas.external_ref is 'The organiser''s own identifier, unique in the show.';
comment on column show_areas.capacity is 'Units in all.';
comment on column show_areas.held is 'Units of active reservations, overdue ones included until they are closed.';
comment on column show_areas.booked is 'Units of bookings.';

create table blocks (
  show_id         uuid not null references shows,
  block_id        uuid not null,
  organisation_id uuid not null,
  reason          text not null check (char_length(reason) between 1 and 500),
  seat_nos        int[] not null,
  created_at      timestamptz not null,
  primary key (show_id, block_id)
);
comment on table blocks is 'Seats kept off sale by the organiser. Which of them are blocked now is in show_seats.';
comment on column blocks.show_id is 'The show.';
comment on column blocks.block_id is 'UUIDv7.';
comment on column blocks.organisation_id is 'Whose show.';
comment on column blocks.reason is 'Why, for people.';
comment on column blocks.seat_nos is 'The seats that were blocked, in order.';
comment on column blocks.created_at is 'When, by the batch''s clock.';

---- create above / drop below ----

drop table blocks;
drop table show_areas;
drop table show_seats;
drop function show_seats_keep_owner;
drop table show_heads;
drop table show_prices;
drop table shows;
drop function show_lock_key;
