-- ($1 show_id, $2 organisation_id, $3 created_at, $4 reservation_id[], $5 customer_id[], $6 expires_at[], $7 seat_no[])
insert into reservations (show_id, reservation_id, organisation_id, customer_id, status, created_at, expires_at, hold_seconds, staff,
       currency, total_minor, places, seat_nos, seat_types, seat_prices)
select $1, w.reservation_id, $2, w.customer_id, 'active', $3, w.expires_at, extract(epoch from w.expires_at - $3)::int, false,
       'EUR', 2500, 1, array[w.seat_no], '{standard}', '{2500}'
  from unnest($4::uuid[], $5::text[], $6::timestamptz[], $7::int[]) as w(reservation_id, customer_id, expires_at, seat_no);
