---- tern: disable-tx ----
-- Each of these tables had two indexes that began with the show. Before Postgres has statistics of a show, one looks as
-- good to it as the other, and looking up one booking's refunds could read those of the whole show. What is rare comes
-- first now, so that only one fits. They say the same as before.
-- Lock cost: built concurrently, while everything goes on; then one moment to change them over. One that was cut off is
-- begun anew.

drop index concurrently if exists refunds_once_per_cause_new;
create unique index concurrently refunds_once_per_cause_new on refunds (payment_id, cause);
alter table refunds drop constraint refunds_once_per_cause,
  add constraint refunds_once_per_cause unique using index refunds_once_per_cause_new;

drop index concurrently if exists bookings_one_per_reservation_new;
create unique index concurrently bookings_one_per_reservation_new on bookings (reservation_id);
alter table bookings drop constraint bookings_one_per_reservation,
  add constraint bookings_one_per_reservation unique using index bookings_one_per_reservation_new;

drop index concurrently if exists queue_admissions_one_a_place_new;
create unique index concurrently queue_admissions_one_a_place_new on queue_admissions (position, show_id);
alter table queue_admissions drop constraint queue_admissions_one_a_place,
  add constraint queue_admissions_one_a_place unique using index queue_admissions_one_a_place_new;

---- create above / drop below ----

---- tern: disable-tx ----
alter table refunds drop constraint refunds_once_per_cause,
  add constraint refunds_once_per_cause unique (show_id, payment_id, cause);
alter table bookings drop constraint bookings_one_per_reservation,
  add constraint bookings_one_per_reservation unique (show_id, reservation_id);
alter table queue_admissions drop constraint queue_admissions_one_a_place,
  add constraint queue_admissions_one_a_place unique (show_id, position);
