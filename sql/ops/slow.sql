-- Which statements cost the most time in this database, by the names that they have in sql/.
-- psql -f sql/ops/slow.sql
-- The view of the extension pg_stat_statements may not exist, and a statement that names it could then not even be
-- planned. So it is named in a text, which query_to_xml runs only if the extension works; a row says so if it does not.
select j ->> 'statement' as statement, (j ->> 'calls')::bigint as calls,
       (j ->> 'total_ms')::numeric as total_ms, (j ->> 'mean_ms')::numeric as mean_ms, (j ->> 'max_ms')::numeric as max_ms,
       (j ->> 'rows')::bigint as rows, (j ->> 'hit_percent')::numeric as hit_percent, j ->> 'text' as text
  from regexp_matches(
    query_to_xml(
      case when to_regclass('pg_stat_statements') is not null
             and exists (select from pg_settings where name = 'pg_stat_statements.max') -- it is loaded, too
        then $$
          select json_build_object(
                   'statement', coalesce(substring(query from '-- name: (\S+)'), lower(substring(query from '^\W*(\w+)'))),
                   'calls', calls, 'rows', rows,
                   'total_ms', round(total_exec_time::numeric, 1),
                   'mean_ms', round(mean_exec_time::numeric, 3),
                   'max_ms', round(max_exec_time::numeric, 1),
                   'hit_percent', round(100.0 * shared_blks_hit / nullif(shared_blks_hit + shared_blks_read, 0), 1),
                   'text', left(btrim(regexp_replace(regexp_replace(query, '--[^\n]*', '', 'g'), '\s+', ' ', 'g')), 100))::text as row
            from pg_stat_statements
           where dbid = (select oid from pg_database where datname = current_database())
           order by total_exec_time desc
           limit 50 $$
        else $$ select '{"statement": "pg_stat_statements is not installed, or not in shared_preload_libraries"}' as row $$
      end, false, true, '')::text,
    '<row>(\{.*?\})</row>', 'g') with ordinality as m(found, i)
 cross join lateral (
   select replace(replace(replace(replace(m.found[1], '&lt;', '<'), '&gt;', '>'), '&#x0d;', ''), '&amp;', '&')::json as j) j
 order by m.i;
