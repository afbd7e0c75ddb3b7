-- Takes the snapshot of a transaction that has begun, and no lock: truncating the tables for a sale must not wait for it.
select pg_current_snapshot()::text;
