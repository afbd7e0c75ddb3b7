-- Whether this request was answered before. ($1 owner, $2 key)
select count(*) from idempotency_keys where owner = $1 and key = $2;
