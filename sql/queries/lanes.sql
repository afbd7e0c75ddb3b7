-- The lane: locks and clock. Each is a statement of its own: a lock and a read
-- in one statement would read from before the lock.
--
-- How the lane's statements are kept to their indexes. A lane plans each of
-- them once, maybe while its table is empty, and keeps the plan while the table
-- grows to millions of rows. For a small table the planner turns a join with
-- unnest around and reads the table from end to end. So every look-up is a
-- lateral subquery with a limit (or offset 0), which cannot be turned around,
-- and every update is an insert ... on conflict do update, which has no join
-- to plan. A test explains them all on empty tables.
--
-- Where two indexes of a table begin with the show, one seems as good as the
-- other while there are no statistics: so there is only one, the others begin
-- with what is rarer, or the look-up asks for the order of the index it means.
--
-- Rows to write come as arrays that a select list unnests, side by side. In FROM
-- each array would have a store of its own, and from eight on (128 kB) their
-- memory goes back to the kernel after each statement and has to be had again.

-- name: lanes_try_shows
-- Tries each show's lock, in the order given (sorted by the caller). $1 show_id[].
select pg_try_advisory_xact_lock(show_lock_key(w.show_id)) from unnest($1::uuid[]) as w(show_id);

-- name: lanes_wait_timeout
-- How long statements may wait for a lock from now on: milliseconds as text, or with a unit. $1.
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
