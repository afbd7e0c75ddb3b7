-- Waiting rooms: who wants to buy when more come than can be served, and whose turn it is.
-- Lock cost: three columns are added to shows, nullable or with a constant default: a moment's lock, no rewrite; and a
-- partial index of few rows, for which shows are read once. Otherwise new tables only.

alter table shows
  add column queue jsonb,
  add column queue_open boolean not null default false,
  add column queue_ended text;
create index shows_queue_open on shows (show_id) where queue_open;
comment on column shows.queue is 'Settings of the waiting room; null: the defaults.';
comment on column shows.queue_open is 'Whether who wants to hold places needs a turn.';
comment on column shows.queue_ended is 'Why the waiting room was closed the last time: sold_out, closed, calm, cancelled, ended; null: it was not, or is open.';

create table queue_heads (
  show_id         uuid primary key references shows,
  organisation_id uuid not null,
  joined          bigint not null default 0,
  drawn           bigint not null default 0,
  head            bigint not null default 0,
  since           timestamptz not null,
  freed           bigint not null default 0 check (freed >= 0),
  rounds          int not null default 0,
  calm_since      timestamptz,
  arrivals        bigint not null default 0,
  arrivals_since  timestamptz,
  constraint queue_heads_order check (0 <= head and head <= drawn and drawn <= joined)
) with (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
comment on table queue_heads is 'The narrow row of a waiting room: its lock orders joining and calling. One number moves everybody.';
comment on column queue_heads.show_id is 'The show.';
comment on column queue_heads.organisation_id is 'Whose show.';
comment on column queue_heads.joined is 'Entries so far, which is also the last number given.';
comment on column queue_heads.drawn is 'How many of them have a place in the order.';
comment on column queue_heads.head is 'Whose place is up to this has been called. It never falls.';
comment on column queue_heads.since is 'Up to when the rate has been used. It never goes back, whatever the clock does.';
comment on column queue_heads.freed is 'Turns that were given back and are to be passed on.';
comment on column queue_heads.rounds is 'Rounds so far.';
comment on column queue_heads.calm_since is 'Since when there is no crowd; null: there is one.';
comment on column queue_heads.arrivals is 'Requests for a hold or an entry in the window that arrivals_since began, as instances report them.';
comment on column queue_heads.arrivals_since is 'When that window of ten seconds began.';

create function queue_heads_never_fall() returns trigger
  language plpgsql as $$
begin
  raise exception 'the waiting room of show % stands at % since % and cannot go back to % since %',
    old.show_id, old.head, old.since, new.head, new.since
    using errcode = 'integrity_constraint_violation', constraint = 'queue_heads_never_fall';
end $$;
comment on function queue_heads_never_fall is 'Refuses to take anybody''s turn back.';
create trigger queue_heads_never_fall
  before update on queue_heads
  for each row when (new.head < old.head or new.since < old.since or new.joined < old.joined or new.drawn < old.drawn)
  execute function queue_heads_never_fall();
comment on trigger queue_heads_never_fall on queue_heads is 'Positions only ever fall: the numbers that they are computed from only ever rise.';

create table queue_rounds (
  show_id         uuid not null,
  round           int not null,
  organisation_id uuid not null,
  first           bigint not null,
  entries         bigint not null,
  opened_at       timestamptz not null,
  closes_at       timestamptz,
  closed_at       timestamptz,
  drawn_at        timestamptz,
  key             bytea not null check (octet_length(key) = 32),
  digest          bytea not null check (octet_length(digest) = 32),
  beacon          text not null default '' check (char_length(beacon) <= 500),
  public_value    text not null default '' check (char_length(public_value) <= 500),
  public_from     text not null default '' check (public_from in ('', 'entries', 'beacon')),
  primary key (show_id, round),
  constraint queue_rounds_in_turn check (drawn_at is null or closed_at is not null),
  constraint queue_rounds_drawn check ((drawn_at is null) = (public_from = ''))
) with (fillfactor = 50);
create index queue_rounds_undrawn on queue_rounds (show_id, round) where drawn_at is null;
comment on table queue_rounds is 'Everybody who joined before the sale, or later within the same few seconds: drawn together. The order is computed from key and public value.';
comment on column queue_rounds.show_id is 'The show.';
comment on column queue_rounds.round is 'From 1. Who is in a round comes before everybody in the next.';
comment on column queue_rounds.organisation_id is 'Whose show.';
comment on column queue_rounds.first is 'Entries before it: its numbers are first + 1 to first + entries.';
comment on column queue_rounds.entries is 'How many joined.';
comment on column queue_rounds.opened_at is 'When the first of them did.';
comment on column queue_rounds.closes_at is 'When it closes; null: when the sale opens.';
comment on column queue_rounds.closed_at is 'When it did.';
comment on column queue_rounds.drawn_at is 'When its order was known.';
comment on column queue_rounds.key is 'Random. Its SHA-256 is told from the beginning, itself when it is drawn.';
comment on column queue_rounds.digest is 'Chained SHA-256 over the ids of its entries, in order.';
comment on column queue_rounds.beacon is 'The source of the public value, named before; empty: the digest.';
comment on column queue_rounds.public_value is 'What appeared after it was closed, and makes the order together with the key.';
comment on column queue_rounds.public_from is 'entries or beacon; empty: not drawn yet.';

create function queue_rounds_stay_drawn() returns trigger
  language plpgsql as $$
begin
  raise exception 'round % of show % is drawn', old.round, old.show_id
    using errcode = 'integrity_constraint_violation', constraint = 'queue_rounds_stay_drawn';
end $$;
comment on function queue_rounds_stay_drawn is 'Refuses a second draw.';
create trigger queue_rounds_stay_drawn
  before update on queue_rounds
  for each row when (old.drawn_at is not null or new.key <> old.key or new.first <> old.first)
  execute function queue_rounds_stay_drawn();
comment on trigger queue_rounds_stay_drawn on queue_rounds is 'What decides the order is written once.';

create table queue_entries (
  show_id         uuid not null,
  number          bigint not null,
  entry_id        uuid not null,
  organisation_id uuid not null,
  customer_id     text collate "C" not null check (char_length(customer_id) between 1 and 128),
  round           int not null,
  joined_at       timestamptz not null,
  closed_at       timestamptz,
  primary key (show_id, number)
) with (fillfactor = 90);
create unique index queue_entries_by_id on queue_entries (entry_id);
create unique index queue_entries_one_per_customer on queue_entries (customer_id, show_id) where closed_at is null;
comment on table queue_entries is 'Who joined a waiting room. Positions are not here: they are computed. One customer has one living entry.';
comment on column queue_entries.show_id is 'The show.';
comment on column queue_entries.number is 'From 1, without gaps, in the order of joining.';
comment on column queue_entries.entry_id is 'What clients see. UUIDv7.';
comment on column queue_entries.organisation_id is 'Whose show.';
comment on column queue_entries.customer_id is 'Whose entry.';
comment on column queue_entries.round is 'The round it is drawn in.';
comment on column queue_entries.joined_at is 'When, database clock.';
comment on column queue_entries.closed_at is 'When they left, or joined anew after their turn; null: they are in it.';

create table queue_admissions (
  show_id         uuid not null,
  number          bigint not null,
  entry_id        uuid not null,
  organisation_id uuid not null,
  customer_id     text collate "C" not null,
  position        bigint not null,
  turn            smallint not null default 1 check (turn in (1, 2)),
  admitted_at     timestamptz not null,
  lapses_at       timestamptz not null,
  session_ends_at timestamptz,
  reservation_id  uuid,
  returning_at    timestamptz,
  passed_on       boolean not null default false,
  closed_at       timestamptz,
  primary key (show_id, number),
  constraint queue_admissions_one_a_place unique (show_id, position),
  constraint queue_admissions_lapse check (lapses_at > admitted_at),
  constraint queue_admissions_used check (reservation_id is null or session_ends_at is not null),
  constraint queue_admissions_return check (returning_at is null or session_ends_at is null and turn = 1)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);
create index queue_admissions_unused on queue_admissions (show_id, lapses_at)
  where session_ends_at is null and not passed_on;
create index queue_admissions_returning on queue_admissions (show_id, returning_at, number)
  where returning_at is not null and closed_at is null;
comment on table queue_admissions is 'Turns: the right to hold places while the waiting room is open. The lane uses one up in the transaction of the hold.';
comment on column queue_admissions.show_id is 'The show.';
comment on column queue_admissions.number is 'The number of the entry.';
comment on column queue_admissions.entry_id is 'The entry.';
comment on column queue_admissions.organisation_id is 'Whose show.';
comment on column queue_admissions.customer_id is 'Whose turn.';
comment on column queue_admissions.position is 'Its place in the order, from 1.';
comment on column queue_admissions.turn is '1; 2 for who missed the first and came back.';
comment on column queue_admissions.admitted_at is 'When it was called.';
comment on column queue_admissions.lapses_at is 'When it is over unless it was used before.';
comment on column queue_admissions.session_ends_at is 'Until when the customer may hold again, from the first hold on; null: it was not used.';
comment on column queue_admissions.reservation_id is 'The last hold that was placed with it. While that lives, or when it was bought, there is no other.';
comment on column queue_admissions.returning_at is 'When who missed the turn came back, to be called next; null: they did not, or have been called.';
comment on column queue_admissions.passed_on is 'It was missed or left, and the turn is another''s.';
comment on column queue_admissions.closed_at is 'When the entry left; null: it did not.';

---- create above / drop below ----

drop table queue_admissions;
drop table queue_entries;
drop table queue_rounds;
drop function queue_rounds_stay_drawn;
drop table queue_heads;
drop function queue_heads_never_fall;
alter table shows drop column queue_ended, drop column queue_open, drop column queue;
