-- ($1 show_id, $2 seat_no[], $3 reservation_id, $4 expires_at, $5 organisation_id, $6 customer_id)
insert into reservations (show_id, reservation_id, organisation_id, customer_id, created_at, expires_at, hold_seconds,
                          currency, total_minor, places, seat_nos, seat_types, seat_prices)
values ($1, $3, $5, $6, $4::timestamptz - interval '900 seconds', $4, 900, 'EUR', 2500 * cardinality($2::int[]), cardinality($2::int[]), $2,
        array_fill('standard'::text, array[cardinality($2::int[])]), array_fill(2500::bigint, array[cardinality($2::int[])]));
