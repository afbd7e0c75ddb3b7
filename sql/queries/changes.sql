-- The change log.

-- name: changes_insert
-- $1 show_id[], $2 version[], $3 n[], $4 organisation_id[], $5 at[], $6 type[], $7 actor[], $8 reason[], $9 reservation_id[],
-- $10 block_id[], $11 before_status[], $12 after_status[], $13 expires_at[], $14 seat_nos[], $15 seat_states[],
-- $16 area_nos[], $17 area_units[] as array literals, $18 detail[], $19 booking_id[], $20 payment_id[], $21 refund_id[],
-- $22 ticket_ids[], $23 area_booked[] as array literals, $24 amount_minor[].
insert into changes (show_id, version, n, organisation_id, at, type, actor, reason, reservation_id,
       block_id, before_status, after_status, expires_at, seat_nos, seat_states, area_nos, area_units, detail,
       booking_id, payment_id, refund_id, ticket_ids, area_booked, amount_minor)
select w.show_id, w.version, w.n, w.organisation_id, w.at, w.type, w.actor, w.reason, w.reservation_id,
       w.block_id, w.before_status, w.after_status, w.expires_at,
       w.seat_nos::int[], w.seat_states, w.area_nos::int[], w.area_units::int[], w.detail::jsonb,
       w.booking_id, w.payment_id, w.refund_id, w.ticket_ids::uuid[], w.area_booked::int[], w.amount_minor
  from (select unnest($1::uuid[]) as show_id, unnest($2::bigint[]) as version, unnest($3::int[]) as n,
               unnest($4::uuid[]) as organisation_id, unnest($5::timestamptz[]) as at, unnest($6::text[]) as type,
               unnest($7::text[]) as actor, unnest($8::text[]) as reason, unnest($9::uuid[]) as reservation_id,
               unnest($10::uuid[]) as block_id, unnest($11::text[]) as before_status, unnest($12::text[]) as after_status,
               unnest($13::timestamptz[]) as expires_at, unnest($14::text[]) as seat_nos, unnest($15::text[]) as seat_states,
               unnest($16::text[]) as area_nos, unnest($17::text[]) as area_units, unnest($18::text[]) as detail,
               unnest($19::uuid[]) as booking_id, unnest($20::uuid[]) as payment_id, unnest($21::uuid[]) as refund_id,
               unnest($22::text[]) as ticket_ids, unnest($23::text[]) as area_booked, unnest($24::bigint[]) as amount_minor) as w;

-- name: changes_of_show
-- A page of one show's log. A show's versions are made one after the other under its lock, so their order is the order
-- in which they became visible. $1 organisation_id, $2 show_id, $3 version and $4 n to go on after, or null,
-- $5 seat_id, $6 reservation_id, $7 booking_id, $8 type, $9 actor, $10 since: each or null, $11 how many.
select c.xid::text, c.show_id, c.version, c.n, c.at, c.type, c.actor, c.reason, c.reservation_id, c.block_id, c.booking_id,
       c.before_status, c.after_status, c.expires_at, c.seat_nos, c.seat_states, c.area_nos, c.area_units, c.area_booked, c.detail ->> 'text',
       c.payment_id, c.refund_id, c.ticket_ids, c.amount_minor
  from changes c
 where c.organisation_id = $1 and c.show_id = $2
   and c.version >= coalesce($3::bigint, 0)
   and ($3::bigint is null or (c.version, c.n) > ($3, $4::int))
   and ($5::uuid is null or exists (
         select from hall_seats h join shows s on s.hall_id = h.hall_id
          where h.seat_id = $5 and s.show_id = c.show_id and c.seat_nos @> array[h.seat_no]))
   and ($6::uuid is null or c.reservation_id = $6)
   and ($7::uuid is null or c.booking_id = $7)
   and ($8::text is null or c.type = $8)
   and ($9::text is null or c.actor = $9)
   and ($10::timestamptz is null or c.at >= $10)
 order by c.version, c.n
 limit $11;

-- name: changes_of_booking
-- The same of one booking, which need not be looked for in the whole log. $1-$11 as changes_of_show.
with c as materialized (select * from changes where booking_id = $7)
select c.xid::text, c.show_id, c.version, c.n, c.at, c.type, c.actor, c.reason, c.reservation_id, c.block_id, c.booking_id,
       c.before_status, c.after_status, c.expires_at, c.seat_nos, c.seat_states, c.area_nos, c.area_units, c.area_booked, c.detail ->> 'text',
       c.payment_id, c.refund_id, c.ticket_ids, c.amount_minor
  from c
 where c.organisation_id = $1 and c.show_id = $2
   and ($3::bigint is null or (c.version, c.n) > ($3, $4::int))
   and ($5::uuid is null or exists (
         select from hall_seats h join shows s on s.hall_id = h.hall_id
          where h.seat_id = $5 and s.show_id = c.show_id and c.seat_nos @> array[h.seat_no]))
   and ($6::uuid is null or c.reservation_id = $6)
   and ($8::text is null or c.type = $8)
   and ($9::text is null or c.actor = $9)
   and ($10::timestamptz is null or c.at >= $10)
 order by c.version, c.n
 limit $11;

-- name: changes_list
-- A page of the log of all shows, in an order that never has to be read again: by writing transaction, and only of
-- those before the oldest that is still running. What a slow transaction commits late would otherwise be behind readers
-- who are past it, for ever. $1 organisation_id, $2 xid, $3 show_id, $4 version and $5 n to go on after, or null,
-- $6 seat_id, $7 booking_id, $8 type, $9 actor, $10 since: each or null, $11 how many.
select c.xid::text, c.show_id, c.version, c.n, c.at, c.type, c.actor, c.reason, c.reservation_id, c.block_id, c.booking_id,
       c.before_status, c.after_status, c.expires_at, c.seat_nos, c.seat_states, c.area_nos, c.area_units, c.area_booked, c.detail ->> 'text',
       c.payment_id, c.refund_id, c.ticket_ids, c.amount_minor
  from changes c
 where c.organisation_id = $1
   and c.xid < pg_snapshot_xmin(pg_current_snapshot())
   and c.xid >= coalesce($2::text, '0')::xid8
   and ($2::text is null or (c.xid, c.show_id, c.version, c.n) > ($2::text::xid8, $3::uuid, $4::bigint, $5::int))
   and ($6::uuid is null or exists (
         select from hall_seats h join shows s on s.hall_id = h.hall_id
          where h.seat_id = $6 and s.show_id = c.show_id and c.seat_nos @> array[h.seat_no]))
   and ($7::uuid is null or c.booking_id = $7)
   and ($8::text is null or c.type = $8)
   and ($9::text is null or c.actor = $9)
   and ($10::timestamptz is null or c.at >= $10)
 order by c.xid, c.show_id, c.version, c.n
 limit $11;
