-- How many were called since an instant, in how many seconds, and who of them before one in front. Those of the first call
-- do not count: what they waited for began before. ($1 show_id, $2 since)
select count(*) filter (where admitted_at > first), coalesce(extract(epoch from max(admitted_at) - min(first)), 0)::float8, count(*) filter (where back)
  from (select admitted_at, admitted_at < lag(admitted_at) over (order by position) as back, min(admitted_at) over () as first
          from queue_admissions where show_id = $1 and admitted_at > $2) x;
