-- Who may call: API keys, guest sessions, and what was answered to a key.
-- Lock cost: new tables only.

create table api_keys (
  api_key_id      uuid primary key,
  organisation_id uuid not null references organisations,
  name            text not null check (char_length(name) between 1 and 200),
  prefix          text not null,
  hash            bytea not null unique check (octet_length(hash) = 32),
  scopes          text[] not null,
  created_at      timestamptz not null default clock_timestamp(),
  expires_at      timestamptz,
  revoked_at      timestamptz
);
comment on table api_keys is 'Keys of back ends, box offices and admins. The key itself is shown once and not kept.';
comment on column api_keys.api_key_id is 'UUIDv7.';
comment on column api_keys.organisation_id is 'Whose key.';
comment on column api_keys.name is 'What it is for.';
comment on column api_keys.prefix is 'The key''s first characters, to tell keys apart.';
comment on column api_keys.hash is 'SHA-256 of the key, which has 256 random bits.';
comment on column api_keys.scopes is 'What it may do.';
comment on column api_keys.created_at is 'When it was made, database clock.';
comment on column api_keys.expires_at is 'From when on it is refused by itself; null: never.';
comment on column api_keys.revoked_at is 'From when on it is refused.';

create table sessions (
  session_id      uuid primary key,
  organisation_id uuid not null references organisations,
  customer_id     text not null,
  created_at      timestamptz not null default clock_timestamp(),
  expires_at      timestamptz not null
);
create index sessions_by_expiry on sessions (expires_at);
comment on table sessions is 'Guest sessions that were given out. The token is signed and stands for itself; the row is for people who ask.';
comment on column sessions.session_id is 'UUIDv7.';
comment on column sessions.organisation_id is 'At whose shop.';
comment on column sessions.customer_id is 'The customer it stands for.';
comment on column sessions.created_at is 'When it was given, database clock.';
comment on column sessions.expires_at is 'When the token ends.';

create table idempotency_keys (
  owner           text collate "C" not null,
  key             uuid not null,
  organisation_id uuid not null,
  fingerprint     bytea not null,
  created_at      timestamptz not null,
  show_id         uuid,
  receipt         text not null,
  primary key (owner, key)
) with (fillfactor = 90, autovacuum_analyze_scale_factor = 0.02);
create index idempotency_keys_by_age on idempotency_keys using brin (created_at);
comment on table idempotency_keys is 'What was answered to a key, for 24 hours. Written in the transaction of what it answers.';
comment on column idempotency_keys.owner is 'Whose key: issuer and subject, organisation of an API key, mock user.';
comment on column idempotency_keys.key is 'The key, a UUID v4.';
comment on column idempotency_keys.organisation_id is 'At whose shop.';
comment on column idempotency_keys.fingerprint is 'SHA-256 of method, path and parsed body.';
comment on column idempotency_keys.created_at is 'When it was answered, by the batch''s clock.';
comment on column idempotency_keys.show_id is 'The show it was about.';
comment on column idempotency_keys.receipt is 'What was done, in JSON, without personal data; the answer is made from it again.';

---- create above / drop below ----

drop table idempotency_keys;
drop table sessions;
drop table api_keys;
