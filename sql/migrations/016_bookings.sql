-- Bookings, payments, refunds and tickets: who bought what, and where the money is.
-- Lock cost: three columns are added to reservations and five to changes, nullable or with a constant default: a
-- moment's lock, no rewrite. Otherwise new tables only.

alter table reservations
  add column own_expires_at timestamptz,
  add column cancelled_places int not null default 0,
  add constraint reservations_cancelled_places check (cancelled_places between 0 and places);
comment on column reservations.booking_id is 'The booking that was made from it, whether or not it has consumed it.';
comment on column reservations.own_expires_at is 'When it would have ended without the extension that its payment was given, once; null: it was given none.';
comment on column reservations.cancelled_places is 'Of a consumed one: places whose tickets are void.';

alter table changes
  add column payment_id uuid,
  add column refund_id uuid,
  add column ticket_ids uuid[],
  add column amount_minor bigint,
  add column area_booked int[];
comment on column changes.payment_id is 'The payment concerned.';
comment on column changes.refund_id is 'The refund concerned.';
comment on column changes.ticket_ids is 'The tickets concerned.';
comment on column changes.amount_minor is 'Of the payment or refund, minor units.';
comment on column changes.area_units is 'By how many held units, taken positive, given back negative.';
comment on column changes.area_booked is 'By how many booked units, likewise, in step with area_nos.';

