-- The number of the last migration that ran.
select version from public.schema_version;
