-- Venues, halls and events.

-- name: zones_known
-- Whether Postgres knows a time zone by exactly this name. $1.
select exists (select from pg_timezone_names where name = $1);

-- name: venues_insert
-- $1 venue_id, $2 organisation_id, $3 name, $4 city, $5 country, $6 time_zone, $7 external_ref or ''.
insert into venues (venue_id, organisation_id, name, city, country, time_zone, external_ref)
values ($1, $2, $3, $4, $5, $6, nullif($7, ''))
returning revision, created_at;

-- name: venues_update
-- $1 venue_id, $2 name, $3 city, $4 country, $5 time_zone, $6 external_ref or ''.
update venues
   set name = $2, city = $3, country = $4, time_zone = $5, external_ref = nullif($6, ''), revision = revision + 1
 where venue_id = $1
returning revision;

-- name: venues_read
-- $1 venue_id.
select venue_id, organisation_id, name, city, country, time_zone, coalesce(external_ref, ''), revision, created_at
  from venues where venue_id = $1;

-- name: venues_lock
-- The venue that is to be changed. $1 venue_id, $2 organisation_id.
select venue_id, organisation_id, name, city, country, time_zone, coalesce(external_ref, ''), revision, created_at
  from venues where venue_id = $1 and organisation_id = $2 for update;

-- name: venues_list
-- A page, oldest first. $1 organisation_id, $2 city or '', $3 external_ref or '', $4 the last venue_id of the page
-- before or null, $5 how many.
select venue_id, organisation_id, name, city, country, time_zone, coalesce(external_ref, ''), revision, created_at
  from venues
 where organisation_id = $1
   and ($2 = '' or city = $2)
   and ($3 = '' or external_ref = $3)
   and ($4::uuid is null or venue_id > $4)
 order by venue_id
 limit $5;

-- name: shows_move_zone
-- A venue's zone was corrected: its shows are printed in it. $1 venue_id, $2 time_zone.
update shows set time_zone = $2 where venue_id = $1 and time_zone <> $2;

-- name: halls_insert
-- $1 hall_id, $2 organisation_id, $3 venue_id, $4 name, $5 external_ref or ''. No row: the organisation has no such venue.
insert into halls (hall_id, organisation_id, venue_id, name, external_ref)
select $1, $2, venue_id, $4, nullif($5, '') from venues where venue_id = $3 and organisation_id = $2
returning revision, created_at;

-- name: halls_update
-- $1 hall_id, $2 name, $3 external_ref or ''.
update halls set name = $2, external_ref = nullif($3, ''), revision = revision + 1 where hall_id = $1
returning revision;

-- name: halls_read
-- $1 hall_id.
select hall_id, organisation_id, venue_id, name, coalesce(external_ref, ''), revision, created_at
  from halls where hall_id = $1;

-- name: halls_lock
-- The hall that is to be changed, or whose seats are to be numbered: one import at a time. $1 hall_id, $2 organisation_id.
select hall_id, organisation_id, venue_id, name, coalesce(external_ref, ''), revision, created_at
  from halls where hall_id = $1 and organisation_id = $2 for update;

-- name: halls_list
-- A page, oldest first. $1 organisation_id, $2 venue_id or null, $3 external_ref or '', $4 the last hall_id of the page
-- before or null, $5 how many.
select hall_id, organisation_id, venue_id, name, coalesce(external_ref, ''), revision, created_at
  from halls
 where organisation_id = $1
   and ($2::uuid is null or venue_id = $2)
   and ($3 = '' or external_ref = $3)
   and ($4::uuid is null or hall_id > $4)
 order by hall_id
 limit $5;

-- name: houses_named
-- What venues and halls are called: name, city and country. $1 their ids.
select venue_id, name, city, country from venues where venue_id = any ($1::uuid[])
union all
select hall_id, name, '', '' from halls where hall_id = any ($1::uuid[]);

-- name: events_insert
-- $1 event_id, $2 organisation_id, $3 kind, $4 title, $5 search, $6 genre, $7 language, $8 duration_minutes or 0,
-- $9 age_rating, $10 description, $11 poster_url, $12 external_ref; '' where there is none.
insert into events (event_id, organisation_id, kind, title, search, genre, language, duration_minutes,
       age_rating, description, poster_url, external_ref)
values ($1, $2, $3, $4, $5, nullif($6, ''), nullif($7, ''), nullif($8::int, 0),
       nullif($9, ''), nullif($10, ''), nullif($11, ''), nullif($12, ''))
returning status, revision, created_at;

-- name: events_update
-- $1 event_id, $2 kind, $3 title, $4 search, $5 genre, $6 language, $7 duration_minutes or 0, $8 age_rating,
-- $9 description, $10 poster_url, $11 status, $12 external_ref; '' where there is none.
update events
   set kind = $2, title = $3, search = $4, genre = nullif($5, ''), language = nullif($6, ''),
       duration_minutes = nullif($7::int, 0), age_rating = nullif($8, ''), description = nullif($9, ''),
       poster_url = nullif($10, ''), status = $11, external_ref = nullif($12, ''), revision = revision + 1
 where event_id = $1
