-- Where the money of each show is: taken, given back, kept and not known yet.
-- params: show
-- psql -c "set rowlock.show = '<show id>'" -f sql/ops/money_by_show.sql (or without a show: all that have some)
-- taken = kept + refunded + refunding + refused. live_tickets is what live tickets cost less what was given back for
-- them, fees what void ones keep: together they are what is kept, unless something was refused. open was not taken yet,
-- and may never be.
with asked as (
  select s.show_id, s.event_id, s.starts_at, s.status
    from shows s
   where s.show_id = nullif(current_setting('rowlock.show', true), '')::uuid
      or coalesce(current_setting('rowlock.show', true), '') = ''
), paid as (
  select show_id, currency,
         sum(p.amount_minor) filter (where p.status = 'succeeded') as taken,
         count(*) filter (where p.status = 'pending') as payments_open,
         sum(p.amount_minor) filter (where p.status = 'pending') as open
    from asked join payments p using (show_id)
   group by show_id, currency
), back as (
  select f.show_id, f.currency,
         sum(f.amount_minor) filter (where f.status = 'succeeded') as refunded,
         sum(f.amount_minor) filter (where f.status = 'pending') as refunding,
         -- One that was made up for by another is not missing any more, and a dispute that was won not owed.
         sum(f.amount_minor) filter (where f.status = 'failed' and f.cause not like 'dispute:%'
                                         and p.refunded_minor + f.amount_minor <= p.amount_minor) as refused
    from asked
    join refunds f using (show_id)
    join payments p on p.show_id = f.show_id and p.booking_id = f.booking_id and p.payment_id = f.payment_id
   group by f.show_id, f.currency
), kept as (
  select t.show_id, k.currency,
         count(*) filter (where t.status <> 'void') as tickets,
         sum(t.price_minor - t.refunded_minor) filter (where t.status <> 'void') as live,
         sum(t.price_minor - t.refunded_minor) filter (where t.status = 'void') as fees
    from asked
    join tickets t using (show_id)
    join bookings k on k.show_id = t.show_id and k.booking_id = t.booking_id
   group by t.show_id, k.currency
)
select e.title, a.starts_at, a.status, currency, coalesce(k.tickets, 0) as tickets,
       coalesce(p.taken, 0)::bigint as taken_minor,
       (coalesce(p.taken, 0) - coalesce(b.refunded, 0) - coalesce(b.refunding, 0) - coalesce(b.refused, 0))::bigint as kept_minor,
       coalesce(k.live, 0)::bigint as live_tickets_minor, coalesce(k.fees, 0)::bigint as fees_minor,
       coalesce(b.refunded, 0)::bigint as refunded_minor, coalesce(b.refunding, 0)::bigint as refunding_minor,
       coalesce(b.refused, 0)::bigint as refused_minor,
       coalesce(p.payments_open, 0) as payments_open, coalesce(p.open, 0)::bigint as open_minor, a.show_id
  from paid p
  full join back b using (show_id, currency)
  full join kept k using (show_id, currency)
  join asked a using (show_id)
  join events e on e.event_id = a.event_id
 order by a.starts_at, a.show_id, currency;
