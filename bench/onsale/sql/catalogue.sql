-- A catalogue of $1 shows: 20 of each event, in 100 houses of 20 cities with a hall of 20 seats each, one every three minutes
-- from now on. They are written here and not by an organiser, who would take minutes.
with org as (
  select organisation_id as id from organisations order by created_at limit 1
), house as materialized (
  select i, gen_random_uuid() as venue_id, gen_random_uuid() as hall_id,
         (array['Helsinki', 'Vienna', 'Lisbon', 'Oslo', 'Turin'])[1 + i % 5] || ' ' || 1 + i / 5 % 4 as city
    from generate_series(0, 99) as n(i)
), act as materialized (
  select i, gen_random_uuid() as event_id, 'Act ' || i || ' of the Evening' as title from generate_series(0, $1 / 20 - 1) as n(i)
), performance as materialized (
  select gen_random_uuid() as show_id, h.venue_id, h.hall_id, a.event_id, now() + interval '1 hour' + n.i * interval '3 minutes' as starts_at
    from generate_series(0, $1 - 1) as n(i)
    join house h on h.i = n.i % 100
    join act a on a.i = n.i % ($1 / 20)
), venue_rows as (
  insert into venues (venue_id, organisation_id, name, city, country, time_zone)
  select venue_id, org.id, 'House ' || i, city, 'FI', 'Europe/Helsinki' from house, org
), hall_rows as (
  insert into halls (hall_id, organisation_id, venue_id, name) select hall_id, org.id, venue_id, 'Hall' from house, org
), event_rows as (
  insert into events (event_id, organisation_id, kind, title, search, genre, language, status)
  select event_id, org.id, (array['movie', 'concert', 'play', 'talk'])[1 + i % 4], title, lower(title),
         (array['drama', 'jazz', 'comedy', 'crime', 'dance'])[1 + i % 5], (array['en', 'fi', 'de'])[1 + i % 3], 'published'
    from act, org
), show_rows as (
  insert into shows (show_id, organisation_id, event_id, venue_id, hall_id, status, starts_at, time_zone, currency)
  select show_id, org.id, event_id, venue_id, hall_id, 'on_sale', starts_at, 'Europe/Helsinki', 'EUR' from performance, org
), head_rows as (
  insert into show_heads (show_id, organisation_id, version) select show_id, org.id, 1 from performance, org
), price_rows as (
  insert into show_prices (show_id, category, ticket_type, organisation_id, amount_minor)
  select show_id, 'All', 'standard', org.id, 1200 from performance, org
)
insert into show_seats (show_id, organisation_id, seat_no)
select show_id, org.id, seat_no from performance, org, generate_series(0, 19) as n(seat_no);