returning revision;

-- name: events_read
-- $1 event_id[].
select event_id, organisation_id, kind, title, coalesce(genre, ''), coalesce(language, ''), coalesce(duration_minutes, 0),
       coalesce(age_rating, ''), coalesce(description, ''), coalesce(poster_url, ''), status, coalesce(external_ref, ''),
       revision, created_at
  from events where event_id = any ($1::uuid[]);

-- name: events_lock
-- The event that is to be changed. $1 event_id, $2 organisation_id.
select event_id, organisation_id, kind, title, coalesce(genre, ''), coalesce(language, ''), coalesce(duration_minutes, 0),
       coalesce(age_rating, ''), coalesce(description, ''), coalesce(poster_url, ''), status, coalesce(external_ref, ''),
       revision, created_at
  from events where event_id = $1 and organisation_id = $2 for update;

-- name: events_published
-- Whether an event has a show that was published. $1 event_id.
select exists (select from shows where event_id = $1 and status <> 'draft');

-- name: events_find
-- A page of what is on, newest events first: events with a show that matches. $1 organisation_id, $2 drafts too,
-- $3 kind, $4 genre, $5 search pattern, $6 external_ref; '' for any. Of their shows: $7 venue_id or null, $8 city or '',
-- $9 date in the venue's zone or null, $10 from or null, $11 to or null, $12 language or '', $13 only those not over.
-- $14 events without any such show too, $15 the last event_id of the page before or null, $16 how many, $17 now or null.
-- The order and the offset keep it to a look into the index for each event, whatever the statistics say of an event.
select e.event_id
  from events e
 where e.organisation_id = $1
   and e.status <> 'archived' and ($2 or e.status = 'published')
   and ($3 = '' or e.kind = $3)
   and ($4 = '' or e.genre = $4)
   and ($5 = '' or e.search like $5)
   and ($6 = '' or e.external_ref = $6)
   and e.event_id < coalesce($15::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
   and ($14 or exists (
     select from shows s
      where s.event_id = e.event_id
        and s.starts_at >= coalesce($10::timestamptz, '-infinity')
        and s.starts_at < coalesce($11::timestamptz, 'infinity')
        and ($2 or s.status <> 'draft')
        and ($7::uuid is null or s.venue_id = $7)
        and ($8 = '' or s.venue_id in (select v.venue_id from venues v where v.organisation_id = $1 and v.city = $8))
        and ($9::date is null or (s.starts_at at time zone s.time_zone)::date = $9)
        and ($12 = '' or coalesce(s.language, e.language) = $12)
        and (not $13 or coalesce(s.ends_at, s.starts_at) > coalesce($17, now()))
     order by s.starts_at offset 0))
 order by e.event_id desc
 limit $16;

-- name: events_shows
-- The first shows of each event that match, in time order; the parameters are those of events_find, $1 event_id[],
-- $3 how many of each, $12 organisation_id. Of each show what shows_state says.
select s.show_id, s.row, d.version, greatest(clock_timestamp(), d.changed_at)
  from unnest($1::uuid[]) with ordinality as w(event_id, i)
 cross join lateral (
   select s.show_id, s.starts_at, s.xmin as row
     from shows s
    where s.event_id = w.event_id
      and s.starts_at >= coalesce($7::timestamptz, '-infinity')
      and s.starts_at < coalesce($8::timestamptz, 'infinity')
      and ($2 or s.status <> 'draft')
      and ($4::uuid is null or s.venue_id = $4)
      and ($5 = '' or s.venue_id in (select v.venue_id from venues v where v.organisation_id = $12 and v.city = $5))
      and ($6::date is null or (s.starts_at at time zone s.time_zone)::date = $6)
      and ($9 = '' or coalesce(s.language, (select e.language from events e where e.event_id = s.event_id)) = $9)
      and (not $10 or coalesce(s.ends_at, s.starts_at) > coalesce($11, now()))
    order by s.starts_at, s.show_id
    limit $3) s
  join show_heads d using (show_id)
 order by w.i, s.starts_at, s.show_id;

-- name: facets_count
-- Of the events with a published show that is not over: how many there are in each city, genre and language and of
-- each kind. $1 organisation_id, $2 now or null.
with upcoming as (
  select s.event_id, v.city, coalesce(s.language, e.language) as language, e.genre, e.kind
    from shows s join events e using (event_id) left join venues v using (venue_id)
   where s.organisation_id = $1 and coalesce(s.ends_at, s.starts_at) > coalesce($2, now())
     and s.status in ('on_sale', 'paused') and e.status = 'published')
select 'city', city, count(distinct event_id)::int from upcoming where city is not null group by city
union all
select 'genre', genre, count(distinct event_id)::int from upcoming where genre is not null group by genre
union all
select 'language', language, count(distinct event_id)::int from upcoming where language is not null group by language
union all
select 'kind', kind, count(distinct event_id)::int from upcoming group by kind
 order by 1, 3 desc, 2;
