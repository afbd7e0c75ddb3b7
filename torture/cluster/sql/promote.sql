-- Makes a standby the primary, and returns when it is.
select pg_promote(true, 30);
