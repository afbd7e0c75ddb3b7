-- Reservations n1 to n2 of long ago, over many shows at a time, as they were sold: a hundred shows are on sale at any moment, and 2,000
-- holds of each came to an end. Ids are those of time, as Rowlock makes them. ($1 organisation_id, $2 n1, $3 n2)
insert into reservations (show_id, reservation_id, organisation_id, customer_id, status, created_at, expires_at, hold_seconds, closed_at,
       close_reason, staff, currency, total_minor, places, seat_nos, seat_types, seat_prices)
select bench_old_id(1, n / 200000 * 100 + n % 100), bench_old_id(2, n), $1, 'customer-' || n, 'expired', t.at, t.at + interval '1 hour', 3600,
       t.at + interval '1 hour', 'expired', false, 'EUR', 2500, 1, array[(n / 100 % 2000)::int], '{standard}', '{2500}'
  from generate_series($2::bigint, $3::bigint) as n
 cross join lateral (select timestamptz '2026-01-01' + n * interval '20 milliseconds' as at) as t;
