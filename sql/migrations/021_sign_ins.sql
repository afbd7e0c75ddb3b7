-- Browsers that organisers are signed in with.
-- Lock cost: a new table only.

create table sign_ins (
  sign_in_id       uuid primary key,
  organisation_id uuid not null references organisations,
  hash            bytea not null unique check (octet_length(hash) = 32),
  key_hash        bytea check (octet_length(key_hash) = 32),
  owner           text,
  customer_id     text,
  scopes          text[],
  created_at      timestamptz not null default clock_timestamp(),
  expires_at      timestamptz not null,
  constraint sign_ins_by_key_or_token check (
    num_nulls(owner, customer_id, scopes) = case when key_hash is null then 0 else 3 end)
);
create index sign_ins_by_expiry on sign_ins (expires_at);
comment on table sign_ins is 'Browsers that organisers are signed in with. Signing out deletes the row.';
comment on column sign_ins.sign_in_id is 'UUIDv7.';
comment on column sign_ins.organisation_id is 'Whose organiser.';
comment on column sign_ins.hash is 'SHA-256 of the cookie, which has 256 random bits.';
comment on column sign_ins.key_hash is 'The API key that it was opened with: what that may do, it may, and it ends with it. Null: a token.';
comment on column sign_ins.owner is 'Of a token: whose idempotency keys are used.';
comment on column sign_ins.customer_id is 'Of a token: the customer.';
comment on column sign_ins.scopes is 'Of a token: what it may do.';
comment on column sign_ins.created_at is 'When it was opened, database clock.';
comment on column sign_ins.expires_at is 'When it ends by itself; with a token not after that.';

---- create above / drop below ----

drop table sign_ins;
