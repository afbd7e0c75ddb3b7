-- Jobs to be worked once more: those that wait now or were worked, the latest
-- first. $1 how many.
select kind, args::text, queue from river_job
where state in ('available', 'running', 'retryable', 'scheduled', 'completed')
order by id desc limit $1;
