-- What keeps dead rows from being vacuumed: old transactions, prepared ones, replication slots and standbys.
-- psql -f sql/ops/oldest_snapshot.sql
-- A hot show updates its head thousands of times a second, and each reader passes every version that the oldest snapshot
-- could still see: one transaction left open for a minute makes selling several times slower. The first row is the culprit.
select t.what, t.name, t.role, t.state, age(t.xmin) as transactions_behind, clock_timestamp() - t.since as open_for, t.pid, t.doing
  from (select 'transaction' as what, application_name as name, usename as role, state, backend_xmin as xmin, xact_start as since,
               pid, left(query, 100) as doing
          from pg_stat_activity
         where backend_xmin is not null and pid <> pg_backend_pid()
        union all
        select 'idle transaction that has written', application_name, usename, state, backend_xid, xact_start, pid, left(query, 100)
          from pg_stat_activity
         where backend_xmin is null and backend_xid is not null and pid <> pg_backend_pid()
        union all
        select 'prepared transaction', gid, owner, null, transaction, prepared, null, null
          from pg_prepared_xacts
        union all
        select 'replication slot', slot_name, null, case when active then 'active' else 'inactive' end,
               coalesce(xmin, catalog_xmin), null, active_pid, slot_type
          from pg_replication_slots
         where coalesce(xmin, catalog_xmin) is not null
        union all
        select 'standby', application_name, usename, state, backend_xmin, null, pid, null
          from pg_stat_replication
         where backend_xmin is not null) t
 order by transactions_behind desc, open_for desc nulls last;
