-- How large tables and indexes are, how much of a table is dead, and whether updates stay HOT.
-- psql -f sql/ops/bloat.sql
-- show_seats, show_heads and show_areas live from HOT updates: below 80 % look for a long transaction (oldest_snapshot)
-- or an index on a column that changes. An index much larger than its table wants reindex concurrently.
select t.relname as table, x.relname as index,
       pg_size_pretty(pg_relation_size(coalesce(x.oid, t.relid))) as size,
       case when x.oid is null then t.n_live_tup end as live,
       case when x.oid is null then t.n_dead_tup end as dead,
       case when x.oid is null then round(100.0 * t.n_dead_tup / nullif(t.n_live_tup + t.n_dead_tup, 0), 1) end as dead_percent,
       case when x.oid is null then t.n_tup_upd end as updates,
       case when x.oid is null then round(100.0 * t.n_tup_hot_upd / nullif(t.n_tup_upd, 0), 1) end as hot_percent,
       case when x.oid is null then greatest(t.last_vacuum, t.last_autovacuum) end as vacuumed,
       case when x.oid is null then greatest(t.last_analyze, t.last_autoanalyze) end as analyzed,
       case when x.oid is null then t.seq_scan else s.idx_scan end as scans
  from pg_stat_user_tables t
 cross join lateral (
   select null::oid as oid, null::name as relname
   union all
   select c.oid, c.relname from pg_index i join pg_class c on c.oid = i.indexrelid where i.indrelid = t.relid) x
  left join pg_stat_user_indexes s on s.indexrelid = x.oid
 order by pg_total_relation_size(t.relid) desc, t.relname, x.oid is not null, pg_relation_size(coalesce(x.oid, t.relid)) desc;
