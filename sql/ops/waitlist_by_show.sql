-- Who waits for places of a show, and what was offered to whom, the earliest first.
-- params: show
-- psql -c "set rowlock.show = '<show id>'" -f sql/ops/waitlist_by_show.sql
-- Without a show: who waits in any, a thousand of them. found and remaining are places of the wanted categories when places
-- were last free, before and after the waitlist was served: fewer found than the party needs is why it was passed over.
select t.title, e.entry_id, e.customer_id, e.party_size, e.categories,
       case when e.status = 'offered' and r.expires_at <= e.now then 'lapsed' else e.status end as status,
       e.joined_at, e.offered_at, e.reservation_id, r.expires_at, e.closed_at,
       l.looked_at, f.found, f.remaining, e.show_id
  from (select e.*, s.event_id, greatest(clock_timestamp(), h.changed_at) as now
          from waitlist_entries e
          join shows s using (show_id)
          join show_heads h using (show_id)
         where e.show_id = nullif(current_setting('rowlock.show', true), '')::uuid
            or (coalesce(current_setting('rowlock.show', true), '') = '' and e.status = 'waiting')
         order by e.joined_at
         limit case when coalesce(current_setting('rowlock.show', true), '') = '' then 1000 end) e
  join events t using (event_id)
  left join reservations r on r.show_id = e.show_id and r.reservation_id = e.reservation_id
  left join waitlist_looks l on l.show_id = e.show_id and l.looked_at >= e.joined_at
  left join lateral (
    select sum(c.found) as found, sum(c.remaining) as remaining
      from unnest(l.categories, l.found, l.remaining) as c(category, found, remaining)
     where e.categories = '{}' or c.category = any (e.categories)) f on true
 order by e.show_id, e.entry_no;
