-- The change log: what happened to a show, gap-free and in order.
-- Lock cost: new tables only.

create table changes (
  show_id         uuid not null,
  version         bigint not null,
  n               int not null,
  organisation_id uuid not null,
  at              timestamptz not null,
  type            text not null,
  actor           text not null,
  reason          text not null,
  reservation_id  uuid,
  block_id        uuid,
  booking_id      uuid,
  before_status   text,
  after_status    text,
  expires_at      timestamptz,
  seat_nos        int[],
  seat_states     text,
  area_nos        int[],
  area_units      int[],
  detail          jsonb,
  xid             xid8 not null default pg_current_xact_id(),
  primary key (show_id, version, n),
  constraint changes_a_letter_a_seat check (char_length(seat_states) = cardinality(seat_nos))
) with (fillfactor = 100);
create index changes_by_xid on changes (xid);
comment on table changes is 'Append-only: the application may not update or delete it. Every transition of a place, reservation or show makes exactly one row.';
comment on column changes.show_id is 'The show.';
comment on column changes.version is 'The show''s version that the command made; gap-free.';
comment on column changes.n is 'Place within the version, from 0: a command may close overdue holds before it does its own work.';
comment on column changes.organisation_id is 'Whose show.';
comment on column changes.at is 'The batch''s now.';
comment on column changes.type is 'reservation.created, place.blocked, show.published and so on.';
comment on column changes.actor is 'Customer id, "key:" and the API key''s prefix, or "system". Never a name or mail.';
comment on column changes.reason is 'buyer, staff, expired, swept, cancelled.';
comment on column changes.reservation_id is 'The reservation concerned.';
comment on column changes.block_id is 'The block concerned.';
comment on column changes.booking_id is 'The booking concerned.';
comment on column changes.before_status is 'Status before; null when it was made.';
comment on column changes.after_status is 'Status after.';
comment on column changes.expires_at is 'The hold''s end after the change.';
comment on column changes.seat_nos is 'Seats whose state changed, sorted.';
comment on column changes.seat_states is 'The state of each after, a letter a seat in step with seat_nos: a, h, b or x.';
comment on column changes.area_nos is 'Areas whose held units changed.';
comment on column changes.area_units is 'By how many units, taken positive, given back negative.';
comment on column changes.detail is 'What else is worth keeping: what was changed about a show, why places were blocked.';
comment on column changes.xid is 'The writing transaction. Readers across shows order by it and stop before the oldest one still running.';

---- create above / drop below ----

drop table changes;
