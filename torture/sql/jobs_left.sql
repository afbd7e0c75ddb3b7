-- Jobs that should be done by now. What is planned for later is not waited for:
-- if it mattered, something else would have no outcome yet. (Jobs that only look
-- whether something was forgotten become due all the time.)
select count(*)
  from river_job
 where state in ('available', 'running', 'scheduled', 'retryable')
   and scheduled_at <= now() - interval '2 seconds';