create table bookings (
  show_id            uuid not null,
  booking_id         uuid not null,
  organisation_id    uuid not null,
  reference          text collate "C" not null,
  reservation_id     uuid not null,
  customer_id        text collate "C" not null,
  status             text not null,
  currency           text not null,
  total_minor        bigint not null check (total_minor >= 0),
  refunded_minor     bigint not null default 0,
  applied_payment_id uuid,
  created_at         timestamptz not null,
  confirmed_at       timestamptz,
  closed_at          timestamptz,
  primary key (show_id, booking_id),
  constraint bookings_one_reference unique (reference),
  constraint bookings_one_per_reservation unique (show_id, reservation_id),
  constraint bookings_refunded check (refunded_minor >= 0),
  constraint bookings_status check (
    case status
      when 'pending'   then confirmed_at is null and closed_at is null and applied_payment_id is null
      when 'confirmed' then confirmed_at is not null and closed_at is null and (total_minor = 0 or applied_payment_id is not null)
      when 'failed'    then confirmed_at is null and closed_at is not null
      when 'expired'   then confirmed_at is null and closed_at is not null
      when 'cancelled' then closed_at is not null
      else false
    end)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
create index bookings_by_id on bookings (booking_id);
create index bookings_by_customer on bookings (customer_id, booking_id);
comment on table bookings is 'Purchases made from reservations. One row is one booking, and has at most one payment applied to it.';
comment on column bookings.show_id is 'The show.';
comment on column bookings.booking_id is 'UUIDv7.';
comment on column bookings.organisation_id is 'Whose show.';
comment on column bookings.reference is 'What people say on the phone: 8 characters without look-alikes.';
comment on column bookings.reservation_id is 'The hold it was made from.';
comment on column bookings.customer_id is 'Whose booking.';
comment on column bookings.status is 'pending, confirmed, failed (paid too late for its places), expired (the hold ended unpaid), cancelled.';
comment on column bookings.currency is 'ISO 4217.';
comment on column bookings.total_minor is 'What its places cost, minor units; 0 for a comp.';
comment on column bookings.refunded_minor is 'Given back or on its way, minor units, of all its payments.';
comment on column bookings.applied_payment_id is 'The payment that bought it; others that succeeded are given back.';
comment on column bookings.created_at is 'When the first attempt to pay began.';
comment on column bookings.confirmed_at is 'When its tickets were issued; null: never.';
comment on column bookings.closed_at is 'When it failed, expired or was cancelled; null: it did not.';

create function bookings_keep_truth() returns trigger
  language plpgsql as $$
begin
  raise exception 'booking % is % and cannot become %', old.booking_id, old.status, new.status
    using errcode = 'integrity_constraint_violation', constraint = 'bookings_keep_truth';
end $$;
comment on function bookings_keep_truth is 'Refuses a booking the way back.';
create trigger bookings_keep_truth
  before update of status on bookings
  for each row when (old.status <> 'pending' and new.status <> old.status
                     and not (old.status = 'confirmed' and new.status = 'cancelled')
                     and not (old.status = 'expired' and new.status = 'confirmed')
                     -- both in one batch: bought by a late payment, and taken back at once
                     and not (old.status = 'expired' and new.status = 'cancelled' and new.confirmed_at is not null))
  execute function bookings_keep_truth();
comment on trigger bookings_keep_truth on bookings is 'pending → anything; confirmed → cancelled; expired → confirmed by a late payment only.';

create table payments (
  show_id         uuid not null,
  booking_id      uuid not null,
  payment_id      uuid not null,
  organisation_id uuid not null,
  gateway         text not null,
  method          text not null,
  status          text not null check (status in ('pending', 'succeeded', 'failed', 'cancelled')),
  amount_minor    bigint not null check (amount_minor > 0),
  refunded_minor  bigint not null default 0,
  currency        text not null,
  gateway_ref     text,
  decline_code    text,
  next_action     text,
  created_at      timestamptz not null,
  settled_at      timestamptz,
  primary key (show_id, booking_id, payment_id),
  constraint payments_refunded check (refunded_minor between 0 and amount_minor),
  constraint payments_settled check ((settled_at is null) = (status = 'pending'))
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
create unique index payments_by_id on payments (payment_id);
create unique index payments_one_open_attempt on payments (show_id, booking_id) where status = 'pending';
create index payments_by_gateway_ref on payments (gateway, gateway_ref) where gateway_ref is not null;
comment on table payments is 'Attempts to pay, each at one gateway. Several of a booking may have succeeded; all but the applied one are given back.';
comment on column payments.show_id is 'The show.';
comment on column payments.booking_id is 'The booking.';
comment on column payments.payment_id is 'UUIDv7; the idempotency key at the gateway.';
comment on column payments.organisation_id is 'Whose show.';
comment on column payments.gateway is 'sandbox, stripe, …; manual: people took the money.';
comment on column payments.method is 'card, redirect, cash, …';
comment on column payments.status is 'pending, succeeded, failed or cancelled. Never goes down in truth: pending < failed, cancelled < succeeded.';
comment on column payments.amount_minor is 'What is, or was, to be taken, minor units.';
comment on column payments.refunded_minor is 'Given back or on its way, minor units.';
comment on column payments.currency is 'ISO 4217.';
comment on column payments.gateway_ref is 'The gateway''s id of it; for money that people took, their receipt or invoice.';
comment on column payments.decline_code is 'Why it failed, in the gateway''s words.';
comment on column payments.next_action is 'What the buyer has to do, in JSON, while it is pending.';
comment on column payments.created_at is 'When the attempt began.';
comment on column payments.settled_at is 'When its outcome was known; null: it is not.';

create function payments_keep_truth() returns trigger
  language plpgsql as $$
begin
  raise exception 'payment % is % and cannot become %', old.payment_id, old.status, new.status
    using errcode = 'integrity_constraint_violation', constraint = 'payments_keep_truth';
end $$;
comment on function payments_keep_truth is 'Refuses a payment the way back.';
create trigger payments_keep_truth
  before update of status on payments
  for each row when (new.status <> old.status and (old.status = 'succeeded' or (old.status <> 'pending' and new.status <> 'succeeded')))
  execute function payments_keep_truth();
comment on trigger payments_keep_truth on payments is 'The gateway''s late truth wins, and nothing undoes it.';

create table payment_checks (
  payment_id      uuid primary key,
  show_id         uuid not null,
  organisation_id uuid not null,
  due_at          timestamptz not null,
  asked           int not null default 0
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
create index payment_checks_due on payment_checks (show_id, due_at);
comment on table payment_checks is 'Payments whose outcome is not known, and when their gateway is to be asked next. A row comes with the payment and goes with its outcome.';
comment on column payment_checks.payment_id is 'The payment.';
comment on column payment_checks.show_id is 'The show.';
comment on column payment_checks.organisation_id is 'Whose show.';
comment on column payment_checks.due_at is 'When to ask.';
comment on column payment_checks.asked is 'How often it was asked.';

create table refunds (
  show_id         uuid not null,
  booking_id      uuid not null,
  refund_id       uuid not null,
  organisation_id uuid not null,
  payment_id      uuid not null,
  cause           text not null,
  reason          text not null check (reason in ('buyer', 'staff', 'show_cancelled', 'late_payment', 'gateway')),
  status          text not null check (status in ('pending', 'succeeded', 'failed')),
  attempt         int not null default 1 check (attempt >= 1),
  amount_minor    bigint not null check (amount_minor > 0),
  currency        text not null,
  ticket_ids      uuid[] not null default '{}',
  ticket_amounts  bigint[] not null default '{}',
  gateway_ref     text,
  failure         text,
  created_at      timestamptz not null,
  settled_at      timestamptz,
  primary key (show_id, booking_id, refund_id),
  constraint refunds_once_per_cause unique (show_id, payment_id, cause),
  constraint refunds_settled check ((settled_at is null) = (status = 'pending')),
  constraint refunds_tickets check (cardinality(ticket_ids) = cardinality(ticket_amounts))
) with (fillfactor = 90);
create unique index refunds_by_id on refunds (refund_id);
create index refunds_open on refunds (created_at) where status <> 'succeeded';
comment on table refunds is 'Money given back: a row first, then the gateway is told, by the row''s id.';
comment on column refunds.show_id is 'The show.';
comment on column refunds.booking_id is 'The booking.';
comment on column refunds.refund_id is 'Made from payment and cause, a UUIDv7; the idempotency key at the gateway.';
comment on column refunds.organisation_id is 'Whose show.';
comment on column refunds.payment_id is 'The payment that it is part of.';
comment on column refunds.cause is 'What it was made for: unapplied, cancel:1,2 (ticket numbers; of many the first and how many more), gateway:… (its own id there). Once per payment.';
comment on column refunds.reason is 'buyer, staff, show_cancelled, late_payment or gateway.';
comment on column refunds.status is 'pending, succeeded or failed.';
comment on column refunds.attempt is 'From 1; one more each time that people send it again after the gateway had refused.';
comment on column refunds.amount_minor is 'How much, minor units.';
comment on column refunds.currency is 'ISO 4217.';
comment on column refunds.ticket_ids is 'Whose money it is; empty for a payment that was not applied.';
comment on column refunds.ticket_amounts is 'How much of it is each ticket''s; adds up to amount_minor.';
comment on column refunds.gateway_ref is 'The gateway''s id of it.';
comment on column refunds.failure is 'Why it failed, in the gateway''s words. It stays while a further attempt is under way, until the gateway has named that.';
comment on column refunds.created_at is 'When it was decided.';
comment on column refunds.settled_at is 'When its outcome was known; null: it is not.';

create table tickets (
  show_id         uuid not null,
  booking_id      uuid not null,
  n               int not null check (n >= 1),
  ticket_id       uuid not null,
  organisation_id uuid not null,
  seat_no         int,
  area_no         int,
  ticket_type     text not null,
  price_minor     bigint not null check (price_minor >= 0),
  refunded_minor  bigint not null default 0,
  status          text not null check (status in ('valid', 'used', 'void')),
  issued_at       timestamptz not null,
  used_at         timestamptz,
  used_gate       text,
  used_scan       uuid,
  void_at         timestamptz,
  primary key (show_id, booking_id, n),
  constraint tickets_one_place check ((seat_no is null) <> (area_no is null)),
  constraint tickets_refunded check (refunded_minor between 0 and price_minor),
  constraint tickets_used check (status <> 'used' or used_at is not null),
  constraint tickets_void check ((status = 'void') = (void_at is not null))
) with (fillfactor = 80);
create unique index tickets_by_id on tickets (ticket_id);
create unique index tickets_one_live_per_seat on tickets (show_id, seat_no) where status <> 'void' and seat_no is not null;
comment on table tickets is 'The right to one place each: of every seat and every unit of an area that was bought.';
comment on column tickets.show_id is 'The show.';
comment on column tickets.booking_id is 'The booking.';
comment on column tickets.n is 'Its number in the booking, from 1; seats first.';
comment on column tickets.ticket_id is 'Made from booking and number, a UUIDv7.';
comment on column tickets.organisation_id is 'Whose show.';
comment on column tickets.seat_no is 'The seat; null: a unit of an area.';
comment on column tickets.area_no is 'The area; null: a seat.';
comment on column tickets.ticket_type is 'adult, child, …';
comment on column tickets.price_minor is 'What it cost when it was held, minor units; 0 for a comp.';
comment on column tickets.refunded_minor is 'Given back or on its way, minor units.';
comment on column tickets.status is 'valid, used or void. Void wins over used.';
comment on column tickets.issued_at is 'When it was issued.';
comment on column tickets.used_at is 'When its holder was first admitted.';
comment on column tickets.used_gate is 'Where.';
comment on column tickets.used_scan is 'By which scan.';
comment on column tickets.void_at is 'When it became void.';

create table scans (
  show_id         uuid not null,
  scan_id         uuid not null,
  organisation_id uuid not null,
  ticket_id       uuid not null,
  result          text not null check (result in ('admitted', 'already_used', 'void')),
  admitted        boolean not null,
  should_not      boolean not null,
  offline         boolean not null,
  gate            text not null default '',
  at              timestamptz not null,
  recorded_at     timestamptz not null,
  first_at        timestamptz,
  first_gate      text,
  primary key (show_id, scan_id)
);
create index scans_by_ticket on scans (ticket_id);
comment on table scans is 'Readings of ticket codes at gates, as they happened.';
comment on column scans.show_id is 'The show.';
comment on column scans.scan_id is 'The device''s own id of it; the same again is answered the same.';
comment on column scans.organisation_id is 'Whose show.';
comment on column scans.ticket_id is 'The ticket.';
comment on column scans.result is 'admitted, already_used or void.';
comment on column scans.admitted is 'Somebody went in by it. A device without a line lets in what its signature allows.';
comment on column scans.should_not is 'Admitted without a line, though the ticket was void or used.';
comment on column scans.offline is 'Uploaded later.';
comment on column scans.gate is 'Where; may be empty.';
comment on column scans.at is 'When, by the device''s clock if it was offline.';
comment on column scans.recorded_at is 'When it was told, by the batch''s clock.';
comment on column scans.first_at is 'When the ticket was first admitted, if that was another scan.';
comment on column scans.first_gate is 'Where that was.';

create table buyers (
  show_id         uuid not null,
  booking_id      uuid not null,
  organisation_id uuid not null,
  customer_id     text collate "C" not null,
  name            text not null check (char_length(name) between 1 and 200),
  email           text not null check (char_length(email) <= 320),
  phone           text check (char_length(phone) <= 50),
  locale          text check (char_length(locale) <= 35),
  search          tsvector not null default '',
  primary key (show_id, booking_id)
);
create index buyers_by_customer on buyers (customer_id);
create index buyers_by_search on buyers using gin (search);
comment on table buyers is 'Personal: who bought. Apart from everything else, so that it can be emptied.';
comment on column buyers.show_id is 'The show.';
comment on column buyers.booking_id is 'The booking.';
comment on column buyers.organisation_id is 'Whose show.';
comment on column buyers.customer_id is 'Whose booking.';
comment on column buyers.name is 'As it was given, NFC, any script.';
comment on column buyers.email is 'Where mails go; empty when staff booked without one.';
comment on column buyers.phone is 'As it was given.';
comment on column buyers.locale is 'BCP 47 tag: the language of mails.';
comment on column buyers.search is 'Words of the name, the address, digits of the phone: folded, as searches look for them.';

create table ticket_holders (
  show_id         uuid not null,
  booking_id      uuid not null,
  n               int not null check (n >= 1),
  organisation_id uuid not null,
  customer_id     text collate "C" not null,
  name            text not null check (char_length(name) between 1 and 200),
  primary key (show_id, booking_id, n)
);
create index ticket_holders_by_customer on ticket_holders (customer_id);
comment on table ticket_holders is 'Personal: whose name is on a ticket.';
comment on column ticket_holders.show_id is 'The show.';
comment on column ticket_holders.booking_id is 'The booking.';
comment on column ticket_holders.n is 'The ticket''s number in it.';
comment on column ticket_holders.organisation_id is 'Whose show.';
comment on column ticket_holders.customer_id is 'Whose booking.';
comment on column ticket_holders.name is 'As it was given, NFC, any script.';

create table payment_events (
  gateway     text not null,
  event_id    text not null,
  received_at timestamptz not null default clock_timestamp(),
  event       jsonb not null,
  done_at     timestamptz,
  outcome     text,
  primary key (gateway, event_id)
);
create index payment_events_undone on payment_events (received_at) where done_at is null;
create index payment_events_by_age on payment_events using brin (received_at);
comment on table payment_events is 'Webhooks of payment gateways, each once: what they tell, without names.';
comment on column payment_events.gateway is 'Which gateway.';
comment on column payment_events.event_id is 'Its id there.';
comment on column payment_events.received_at is 'When it first came, database clock.';
comment on column payment_events.event is 'What it tells, as far as it is needed: ids, state, amount.';
comment on column payment_events.done_at is 'When its effect was in the database; null: not yet.';
comment on column payment_events.outcome is 'What came of it: applied, ignored.';

alter table shows add column reminded_at timestamptz;
comment on column shows.reminded_at is 'When reminders of it were sent; null: not yet.';

---- create above / drop below ----

alter table shows drop column reminded_at;
drop table payment_events;
drop table ticket_holders;
drop table buyers;
drop table scans;
drop table tickets;
drop table refunds;
drop table payment_checks;
drop table payments;
drop function payments_keep_truth;
drop table bookings;
drop function bookings_keep_truth;
alter table changes drop column payment_id, drop column refund_id, drop column ticket_ids, drop column amount_minor, drop column area_booked;
alter table reservations drop constraint reservations_cancelled_places, drop column cancelled_places, drop column own_expires_at;
