-- Which shows are locked now, by whom, and who waits for them.
-- psql -f sql/ops/lane_locks.sql
-- A lane holds a show's lock for milliseconds. One that is held for seconds is an instance that froze in mid-transaction:
-- idle_in_transaction_session_timeout ends it after five. Locks of idempotency keys are counted beside.
with advisory as (
  select l.pid, l.granted, l.waitstart, l.objsubid, (l.classid::bigint << 32) | l.objid::bigint as key
    from pg_locks l
   where l.locktype = 'advisory'
     and l.database = (select oid from pg_database where datname = current_database())
)
select e.title, s.starts_at, l.granted, clock_timestamp() - l.waitstart as waits,
       pg_blocking_pids(l.pid) as behind, l.pid, a.usename as role, a.application_name as application, a.client_addr::text as client,
       a.state, clock_timestamp() - a.xact_start as transaction_age,
       a.wait_event_type || ' ' || a.wait_event as waits_for, k.keys, left(a.query, 100) as statement, s.show_id
  from advisory l
  left join shows s on show_lock_key(s.show_id) = l.key
  left join events e using (event_id)
  left join pg_stat_activity a on a.pid = l.pid
 cross join lateral (select count(*) as keys from advisory k where k.pid = l.pid and k.objsubid = 2) k
 where l.objsubid = 1
 order by l.granted, l.waitstart, transaction_age desc;
