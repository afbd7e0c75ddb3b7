-- Everybody who was in a show's waiting room, with the turn that they had last, in the order of joining. $1 show_id.
select e.entry_id::text, e.customer_id, e.joined_at, e.closed_at, a.turn, a.admitted_at, a.lapses_at, a.session_ends_at
  from queue_entries e left join queue_admissions a using (show_id, number)
 where e.show_id = $1
 order by e.number;
