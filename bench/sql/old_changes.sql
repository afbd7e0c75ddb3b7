-- What the log says of their making. ($1 organisation_id, $2 n1, $3 n2)
insert into changes (show_id, version, n, organisation_id, at, type, actor, reason, reservation_id, after_status, expires_at, seat_nos,
       seat_states)
select bench_old_id(1, n / 200000 * 100 + n % 100), n / 100 % 2000 + 1, 0, $1, t.at, 'reservation.created', 'customer-' || n, 'buyer',
       bench_old_id(2, n), 'active', t.at + interval '1 hour', array[(n / 100 % 2000)::int], 'h'
  from generate_series($2::bigint, $3::bigint) as n
 cross join lateral (select timestamptz '2026-01-01' + n * interval '20 milliseconds' as at) as t;
