-- Shows on sale, each with all the seats of a plan. ($1 organisation_id, $2 plan_id, as in hall.sql, $3 seats, $4 show_id[])
with made as (
  insert into shows (show_id, organisation_id, event_id, venue_id, hall_id, plan_id, status, starts_at, time_zone, currency, hold_seconds,
         max_hold_seconds)
  select id, $1, $2, $2, $2, $2, 'on_sale', now() + interval '30 days', 'UTC', 'EUR', 3600, 7200 from unnest($4::uuid[]) as s(id)),
heads as (
  insert into show_heads (show_id, organisation_id) select id, $1 from unnest($4::uuid[]) as s(id)),
prices as (
  insert into show_prices (show_id, category, ticket_type, organisation_id, amount_minor)
  select id, 'All', 'standard', $1, 2500 from unnest($4::uuid[]) as s(id))
insert into show_seats (show_id, seat_no, organisation_id)
select id, i, $1 from unnest($4::uuid[]) as s(id) cross join generate_series(0, $3::int - 1) as i;
