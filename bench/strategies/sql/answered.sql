-- The clock, the show's head, and what was answered to a key before. ($1 show_id, $2 owner, $3 key)
select clock_timestamp(), h.version, h.changed_at, k.fingerprint, k.receipt
  from show_heads h
  left join idempotency_keys k on k.owner = $2 and k.key = $3
 where h.show_id = $1;
