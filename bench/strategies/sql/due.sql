-- The oldest holds of a show that are over and not closed. ($1 show_id, $2 how many)
select reservation_id
  from reservations
 where show_id = $1 and status = 'active' and expires_at <= clock_timestamp()
 order by expires_at
 limit $2;
