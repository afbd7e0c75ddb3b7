-- ($1 show_id, $2 seat_no[], $3 reservation_id, $4 expires_at, $5 organisation_id, $6 customer_id)
insert into changes (show_id, version, n, organisation_id, at, type, actor, reason, reservation_id, after_status, expires_at, seat_nos, seat_states)
values ($1, nextval('race_version'), 0, $5, clock_timestamp(), 'reservation.created', $6, 'buyer', $3, 'active', $4, $2, repeat('h', cardinality($2::int[])));
