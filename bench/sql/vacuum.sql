-- What the database would have done by the time that a sale begins, and would do in the middle of it otherwise.
vacuum analyze shows, show_prices, show_heads, show_seats, reservations, changes, idempotency_keys, bookings, tickets, river_job,
               plans, plan_categories, plan_seats, halls, hall_seats, venues, events, queue_heads, queue_rounds, queue_entries, queue_admissions;
