-- Whether some lane has been silent in the middle of its transaction for $1
-- milliseconds, which takes it less than one when it is not frozen.
select exists (
  select from pg_stat_activity
  where application_name = 'rowlock lane' and state = 'idle in transaction'
    and clock_timestamp() - state_change > make_interval(secs => $1::float8 / 1000)
);
