-- Counts what statements cost from here on.
select pg_stat_statements_reset();
