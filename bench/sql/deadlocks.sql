-- Deadlocks of this database since it was made.
select deadlocks from pg_stat_database where datname = current_database();
