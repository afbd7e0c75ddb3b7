-- The lane: locks and clock. Each is a statement of its own: a lock and a read
-- in one statement would read from before the lock.

-- name: lanes_try_shows
-- Tries each show's lock, in the order given (sorted by the caller). $1 show_id[].
select pg_try_advisory_xact_lock(show_lock_key(w.show_id)) from unnest($1::uuid[]) as w(show_id);

-- name: lanes_wait_timeout
-- How long the next statement may wait for a lock, milliseconds as text. $1.
select set_config('lock_timeout', $1, true);

-- name: lanes_wait_show
-- Waits for one show's lock under lock_timeout. $1 show_id.
select pg_advisory_xact_lock(show_lock_key($1));

-- name: lanes_try_keys
-- Tries each idempotency key's lock, in the two-argument key space. $1, $2 int[].
select pg_try_advisory_xact_lock(w.a, w.b) from unnest($1::int[], $2::int[]) as w(a, b);

-- name: lanes_clock
-- The batch's only now, read after the locks.
select clock_timestamp();

-- name: lanes_witness
-- Gives a transaction that only repeats old answers something to commit, so
-- that it waits for the synchronous standby like everybody else.
select pg_logical_emit_message(true, 'rowlock', 'replay')::text;

-- name: lanes_begin
begin isolation level read committed;

-- name: lanes_commit
commit;

-- name: lanes_rollback
rollback;
