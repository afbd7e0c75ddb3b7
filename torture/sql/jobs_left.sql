-- Jobs that should be done by now, and webhooks whose effect is still to come. Jobs that are planned for later are not waited
-- for: if one mattered, something else would have no outcome yet. (Jobs that only look whether something was forgotten become
-- due all the time.)
select (select count(*) from river_job
         where state in ('available', 'running', 'scheduled', 'retryable') and scheduled_at <= now() - interval '2 seconds'),
       (select count(*) from payment_events where done_at is null);
