-- ($1 show_id, $2 booking_id, $3 n, $4 ticket_id, $5 organisation_id, $6 seat_no, $7 ticket_type, $8 price_minor, $9 status,
-- $10 issued_at)
insert into tickets (show_id, booking_id, n, ticket_id, organisation_id, seat_no, ticket_type, price_minor, status, issued_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10);
