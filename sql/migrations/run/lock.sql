-- Tries for the right to change the schema, held until the session ends.
-- The number is the word "rowlock" in ASCII: arbitrary, but it never changes.
select pg_try_advisory_lock(32210706056045419);
