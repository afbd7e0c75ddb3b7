-- The map of a show as it is written down, holds that are over left out, in the order of the plan. $1 show_id.
select h.version, s.status,
       coalesce((select string_agg(case when p.state = 'h' and p.held_until <= clock_timestamp() then case when p.block_id is null then 'a' else 'x' end
                                        else p.state::text end, '' order by i.position)
                   from show_seats p join plan_seats i on i.plan_id = s.plan_id and i.seat_no = p.seat_no
                  where p.show_id = s.show_id), ''),
       coalesce((select sum(capacity - booked) from show_areas a where a.show_id = s.show_id), 0)::int
       - coalesce((select sum(u.quantity) from reservations r cross join unnest(r.area_quantities) as u(quantity)
                    where r.show_id = s.show_id and r.status = 'active' and r.expires_at > clock_timestamp()), 0)::int,
       coalesce((select sum(capacity) from show_areas a where a.show_id = s.show_id), 0)::int
  from shows s join show_heads h using (show_id)
 where s.show_id = $1;
