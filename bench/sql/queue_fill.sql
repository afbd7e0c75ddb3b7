-- A drawn round of so many people more, as if they had joined. ($1 show_id, $2 people)
with filled as (
  update queue_heads set joined = joined + $2::bigint, drawn = joined + $2::bigint, rounds = rounds + 1
   where show_id = $1 and drawn = joined
  returning show_id, organisation_id, rounds, joined - $2::bigint as first),
rounds as (
  insert into queue_rounds (show_id, round, organisation_id, first, entries, opened_at, closes_at, closed_at, drawn_at, key, digest, public_value, public_from)
  select show_id, rounds, organisation_id, first, $2::bigint, now(), now(), now(), now(), sha256('key'), sha256('digest'), 'bench', 'entries' from filled)
insert into queue_entries (show_id, number, entry_id, organisation_id, customer_id, round, joined_at)
select show_id, first + i, gen_random_uuid(), organisation_id, 'filled ' || first + i, rounds, now() from filled cross join generate_series(1, $2::bigint) as i;
