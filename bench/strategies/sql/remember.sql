-- What was answered to a key. ($1 owner, $2 key, $3 organisation_id, $4 fingerprint, $5 created_at, $6 show_id, $7 receipt)
insert into idempotency_keys (owner, key, organisation_id, fingerprint, created_at, show_id, receipt)
values ($1, $2, $3, $4, $5, $6, $7);
