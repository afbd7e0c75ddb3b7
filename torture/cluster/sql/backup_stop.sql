-- Ends the copy, and says what has to be written into it as backup_label.
select labelfile from pg_backup_stop(false);
