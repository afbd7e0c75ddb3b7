-- Holds that ended and are not closed, by show, the oldest first.
-- params: show
-- psql -c "set rowlock.show = '<show id>'" -f sql/ops/overdue_holds.sql (or without a show: in all)
-- Their places are free to buyers all the same; a lag above a minute says that jobs do not run.
select r.show_id, e.title, count(*) as holds, sum(r.places) as places,
       min(r.expires_at) as oldest_end, clock_timestamp() - min(r.expires_at) as lag
  from reservations r
  join shows s using (show_id)
  join events e using (event_id)
 where r.status = 'active' and r.expires_at <= clock_timestamp()
   and (r.show_id = nullif(current_setting('rowlock.show', true), '')::uuid
        or coalesce(current_setting('rowlock.show', true), '') = '')
 group by r.show_id, e.title
 order by oldest_end;
