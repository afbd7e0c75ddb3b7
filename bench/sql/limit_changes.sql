-- ($1 show_id, $2 organisation_id, $3 at, $4 the version before, $5 reservation_id[], $6 customer_id[], $7 expires_at[], $8 seat_no[])
insert into changes (show_id, version, n, organisation_id, at, type, actor, reason, reservation_id, after_status, expires_at, seat_nos,
       seat_states)
select $1, $4 + w.i, 0, $2, $3, 'reservation.created', w.customer_id, 'buyer', w.reservation_id, 'active', w.expires_at,
       array[w.seat_no], 'h'
  from unnest($5::uuid[], $6::text[], $7::timestamptz[], $8::int[]) with ordinality as w(reservation_id, customer_id, expires_at, seat_no, i);
