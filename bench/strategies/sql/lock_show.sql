-- Waits for the show: one transaction at a time sells its seats. ($1 show_id)
select pg_advisory_xact_lock(show_lock_key($1));
