-- A hall with a plan of so many seats, labelled by their numbers, and an event. ($1 organisation_id, $2 plan_id, also the id of all
-- others, $3 seats)
with venue as (
  insert into venues (venue_id, organisation_id, name, city, country, time_zone) values ($2, $1, 'Bench House', 'Helsinki', 'FI', 'UTC')),
hall as (
  insert into halls (hall_id, organisation_id, venue_id, name) values ($2, $1, $2, 'Hall')),
event as (
  insert into events (event_id, organisation_id, kind, title, status) values ($2, $1, 'concert', 'The Rush', 'published')),
plan as (
  insert into plans (plan_id, organisation_id, hall_id, version, name, format, seat_count) values ($2, $1, $2, 1, 'Seats', 'rowlock', $3)),
category as (
  insert into plan_categories (plan_id, category_no, organisation_id, category_id, name) values ($2, 0, $1, gen_random_uuid(), 'All')),
seats as (
  insert into hall_seats (hall_id, seat_no, organisation_id, seat_id, section, row_name, seat_name)
  select $2, i, $1, gen_random_uuid(), '', '', i::text from generate_series(0, $3::int - 1) as i)
insert into plan_seats (plan_id, position, organisation_id, seat_no, label, category_no, kind)
select $2, i, $1, i, i::text, 0, 'standard' from generate_series(0, $3::int - 1) as i;
