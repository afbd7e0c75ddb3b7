-- The waitlist of sold-out shows: who waits, what was offered to whom, and what became of it.
-- Lock cost: one column is added to each of shows, show_heads and reservations, nullable or with a constant default: a
-- moment's lock, no rewrite. Otherwise new tables only.

alter table shows add column offer_seconds int not null default 900 check (offer_seconds between 1 and 604800);
comment on column shows.offer_seconds is 'How long an offer of the waitlist lasts, seconds.';

alter table show_heads add column waiting int not null default 0 check (waiting >= 0);
comment on column show_heads.waiting is 'Entries of the waitlist that wait: a lane learns from it whether anybody comes before the buyers.';

alter table reservations add column waitlist_entry_id uuid;
comment on column reservations.waitlist_entry_id is 'The entry of the waitlist that it is the offer of; null: it is none.';

create table waitlist_entries (
  show_id         uuid not null,
  entry_id        uuid not null,
  organisation_id uuid not null,
  customer_id     text collate "C" not null check (char_length(customer_id) between 1 and 128),
  entry_no        bigint not null,
  party_size      int not null check (party_size between 1 and 10000),
  categories      text[] not null default '{}',
  status          text not null,
  joined_at       timestamptz not null,
  offered_at      timestamptz,
  reservation_id  uuid,
  closed_at       timestamptz,
  primary key (show_id, entry_id),
  constraint waitlist_entries_one_at_a_time unique (show_id, entry_no),
  constraint waitlist_entries_status check (
    (offered_at is null) = (reservation_id is null) and
    case status
      when 'waiting'  then reservation_id is null and closed_at is null
      when 'offered'  then reservation_id is not null and closed_at is null
      when 'accepted' then reservation_id is not null and closed_at is not null
      when 'declined' then reservation_id is not null and closed_at is not null
      when 'lapsed'   then reservation_id is not null and closed_at is not null
      when 'left'     then reservation_id is null and closed_at is not null
      else false
    end)
) with (fillfactor = 80);
create index waitlist_entries_by_id on waitlist_entries (entry_id);
create unique index waitlist_entries_one_a_customer on waitlist_entries (show_id, customer_id) where status in ('waiting', 'offered');
create index waitlist_entries_waiting on waitlist_entries (show_id, entry_no) where status = 'waiting';
create index waitlist_entries_by_sort on waitlist_entries (show_id, party_size, categories, entry_no) where status = 'waiting';
comment on table waitlist_entries is 'Parties that wait for places of a show, or did. Written by the lane, in the transaction of the offer.';
comment on column waitlist_entries.show_id is 'The show.';
comment on column waitlist_entries.entry_id is 'UUIDv7.';
comment on column waitlist_entries.organisation_id is 'Whose show.';
comment on column waitlist_entries.customer_id is 'Who waits.';
comment on column waitlist_entries.entry_no is 'The show''s version that the entry came with: the lower, the earlier.';
comment on column waitlist_entries.party_size is 'How many places are waited for.';
comment on column waitlist_entries.categories is 'Of which categories, the best first; empty: any.';
comment on column waitlist_entries.status is 'waiting, offered, accepted (bought: spent, whatever follows), declined (let go), lapsed (its time passed), left (before there was an offer).';
comment on column waitlist_entries.joined_at is 'When, by the batch''s clock.';
comment on column waitlist_entries.offered_at is 'When it had its offer; null: it had none.';
comment on column waitlist_entries.reservation_id is 'Its offer, a reservation like any other.';
comment on column waitlist_entries.closed_at is 'When it ended; null: it did not.';

create function waitlist_entries_stay_spent() returns trigger
  language plpgsql as $$
begin
  raise exception 'entry % of the waitlist is % and cannot become %', old.entry_id, old.status, new.status
    using errcode = 'integrity_constraint_violation', constraint = 'waitlist_entries_stay_spent';
end $$;
comment on function waitlist_entries_stay_spent is 'Refuses an entry of the waitlist the way back.';
create trigger waitlist_entries_stay_spent
  before update of status on waitlist_entries
  for each row when (new.status <> old.status and old.status <> 'waiting'
                     and not (old.status = 'offered' and new.status in ('accepted', 'declined', 'lapsed'))
                     and not (old.status = 'lapsed' and new.status = 'accepted'))
  execute function waitlist_entries_stay_spent();
comment on trigger waitlist_entries_stay_spent on waitlist_entries is 'An entry has one offer; only a late payment still accepts one that has lapsed.';

create table waitlist_buyers (
  show_id         uuid not null,
  entry_id        uuid not null,
  organisation_id uuid not null,
  customer_id     text collate "C" not null,
  name            text not null check (char_length(name) between 1 and 200),
  email           text not null check (char_length(email) <= 320),
  phone           text check (char_length(phone) <= 50),
  locale          text check (char_length(locale) <= 35),
  primary key (show_id, entry_id)
);
create index waitlist_buyers_by_customer on waitlist_buyers (customer_id);
comment on table waitlist_buyers is 'Personal: who waits. Apart from everything else, so that it can be emptied.';
comment on column waitlist_buyers.show_id is 'The show.';
comment on column waitlist_buyers.entry_id is 'The entry of the waitlist.';
comment on column waitlist_buyers.organisation_id is 'Whose show.';
comment on column waitlist_buyers.customer_id is 'Whose entry.';
comment on column waitlist_buyers.name is 'As it was given, NFC, any script.';
comment on column waitlist_buyers.email is 'Where the offer is mailed.';
comment on column waitlist_buyers.phone is 'As it was given.';
comment on column waitlist_buyers.locale is 'BCP 47 tag: the language of mails.';

create table waitlist_looks (
  show_id         uuid primary key,
  organisation_id uuid not null,
  looked_at       timestamptz not null,
  categories      text[] not null,
  found           int[] not null,
  remaining       int[] not null,
  constraint waitlist_looks_in_step check (cardinality(found) = cardinality(categories) and cardinality(remaining) = cardinality(categories))
) with (fillfactor = 50);
comment on table waitlist_looks is 'What was free when a show''s waitlist was last served: by it everybody is told why they were passed over.';
comment on column waitlist_looks.show_id is 'The show.';
comment on column waitlist_looks.organisation_id is 'Whose show.';
comment on column waitlist_looks.looked_at is 'When, by the batch''s clock.';
comment on column waitlist_looks.categories is 'Categories of the show.';
comment on column waitlist_looks.found is 'Places of each that were free.';
comment on column waitlist_looks.remaining is 'Places of each that were left when everybody had been served who could be.';

---- create above / drop below ----

drop table waitlist_looks;
drop table waitlist_buyers;
drop table waitlist_entries;
drop function waitlist_entries_stay_spent;
alter table reservations drop column waitlist_entry_id;
alter table show_heads drop column waiting;
alter table shows drop column offer_seconds;
