-- Guest sessions.

-- name: sessions_insert
-- $1 session_id, $2 organisation_id, $3 customer_id, $4 expires_at.
insert into sessions (session_id, organisation_id, customer_id, expires_at) values ($1, $2, $3, $4);

-- name: sessions_purge
-- Forgets sessions whose token has ended, at most $1 at a time.
delete from sessions
 where session_id = any (array(
   select session_id from sessions
    where expires_at < clock_timestamp() order by expires_at limit $1));
