-- What a statement costs is counted where the extension is installed.
create extension if not exists pg_stat_statements;
