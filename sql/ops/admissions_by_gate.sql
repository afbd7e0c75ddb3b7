-- Who went into a show, by gate: different tickets, scans that let somebody in, and those that should not have.
-- params: show
-- psql -c "set rowlock.show = '<show id>'" -f sql/ops/admissions_by_gate.sql
-- Without a show: those that begin or began within a day. all_gates is true in the line of the whole show, whose heads
-- are counted once, and expected are its tickets that are not void.
with asked as (
  select s.show_id, s.event_id, s.starts_at
    from shows s
   where s.show_id = nullif(current_setting('rowlock.show', true), '')::uuid
      or (coalesce(current_setting('rowlock.show', true), '') = ''
          and s.starts_at between clock_timestamp() - interval '1 day' and clock_timestamp() + interval '1 day')
), counted as (
  select a.show_id, s.gate, grouping(s.gate) = 1 as all_gates,
         count(distinct s.ticket_id) filter (where s.admitted) as heads,
         count(*) filter (where s.admitted) as entries,
         count(*) filter (where s.should_not) as should_not_have,
         count(*) filter (where not s.admitted) as refused,
         count(*) filter (where s.offline) as uploaded_later,
         count(*) filter (where s.admitted and s.at > clock_timestamp() - interval '5 minutes') as entries_last_5_minutes,
         min(s.at) filter (where s.admitted) as first_at, max(s.at) filter (where s.admitted) as last_at
    from asked a
    join scans s using (show_id)
   group by a.show_id, rollup (s.gate)
)
select e.title, a.starts_at, c.all_gates, c.gate,
       case when c.all_gates then (select count(*) from tickets t where t.show_id = a.show_id and t.status <> 'void') end as expected,
       c.heads, c.entries, c.should_not_have, c.refused, c.uploaded_later, c.entries_last_5_minutes, c.first_at, c.last_at, a.show_id
  from counted c
  join asked a using (show_id)
  join events e using (event_id)
 order by a.starts_at, a.show_id, c.all_gates, c.gate;
