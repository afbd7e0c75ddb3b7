-- Without triggers, for what is loaded was true when it happened.
set session_replication_role = replica;
