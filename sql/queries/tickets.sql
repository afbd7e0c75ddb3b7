-- Tickets and their scans.

-- name: tickets_load
-- All tickets of bookings. $1 show_id[], $2 booking_id[].
select w.show_id, t.booking_id, t.n, t.ticket_id, t.seat_no, t.area_no, t.ticket_type, t.price_minor, t.refunded_minor, t.status,
       t.issued_at, t.used_at, t.used_gate, t.used_scan, t.void_at
  from unnest($1::uuid[], $2::uuid[]) as w(show_id, booking_id)
 cross join lateral (
   select * from tickets t where t.show_id = w.show_id and t.booking_id = w.booking_id order by t.n offset 0) t;

-- name: tickets_named
-- Tickets that are named, of bookings that are. $1 show_id[], $2 booking_id[], $3 ticket_id[].
select w.show_id, t.booking_id, t.n, t.ticket_id, t.seat_no, t.area_no, t.ticket_type, t.price_minor, t.refunded_minor, t.status,
       t.issued_at, t.used_at, t.used_gate, t.used_scan, t.void_at
  from unnest($1::uuid[], $2::uuid[], $3::uuid[]) as w(show_id, booking_id, ticket_id)
 cross join lateral (
   select * from tickets t where t.ticket_id = w.ticket_id and t.show_id = w.show_id and t.booking_id = w.booking_id limit 1) t;

-- name: tickets_save
-- $1 show_id[], $2 booking_id[], $3 n[], $4 ticket_id[], $5 organisation_id[], $6 seat_no[], $7 area_no[], $8 ticket_type[],
-- $9 price_minor[], $10 refunded_minor[], $11 status[], $12 issued_at[], $13 used_at[], $14 used_gate[], $15 used_scan[],
-- $16 void_at[].
insert into tickets (show_id, booking_id, n, ticket_id, organisation_id, seat_no, area_no, ticket_type, price_minor,
       refunded_minor, status, issued_at, used_at, used_gate, used_scan, void_at)
select unnest($1::uuid[]), unnest($2::uuid[]), unnest($3::int[]), unnest($4::uuid[]), unnest($5::uuid[]), unnest($6::int[]),
       unnest($7::int[]), unnest($8::text[]), unnest($9::bigint[]), unnest($10::bigint[]), unnest($11::text[]),
       unnest($12::timestamptz[]), unnest($13::timestamptz[]), unnest($14::text[]), unnest($15::uuid[]),
       unnest($16::timestamptz[])
on conflict (show_id, booking_id, n) do update
   set refunded_minor = excluded.refunded_minor, status = excluded.status, used_at = excluded.used_at,
       used_gate = excluded.used_gate, used_scan = excluded.used_scan, void_at = excluded.void_at;

-- name: tickets_read
-- Tickets of bookings with the names on them. $1 booking_id[].
select k.show_id, t.booking_id, t.n, t.ticket_id, t.seat_no, t.area_no, t.ticket_type, t.price_minor, t.refunded_minor, t.status,
       t.issued_at, t.used_at, t.used_gate, t.used_scan, t.void_at, h.name
  from bookings k
  join tickets t on t.show_id = k.show_id and t.booking_id = k.booking_id
  left join ticket_holders h on h.show_id = t.show_id and h.booking_id = t.booking_id and h.n = t.n
 where k.booking_id = any ($1::uuid[])
 order by t.booking_id, t.n;

-- name: tickets_read_one
-- A ticket with the name on it, and what its readers need of its booking. $1 ticket_id.
select t.show_id, t.booking_id, t.n, t.ticket_id, t.seat_no, t.area_no, t.ticket_type, t.price_minor, t.refunded_minor, t.status,
       t.issued_at, t.used_at, t.used_gate, t.used_scan, t.void_at, h.name,
       k.organisation_id, k.customer_id, k.reference, k.currency
  from tickets t
  join bookings k on k.show_id = t.show_id and k.booking_id = t.booking_id
  left join ticket_holders h on h.show_id = t.show_id and h.booking_id = t.booking_id and h.n = t.n
 where t.ticket_id = $1;

-- name: tickets_place
-- Where a ticket is, and whose. $1 ticket_id.
select t.show_id, t.booking_id, k.reservation_id, t.n, t.organisation_id, k.customer_id
  from tickets t
  join bookings k on k.show_id = t.show_id and k.booking_id = t.booking_id
 where t.ticket_id = $1;

-- name: scans_load
-- Scans that are told again, and those that first admitted the tickets that are scanned now.
-- $1 show_id[], $2 scan_id[], $3 ticket_id[].
select w.show_id, s.scan_id, s.ticket_id, s.result, s.admitted, s.should_not, s.offline, s.gate, s.at, s.recorded_at, s.first_at, s.first_gate
  from unnest($1::uuid[], $2::uuid[], $3::uuid[]) as w(show_id, scan_id, ticket_id)
  left join lateral (select t.used_scan from tickets t where t.ticket_id = w.ticket_id limit 1) t on true
 cross join lateral (
   select * from scans s where s.show_id = w.show_id and s.scan_id in (w.scan_id, t.used_scan) offset 0) s;

-- name: scans_save
-- $1 show_id[], $2 scan_id[], $3 organisation_id[], $4 ticket_id[], $5 result[], $6 admitted[], $7 should_not[], $8 offline[],
-- $9 gate[], $10 at[], $11 recorded_at[], $12 first_at[], $13 first_gate[].
insert into scans (show_id, scan_id, organisation_id, ticket_id, result, admitted, should_not, offline, gate, at, recorded_at, first_at, first_gate)
select unnest($1::uuid[]), unnest($2::uuid[]), unnest($3::uuid[]), unnest($4::uuid[]), unnest($5::text[]),
       unnest($6::boolean[]), unnest($7::boolean[]), unnest($8::boolean[]), unnest($9::text[]), unnest($10::timestamptz[]),
       unnest($11::timestamptz[]), unnest($12::timestamptz[]), unnest($13::text[])
on conflict (show_id, scan_id) do update
   set result = excluded.result, should_not = excluded.should_not, first_at = excluded.first_at, first_gate = excluded.first_gate;

-- name: admissions_read
-- Who went in: per gate, all scans that let somebody in, and the different tickets. $1 show_id.
select s.gate, count(*) filter (where s.admitted), count(distinct s.ticket_id) filter (where s.admitted),
       count(*) filter (where s.should_not), count(*) filter (where not s.admitted), grouping(s.gate) = 1
  from scans s
 where s.show_id = $1
 group by rollup (s.gate)
 order by grouping(s.gate), s.gate;

-- name: admissions_tickets
-- Tickets of a show that are valid or used. $1 show_id.
select count(*) from tickets where show_id = $1 and status <> 'void';
