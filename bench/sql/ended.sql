-- What became of holds that ended at one instant: how many are closed, how many are not, and when the last was closed, seconds after the
-- instant. ($1 show_id, $2 the instant)
select count(*) filter (where status <> 'active'), count(*) filter (where status = 'active'),
       coalesce(extract(epoch from max(closed_at) - $2::timestamptz), 0)::float8
  from reservations
 where show_id = $1 and expires_at = $2;
