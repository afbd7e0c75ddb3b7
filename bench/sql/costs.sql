-- What statements cost since they were counted anew, the dearest first: those of Rowlock by their names in sql/, others by their first word.
select coalesce(substring(query from '-- name: (\S+)'), lower(substring(query from '^\W*(\w+)'))) as name,
       sum(calls)::bigint, sum(total_exec_time)::float8, sum(rows)::bigint
  from pg_stat_statements
 where dbid = (select oid from pg_database where datname = current_database())
 group by 1
 order by 3 desc
 limit 25;
