-- ($1 show_id, $2 version, $3 n, $4 organisation_id, $5 at, $6 type, $7 actor, $8 reason, $9 reservation_id, $10 booking_id,
-- $11 before_status, $12 after_status, $13 expires_at, $14 seat_nos, $15 seat_states, $16 ticket_ids)
insert into changes (show_id, version, n, organisation_id, at, type, actor, reason, reservation_id, booking_id, before_status,
       after_status, expires_at, seat_nos, seat_states, ticket_ids)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16);
