-- What was acknowledged and is not in the tables. $1 reservations, $2 bookings, $3 refunds, $4 scans: uuid[].
select 'reservation' as what, w.id from unnest($1::uuid[]) as w(id) where not exists (select from reservations r where r.reservation_id = w.id)
union all
select 'booking', w.id from unnest($2::uuid[]) as w(id) where not exists (select from bookings k where k.booking_id = w.id)
union all
select 'refund', w.id from unnest($3::uuid[]) as w(id) where not exists (select from refunds f where f.refund_id = w.id)
union all
select 'scan', w.id from unnest($4::uuid[]) as w(id) where not exists (select from scans s where s.scan_id = w.id);
