-- What the queue of jobs has to do, by queue, kind and state, and what went wrong last.
-- psql -f sql/ops/jobs.sql
-- late is how long the oldest has been due. A running job that is older than minutes has lost its worker and is rescued.
select queue, kind, state::text as state, count(*) as jobs,
       case when state in ('available', 'retryable', 'scheduled')
            then greatest(clock_timestamp() - min(scheduled_at), interval '0') end as late,
       case when state in ('available', 'retryable', 'scheduled') then min(scheduled_at) end as next_due,
       case when state = 'running' then clock_timestamp() - min(attempted_at) end as running_for,
       max(finalized_at) as last_finished, max(attempt) as attempts_most,
       (array_agg(errors[cardinality(errors)] ->> 'error' order by attempted_at desc nulls last)
          filter (where cardinality(errors) > 0))[1] as last_error
  from river_job
 group by queue, kind, state
 order by queue, kind, state;
