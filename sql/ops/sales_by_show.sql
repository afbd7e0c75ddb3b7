-- What is sold, held, blocked and free in each show that is not over, in time order.
-- params: show
-- psql -c "set rowlock.show = '<show id>'" -f sql/ops/sales_by_show.sql (or without a show: all that are to come)
-- booked_minor is what the live tickets cost; money_by_show tells where the money is. held counts live holds; an overdue hold is free, or blocked again if it was sold from a block.
with asked as (
  select s.show_id, s.event_id, s.starts_at, s.status, s.currency, h.version, greatest(clock_timestamp(), h.changed_at) as now
    from shows s
    join show_heads h using (show_id)
   where s.show_id = nullif(current_setting('rowlock.show', true), '')::uuid
      or (coalesce(current_setting('rowlock.show', true), '') = '' and coalesce(s.ends_at, s.starts_at) > clock_timestamp())
), seats as (
  select s.show_id, count(*) as capacity,
         count(*) filter (where s.state = 'b') as booked,
         count(*) filter (where s.state = 'h' and s.held_until > a.now) as held,
         count(*) filter (where s.state = 'x' or (s.state = 'h' and s.held_until <= a.now and s.block_id is not null)) as blocked
    from asked a join show_seats s using (show_id)
   group by s.show_id
), areas as (
  select show_id, sum(capacity)::bigint as capacity, sum(booked)::bigint as booked from asked join show_areas using (show_id) group by show_id
), holds as (
  select r.show_id,
         (sum((select sum(q) from unnest(r.area_quantities) as q)) filter (where r.status = 'active' and r.expires_at > a.now))::bigint as units,
         (sum(r.total_minor) filter (where r.status = 'active' and r.expires_at > a.now))::bigint as held_minor,
         count(*) filter (where r.status = 'active' and r.expires_at > a.now) as holds,
         count(*) filter (where r.created_at > a.now - interval '1 minute') as last_minute
    from asked a
    join reservations r using (show_id)
   group by r.show_id
), sold as (
  select show_id, sum(price_minor)::bigint as booked_minor from asked join tickets t using (show_id) where t.status <> 'void' group by show_id
), counted as (
  select show_id,
         coalesce(s.capacity, 0) + coalesce(n.capacity, 0) as capacity,
         coalesce(s.booked, 0) + coalesce(n.booked, 0) as booked,
         coalesce(s.held, 0) + coalesce(o.units, 0) as held,
         coalesce(s.blocked, 0) as blocked,
         coalesce(o.holds, 0) as holds, coalesce(o.last_minute, 0) as placed_last_minute,
         coalesce(t.booked_minor, 0) as booked_minor, coalesce(o.held_minor, 0) as held_minor
    from asked left join seats s using (show_id) left join areas n using (show_id) left join holds o using (show_id) left join sold t using (show_id)
)
select e.title, a.starts_at, case when a.starts_at < a.now and a.status = 'on_sale' then 'on_sale, begun' else a.status end as status,
       c.capacity, c.booked, c.held, c.blocked, c.capacity - c.booked - c.held - c.blocked as free,
       c.holds, c.placed_last_minute, c.booked_minor, c.held_minor, a.currency, a.version, a.show_id
  from asked a
  join events e using (event_id)
  join counted c using (show_id)
 order by a.starts_at, a.show_id;
