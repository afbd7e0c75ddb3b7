-- The statement that makes database $1, unless it is there.
-- ($1 text)
select format('create database %I', $1::text)
 where not exists (select from pg_database where datname = $1);
