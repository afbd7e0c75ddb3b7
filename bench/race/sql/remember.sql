-- ($1 owner, $2 key, $3 organisation_id, $4 fingerprint, $5 show_id, $6 receipt)
insert into idempotency_keys (owner, key, organisation_id, fingerprint, created_at, show_id, receipt)
values ($1, $2, $3, $4, clock_timestamp(), $5, $6);
