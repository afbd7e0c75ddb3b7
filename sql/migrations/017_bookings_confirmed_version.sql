-- The version that confirmed a booking: a purchase that is asked for again is answered with it, however long the log is.
-- Lock cost: one nullable column: a moment's lock, no rewrite.

alter table bookings add column confirmed_version bigint;
comment on column bookings.confirmed_version is 'The show''s version that confirmed it; null: never, or before this was written down.';

---- create above / drop below ----

alter table bookings drop column confirmed_version;
