---- tern: disable-tx ----
-- What the log says of a booking is found without reading all that it says of the show. Only what has a booking is in it,
-- so holds pay nothing; a purchase pays for its six rows or so less than a hundredth of what it costs.
-- Lock cost: built concurrently, while everything goes on. One that was cut off is begun anew.

drop index concurrently if exists changes_by_booking;
create index concurrently changes_by_booking on changes (booking_id) where booking_id is not null;

---- create above / drop below ----

---- tern: disable-tx ----
drop index concurrently changes_by_booking;
