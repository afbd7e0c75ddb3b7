-- The service itself.

-- name: service_ready
-- Whether this database only reads.
select pg_is_in_recovery() or current_setting('default_transaction_read_only')::boolean;

-- name: service_snapshot
-- Begins to read several statements as of one moment.
begin isolation level repeatable read read only;

-- name: service_oldest_snapshot
-- For how many seconds the oldest transaction has kept dead rows from being vacuumed; 0: there is none. A vacuum does not
-- keep others.
select coalesce(max(extract(epoch from clock_timestamp() - t.since)), 0)::float8
  from (select xact_start as since
          from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid() and backend_type <> 'autovacuum worker'
           and (backend_xmin is not null or backend_xid is not null) and query not ilike 'vacuum%'
        union all
        select prepared from pg_prepared_xacts where database = current_database()) t;

-- name: service_oldest_job
-- For how many seconds the job has been running that has run longest; 0: none runs.
select coalesce(extract(epoch from clock_timestamp() - min(attempted_at)), 0)::float8 from river_job where state = 'running';

-- name: service_notify
-- Tells other processes that some show has changed. They ask which. It is a commit like any other, and has nothing that
-- would be worth waiting for the disk or a standby.
select pg_notify('rowlock_shows', ''), set_config('synchronous_commit', 'off', true);

-- name: service_listen
listen rowlock_shows;

-- name: service_replica_lag
-- For how many seconds a replica has had nothing new; 0 on a primary.
select case when pg_is_in_recovery() then coalesce(extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp()), 'infinity')
            else 0 end::float8;

-- name: service_replan
-- Has the session's statements planned anew, for the tables as they are now.
discard plans;
