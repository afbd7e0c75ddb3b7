-- Hands roles.sql a password, for this transaction only.
-- ($1 role, $2 password)
select set_config('rowlock.password_' || $1::text, $2::text, true);
