-- A number for a change. See prepare.sql.
select nextval('bench_version');
