-- A booking that costs nothing. ($1 show_id, $2 booking_id, $3 organisation_id, $4 reference, $5 reservation_id, $6 customer_id,
-- $7 status, $8 currency, $9 total_minor, $10 created_at, $11 confirmed_at, $12 confirmed_version)
insert into bookings (show_id, booking_id, organisation_id, reference, reservation_id, customer_id, status, currency, total_minor,
       created_at, confirmed_at, confirmed_version)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12);
