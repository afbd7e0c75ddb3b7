-- Connections to the server.

-- name: connections_max
-- How many connections this role can share with everybody else.
select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int;
