-- Who sells, and what: organisations and their catalogue.
-- Lock cost: new tables only.

create table organisations (
  organisation_id uuid primary key,
  name            text not null check (char_length(name) between 1 and 200),
  created_at      timestamptz not null default clock_timestamp()
);
comment on table organisations is 'Who sells. One default row until there are more; everything below belongs to one.';
comment on column organisations.organisation_id is 'UUIDv7.';
comment on column organisations.name is 'Display name.';
comment on column organisations.created_at is 'When the row was written, database clock.';

insert into organisations (organisation_id, name) values ('00000000-0000-7000-8000-000000000001', 'Default');

create table venues (
  venue_id        uuid primary key,
  organisation_id uuid not null references organisations,
  name            text not null check (char_length(name) between 1 and 200),
  city            text not null check (char_length(city) between 1 and 200),
  country         text not null check (country ~ '^[A-Z]{2}$'),
  time_zone       text not null,
  external_ref    text check (char_length(external_ref) between 1 and 200),
  revision        bigint not null default 1,
  created_at      timestamptz not null default clock_timestamp(),
  constraint venues_external_ref unique (organisation_id, external_ref)
);
comment on table venues is 'Houses: theatres, cinemas, arenas.';
comment on column venues.venue_id is 'UUIDv7.';
comment on column venues.organisation_id is 'Whose venue.';
comment on column venues.name is 'Display name, NFC.';
comment on column venues.city is 'City, for filtering.';
comment on column venues.country is 'ISO 3166-1 alpha-2.';
comment on column venues.time_zone is 'IANA zone name; a day of the catalogue is a day in this zone.';
comment on column venues.external_ref is 'The organiser''s own identifier, unique per organisation.';
comment on column venues.revision is 'Raised by each change; the ETag.';
comment on column venues.created_at is 'When the row was written, database clock.';

create table halls (
  hall_id         uuid primary key,
  organisation_id uuid not null references organisations,
  venue_id        uuid not null references venues,
  name            text not null check (char_length(name) between 1 and 200),
  external_ref    text check (char_length(external_ref) between 1 and 200),
  revision        bigint not null default 1,
  created_at      timestamptz not null default clock_timestamp(),
  constraint halls_external_ref unique (organisation_id, external_ref)
);
create index halls_by_venue on halls (venue_id);
comment on table halls is 'Rooms of a venue. Plans are drawn for a hall; seats keep their number and id through all plans of it.';
comment on column halls.hall_id is 'UUIDv7.';
comment on column halls.organisation_id is 'Whose hall.';
comment on column halls.venue_id is 'The house it is in.';
comment on column halls.name is 'Display name, NFC.';
comment on column halls.external_ref is 'The organiser''s own identifier, unique per organisation.';
comment on column halls.revision is 'Raised by each change; the ETag.';
comment on column halls.created_at is 'When the row was written, database clock.';

create table events (
  event_id         uuid primary key,
  organisation_id  uuid not null references organisations,
  kind             text not null check (kind in ('movie', 'concert', 'play', 'match', 'festival', 'talk', 'other')),
  title            text not null check (char_length(title) between 1 and 300),
  search           text not null default '',
  genre            text check (char_length(genre) between 1 and 100),
  language         text check (char_length(language) between 1 and 35),
  duration_minutes int check (duration_minutes between 1 and 100000),
  age_rating       text check (char_length(age_rating) between 1 and 50),
  description      text check (char_length(description) <= 20000),
  poster_url       text check (char_length(poster_url) <= 2000),
  status           text not null default 'draft' check (status in ('draft', 'published', 'archived')),
  external_ref     text check (char_length(external_ref) between 1 and 200),
  revision         bigint not null default 1,
  created_at       timestamptz not null default clock_timestamp(),
  constraint events_external_ref unique (organisation_id, external_ref)
);
create index events_by_kind on events (organisation_id, kind, event_id);
comment on table events is 'What people come for: a film, a concert, a play, a match.';
comment on column events.event_id is 'UUIDv7.';
comment on column events.organisation_id is 'Whose event.';
comment on column events.kind is 'What it is.';
comment on column events.title is 'Title, NFC, any script.';
comment on column events.search is 'The title as searches look for it: case-folded, NFKC. Made by the application, which folds every script; the C locale knows ASCII only.';
comment on column events.genre is 'Free text, for filtering: drama, jazz.';
comment on column events.language is 'BCP 47 tag of the main language.';
comment on column events.duration_minutes is 'Length in minutes.';
comment on column events.age_rating is 'As printed on the poster: PG-13, FSK 12.';
comment on column events.description is 'Plain text.';
comment on column events.poster_url is 'Where the poster is.';
comment on column events.status is 'draft until its first show is published; archived is out of the lists.';
comment on column events.external_ref is 'The organiser''s own identifier, unique per organisation.';
comment on column events.revision is 'Raised by each change; the ETag.';
comment on column events.created_at is 'When the row was written, database clock.';

---- create above / drop below ----

drop table events;
drop table halls;
drop table venues;
drop table organisations;
