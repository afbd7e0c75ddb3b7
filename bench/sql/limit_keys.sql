-- ($1 show_id, $2 organisation_id, $3 created_at, $4 owner[], $5 key[], $6 fingerprint[], $7 receipt[])
insert into idempotency_keys (owner, key, organisation_id, fingerprint, created_at, show_id, receipt)
select w.owner, w.key, $2, w.fingerprint, $3, $1, w.receipt
  from unnest($4::text[], $5::uuid[], $6::bytea[], $7::text[]) as w(owner, key, fingerprint, receipt);
