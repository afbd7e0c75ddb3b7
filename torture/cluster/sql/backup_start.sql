-- Makes a checkpoint from which a copy of the files can be recovered, at once.
select pg_backup_start('standby', true);
