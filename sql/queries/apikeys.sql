-- API keys and guest sessions.

-- name: apikeys_insert
-- $1 api_key_id, $2 organisation_id, $3 name, $4 prefix, $5 hash, $6 scopes, $7 expires_at or null.
insert into api_keys (api_key_id, organisation_id, name, prefix, hash, scopes, expires_at)
values ($1, $2, $3, $4, $5, $6, $7)
returning created_at;

-- name: apikeys_ensure
-- A key that is known beforehand, in use and with these scopes whatever it was. $1 api_key_id, $2 organisation_id, $3 name,
-- $4 prefix, $5 hash, $6 scopes.
insert into api_keys (api_key_id, organisation_id, name, prefix, hash, scopes)
values ($1, $2, $3, $4, $5, $6)
on conflict (hash) do update
   set name = excluded.name, scopes = excluded.scopes, expires_at = null, revoked_at = null;

-- name: apikeys_by_hash
-- $1 hash.
select api_key_id, organisation_id, name, prefix, scopes, created_at, expires_at, revoked_at
  from api_keys where hash = $1;

-- name: apikeys_list
-- Newest first, revoked ones too. $1 organisation_id, $2 the last api_key_id of the page before or null, $3 how many.
select api_key_id, organisation_id, name, prefix, scopes, created_at, expires_at, revoked_at
  from api_keys
 where organisation_id = $1 and ($2::uuid is null or api_key_id < $2)
 order by api_key_id desc
 limit $3;

-- name: apikeys_revoke
-- Again: the first time stays. $1 api_key_id, $2 organisation_id.
update api_keys set revoked_at = coalesce(revoked_at, clock_timestamp())
 where api_key_id = $1 and organisation_id = $2
returning api_key_id, organisation_id, name, prefix, scopes, created_at, expires_at, revoked_at;
