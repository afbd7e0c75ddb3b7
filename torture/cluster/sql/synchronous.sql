-- Whether a standby follows that every commit waits for.
select exists (select from pg_stat_replication where state = 'streaming' and sync_state <> 'async');
