-- How far open waiting rooms have come, and what became of turns.
-- params: show
-- psql -c "set rowlock.show = '<show id>'" -f sql/ops/queue_by_show.sql
-- With a show: its waiting room, open or not. overdue: seconds since the rate was used last; above a few nobody calls.
select e.title, s.queue_open as open, s.queue_ended as ended, coalesce(s.queue ->> 'ratePerMinute', '600')::int as per_minute,
       h.joined, h.drawn, h.head, h.joined - h.head as waiting, h.freed, h.rounds,
       coalesce(a.unused, 0) as unused, coalesce(a.inside, 0) as inside, coalesce(a.missed, 0) as missed, coalesce(a.returning, 0) as returning,
       coalesce(a.over, 0) as over, coalesce(a.last_minute, 0) as called_last_minute,
       round(extract(epoch from clock_timestamp() - h.since)::numeric, 1) as overdue, s.show_id
  from shows s
  join events e using (event_id)
  join queue_heads h using (show_id)
  left join lateral (
    select count(*) filter (where session_ends_at is null and closed_at is null and lapses_at > clock_timestamp()) as unused,
           count(*) filter (where session_ends_at > clock_timestamp()) as inside,
           count(*) filter (where session_ends_at is null and (closed_at is not null or lapses_at <= clock_timestamp())) as missed,
           count(*) filter (where returning_at is not null) as returning,
           count(*) filter (where session_ends_at <= clock_timestamp()) as over,
           count(*) filter (where admitted_at > clock_timestamp() - interval '1 minute') as last_minute
      from queue_admissions a where a.show_id = s.show_id) a on true
 where s.show_id = nullif(current_setting('rowlock.show', true), '')::uuid
    or coalesce(current_setting('rowlock.show', true), '') = '' and s.queue_open
 order by waiting desc, s.show_id;
