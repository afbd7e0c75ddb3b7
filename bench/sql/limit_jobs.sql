-- A job for each instant at which holds end. ($1 show_id, $2 instants)
insert into river_job (state, max_attempts, args, kind, queue, scheduled_at, tags)
select 'scheduled', 5, jsonb_build_object('showId', $1::uuid, 'at', w.at), 'reservations_expire', 'expiry', w.at, '{}'
  from unnest($2::timestamptz[]) as w(at);
