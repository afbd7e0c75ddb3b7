-- ($1 show_id, $2 reservation_id, $3 organisation_id, $4 customer_id, $5 created_at, $6 expires_at, $7 hold_seconds, $8 staff,
-- $9 currency, $10 total_minor, $11 places, $12 seat_nos, $13 seat_types, $14 seat_prices, $15 metadata)
insert into reservations (show_id, reservation_id, organisation_id, customer_id, status, created_at, expires_at, hold_seconds, staff,
       currency, total_minor, places, seat_nos, seat_types, seat_prices, metadata)
values ($1, $2, $3, $4, 'active', $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15);
