-- Hands a query its parameter, for this transaction only. ($1 name, $2 value)
select set_config('rowlock.' || $1::text, $2::text, true);
