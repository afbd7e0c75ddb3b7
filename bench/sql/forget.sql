-- Forgets every show, and all that was ever sold.
truncate idempotency_keys, changes, reservations, bookings, payments, payment_checks, payment_events, refunds, tickets, scans, buyers,
         ticket_holders, sessions, show_seats, show_areas, blocks, show_prices, show_heads, queue_heads, queue_rounds, queue_entries,
         queue_admissions, shows, plan_seats, plan_areas, plan_categories,
         plans, hall_seats, hall_areas, halls, venues, events, river_job cascade;
