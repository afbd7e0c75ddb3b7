-- The service itself.

-- name: service_ready
-- Whether this database only reads.
select pg_is_in_recovery() or current_setting('default_transaction_read_only')::boolean;

-- name: service_snapshot
-- Begins to read several statements as of one moment.
begin isolation level repeatable read read only;
