-- Shows and whatever was sold, so that each run begins with the same empty tables, and none is judged by what another broke.
truncate shows, show_prices, show_heads, show_seats, show_areas, reservations, changes, idempotency_keys, river_job cascade;
