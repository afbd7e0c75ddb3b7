-- Guest sessions.

-- name: sessions_purge
-- Forgets sessions whose token has ended, at most $1 at a time.
delete from sessions
 where session_id = any (array(
   select session_id from sessions
    where expires_at < clock_timestamp() order by expires_at limit $1));
