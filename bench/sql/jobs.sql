-- Jobs for each reservation.
select coalesce((select count(*) from river_job)::float8 / nullif((select count(*) from reservations), 0), 0);
