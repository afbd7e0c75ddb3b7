-- Who is connected to this server, by database, role and application, against what it can take.
-- psql -f sql/ops/connections.sql
select a.datname as database, a.usename as role, a.application_name as application, a.client_addr::text as client,
       count(*) as connections,
       count(*) filter (where a.state = 'active') as active,
       count(*) filter (where a.state like 'idle in transaction%') as idle_in_transaction,
       count(*) filter (where a.wait_event_type = 'Lock') as waiting_for_locks,
       max(clock_timestamp() - a.xact_start) as oldest_transaction,
       max(clock_timestamp() - a.query_start) filter (where a.state = 'active') as oldest_statement,
       sum(count(*)) over ()::int as all_connections, current_setting('max_connections')::int as connections_max
  from pg_stat_activity a
 where a.backend_type = 'client backend'
 group by a.datname, a.usename, a.application_name, a.client_addr
 order by connections desc, database, role, application;
