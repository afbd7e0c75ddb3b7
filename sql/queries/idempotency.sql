-- Idempotency keys.

-- name: idempotency_load
-- What was answered to the keys, with their place in the arrays (from 1). $1 owner[], $2 key[].
select w.i, k.fingerprint, k.receipt
  from unnest($1::text[], $2::uuid[]) with ordinality as w(owner, key, i)
 cross join lateral (
   select k.fingerprint, k.receipt from idempotency_keys k where k.owner = w.owner and k.key = w.key limit 1) k;

-- name: idempotency_insert
-- $1 owner[], $2 key[], $3 organisation_id[], $4 fingerprint[], $5 created_at[] (null: now), $6 show_id[], $7 receipt[].
insert into idempotency_keys (owner, key, organisation_id, fingerprint, created_at, show_id, receipt)
select w.owner, w.key, w.organisation_id, w.fingerprint, coalesce(w.created_at, clock_timestamp()), w.show_id, w.receipt
  from (select unnest($1::text[]) as owner, unnest($2::uuid[]) as key, unnest($3::uuid[]) as organisation_id,
               unnest($4::bytea[]) as fingerprint, unnest($5::timestamptz[]) as created_at, unnest($6::uuid[]) as show_id,
               unnest($7::text[]) as receipt) as w;

-- name: idempotency_purge
-- Forgets keys older than 24 hours, at most $1 at a time.
delete from idempotency_keys
 where ctid = any (array(
   select ctid from idempotency_keys
    where created_at < clock_timestamp() - interval '24 hours' limit $1));
