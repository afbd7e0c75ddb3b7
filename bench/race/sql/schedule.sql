-- A job that will end the hold. ($1 show_id, $2 expires_at)
insert into river_job (kind, queue, state, args, max_attempts, scheduled_at)
values ('reservations_expire', 'expiry', 'scheduled', jsonb_build_object('showId', $1::uuid, 'at', $2::timestamptz), 5, $2);
