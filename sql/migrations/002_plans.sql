-- Seating plans: immutable, versioned per hall.
-- Lock cost: new tables only.

create table hall_seats (
  hall_id         uuid not null references halls,
  seat_no         int not null check (seat_no >= 0),
  organisation_id uuid not null,
  seat_id         uuid not null unique,
  section         text not null,
  row_name        text not null,
  seat_name       text not null check (seat_name <> ''),
  primary key (hall_id, seat_no),
  constraint hall_seats_one_number_per_key unique (hall_id, section, row_name, seat_name)
);
comment on table hall_seats is 'Every seat any plan of a hall ever had. A seat gets its number and id once, so that a show can move to another plan while its seats stay theirs.';
comment on column hall_seats.hall_id is 'The hall.';
comment on column hall_seats.seat_no is 'The seat''s number in its hall, from 0; what all rows about shows use.';
comment on column hall_seats.organisation_id is 'Whose hall.';
comment on column hall_seats.seat_id is 'UUIDv7, what clients see.';
comment on column hall_seats.section is 'Section, empty when there is none.';
comment on column hall_seats.row_name is 'Row, empty when there is none.';
comment on column hall_seats.seat_name is 'The seat''s own name in its row.';

create table hall_areas (
  hall_id         uuid not null references halls,
  area_no         int not null check (area_no >= 0),
  organisation_id uuid not null,
  area_id         uuid not null unique,
  name            text not null,
  primary key (hall_id, area_no),
  constraint hall_areas_one_number_per_name unique (hall_id, name)
);
comment on table hall_areas is 'Every standing area any plan of a hall ever had; as hall_seats.';
comment on column hall_areas.hall_id is 'The hall.';
comment on column hall_areas.area_no is 'The area''s number in its hall, from 0.';
comment on column hall_areas.organisation_id is 'Whose hall.';
comment on column hall_areas.area_id is 'UUIDv7, what clients see.';
comment on column hall_areas.name is 'Display name, NFC.';

create table plans (
  plan_id         uuid primary key,
  organisation_id uuid not null references organisations,
  hall_id         uuid not null references halls,
  version         int not null check (version >= 1),
  name            text not null,
  format          text not null check (format in ('pretix', 'seatsio', 'csv', 'rowlock')),
  seat_count      int not null check (seat_count >= 0),
  drawing         jsonb not null default '[]',
  warnings        jsonb not null default '[]',
  created_at      timestamptz not null default clock_timestamp(),
  constraint plans_one_version_per_hall unique (hall_id, version)
);
comment on table plans is 'An imported seating plan. Never changed: a correction is a new plan, and shows move to it.';
comment on column plans.plan_id is 'UUIDv7.';
comment on column plans.organisation_id is 'Whose plan.';
comment on column plans.hall_id is 'The hall it is drawn for.';
comment on column plans.version is 'Counts the plans of a hall, from 1.';
comment on column plans.name is 'The document''s own name, or the hall''s.';
comment on column plans.format is 'What it was imported from.';
comment on column plans.seat_count is 'Seats, without areas.';
comment on column plans.drawing is 'Texts and shapes that are drawn and not sold.';
comment on column plans.warnings is 'What the import noticed and passed over.';
comment on column plans.created_at is 'When it was imported, database clock.';

create table plan_categories (
  plan_id         uuid not null references plans,
  category_no     int not null check (category_no >= 0),
  organisation_id uuid not null,
  category_id     uuid not null,
  name            text not null,
  color           text not null default '',
  primary key (plan_id, category_no),
  constraint plan_categories_one_per_name unique (plan_id, name)
);
comment on table plan_categories is 'Price classes of a plan.';
comment on column plan_categories.plan_id is 'The plan.';
comment on column plan_categories.category_no is 'Place in the plan''s list, from 0.';
comment on column plan_categories.organisation_id is 'Whose plan.';
comment on column plan_categories.category_id is 'UUIDv7.';
comment on column plan_categories.name is 'What prices refer to.';
comment on column plan_categories.color is 'CSS hex colour, or empty.';

create table plan_seats (
  plan_id         uuid not null references plans,
  position        int not null check (position >= 0),
  organisation_id uuid not null,
  seat_no         int not null,
  label           text not null,
  category_no     int not null,
  kind            text not null check (kind in ('standard', 'wheelchair', 'companion')),
  features        text[] not null default '{}',
  x               float8,
  y               float8,
  primary key (plan_id, position),
  constraint plan_seats_each_seat_once unique (plan_id, seat_no)
);
comment on table plan_seats is 'The seats of a plan, in the document''s order.';
comment on column plan_seats.plan_id is 'The plan.';
comment on column plan_seats.position is 'Place in the document, from 0: the seat''s letter in a map''s statuses.';
comment on column plan_seats.organisation_id is 'Whose plan.';
comment on column plan_seats.seat_no is 'The seat, in hall_seats.';
comment on column plan_seats.label is 'What people read: section, row and seat joined with "-"; unique in the plan.';
comment on column plan_seats.category_no is 'Its price class, in plan_categories.';
comment on column plan_seats.kind is 'Whom it is made for.';
comment on column plan_seats.features is 'restricted_view, aisle and the like.';
comment on column plan_seats.x is 'Horizontal position in the plan''s own units; null when the document has none.';
comment on column plan_seats.y is 'Vertical position, growing downwards; null when the document has none.';

create table plan_areas (
  plan_id         uuid not null references plans,
  position        int not null check (position >= 0),
  organisation_id uuid not null,
  area_no         int not null,
  category_no     int not null,
  capacity        int not null check (capacity >= 1),
  x               float8,
  y               float8,
  outline         jsonb not null default '[]',
  primary key (plan_id, position),
  constraint plan_areas_each_area_once unique (plan_id, area_no)
);
comment on table plan_areas is 'The standing areas of a plan.';
comment on column plan_areas.plan_id is 'The plan.';
comment on column plan_areas.position is 'Place in the document, from 0.';
comment on column plan_areas.organisation_id is 'Whose plan.';
comment on column plan_areas.area_no is 'The area, in hall_areas.';
comment on column plan_areas.category_no is 'Its price class, in plan_categories.';
comment on column plan_areas.capacity is 'How many people it takes, when a show does not say otherwise.';
comment on column plan_areas.x is 'Horizontal position; null when the document has none.';
comment on column plan_areas.y is 'Vertical position; null when the document has none.';
comment on column plan_areas.outline is 'Corners of its polygon, [{x, y}].';

---- create above / drop below ----

drop table plan_areas;
drop table plan_seats;
drop table plan_categories;
drop table plans;
drop table hall_areas;
drop table hall_seats;
