-- Browsers that organisers are signed in with.
-- Lock cost: a new table only.

create table signins (
  signin_id       uuid primary key,
  organisation_id uuid not null references organisations,
  hash            bytea not null unique check (octet_length(hash) = 32),
  key_hash        bytea check (octet_length(key_hash) = 32),
  owner           text,
  customer_id     text,
  scopes          text[],
  created_at      timestamptz not null default clock_timestamp(),
  expires_at      timestamptz not null,
  constraint signins_by_key_or_token check (
    num_nulls(owner, customer_id, scopes) = case when key_hash is null then 0 else 3 end)
);
create index signins_by_expiry on signins (expires_at);
comment on table signins is 'Browsers that organisers are signed in with. Signing out deletes the row.';
comment on column signins.signin_id is 'UUIDv7.';
comment on column signins.organisation_id is 'Whose organiser.';
comment on column signins.hash is 'SHA-256 of the cookie, which has 256 random bits.';
comment on column signins.key_hash is 'The API key that it was opened with: what that may do, it may, and it ends with it. Null: a token.';
comment on column signins.owner is 'Of a token: whose idempotency keys are used.';
comment on column signins.customer_id is 'Of a token: the customer.';
comment on column signins.scopes is 'Of a token: what it may do.';
comment on column signins.created_at is 'When it was opened, database clock.';
comment on column signins.expires_at is 'When it ends by itself; with a token not after that.';

---- create above / drop below ----

drop table signins;
