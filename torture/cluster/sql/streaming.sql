-- Whether a standby follows.
select exists (select from pg_stat_replication where state = 'streaming');
