-- Browsers that organisers are signed in with.

-- name: signins_insert
-- $1 signin_id, $2 organisation_id, $3 hash, $4 key_hash, or $5 owner, $6 customer_id and $7 scopes, $8 expires_at.
insert into signins (signin_id, organisation_id, hash, key_hash, owner, customer_id, scopes, expires_at)
values ($1, $2, $3, $4, $5, $6, $7, $8);

-- name: signins_by_hash
-- One that is not over. $1 hash.
select organisation_id, key_hash, coalesce(owner, ''), coalesce(customer_id, ''), scopes, expires_at
  from signins where hash = $1 and expires_at > clock_timestamp();

-- name: signins_close
-- $1 hash.
delete from signins where hash = $1;

-- name: signins_purge
-- Forgets those that are over, at most $1 at a time.
delete from signins
 where signin_id = any (array(
   select signin_id from signins
    where expires_at < clock_timestamp() order by expires_at limit $1));
