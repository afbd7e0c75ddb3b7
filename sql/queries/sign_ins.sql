-- Browsers that organisers are signed in with.

-- name: sign_ins_insert
-- $1 sign_in_id, $2 organisation_id, $3 hash, $4 key_hash, or $5 owner, $6 customer_id and $7 scopes, $8 expires_at.
insert into sign_ins (sign_in_id, organisation_id, hash, key_hash, owner, customer_id, scopes, expires_at)
values ($1, $2, $3, $4, $5, $6, $7, $8);

-- name: sign_ins_by_hash
-- One that is not over. $1 hash.
select organisation_id, key_hash, coalesce(owner, ''), coalesce(customer_id, ''), scopes, expires_at
  from sign_ins where hash = $1 and expires_at > clock_timestamp();

-- name: sign_ins_close
-- $1 hash.
delete from sign_ins where hash = $1;

-- name: sign_ins_purge
-- Forgets those that are over, at most $1 at a time.
delete from sign_ins
 where sign_in_id = any (array(
   select sign_in_id from sign_ins
    where expires_at < clock_timestamp() order by expires_at limit $1));
