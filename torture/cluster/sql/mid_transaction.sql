-- The shows whose locks lanes have that have been silent in the middle of their transactions for $1 milliseconds, which takes
-- them less than one when they are not frozen.
select s.show_id
  from pg_stat_activity a
  join pg_locks l on l.pid = a.pid and l.locktype = 'advisory' and l.objsubid = 1 and l.granted
  join shows s on show_lock_key(s.show_id) = (l.classid::bigint << 32) | l.objid::bigint
 where a.application_name = 'rowlock lane' and a.state = 'idle in transaction'
   and clock_timestamp() - a.state_change > make_interval(secs => $1::float8 / 1000);
