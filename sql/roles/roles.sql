-- Rowlock's four roles, made or brought up to date, and what they may do in
-- the current database. Run by a superuser, or by the owner of the database if
-- it may create roles. Roles belong to the whole server and settings to the
-- roles, which is why none of this is a migration.
--
-- A password comes as rowlock.password_<role>, set for this transaction only,
-- so that it stands in no statement that a log could keep. Without one the
-- password stays as it is.

do $$
declare
  role record;
  password text;
begin
  for role in
    select * from (values
      ('rowlock_owner', 'Owns Rowlock''s tables. Migrations run as it (MIGRATE_DATABASE_URL); the service never does.'),
      ('rowlock_app',   'The service''s requests and jobs (DATABASE_URL). May read the change log, not write it.'),
      ('rowlock_lane',  'The lanes: the only role that changes who owns a place. Adds to the change log, never alters it. Has planner settings of its own.'),
      ('rowlock_ops',   'People on call: reads Rowlock''s tables and the server''s figures, changes nothing.')
    ) as roles (name, purpose)
  loop
    if to_regrole(role.name) is null then
      execute format('create role %I login', role.name);
    end if;
    execute format('comment on role %I is %L', role.name, role.purpose);
    password := current_setting('rowlock.password_' || role.name, true);
    if password <> '' then
      execute format('alter role %I password %L', role.name, password);
    end if;
  end loop;

  -- Who creates roles without being superuser is not yet a member of them, as
  -- it must be to set the owner's default privileges.
  if not pg_has_role('rowlock_owner', 'usage') then
    execute format('grant rowlock_owner to %I', current_user);
  end if;

  execute format('grant create, connect on database %I to rowlock_owner', current_database());
  execute format('grant connect on database %I to rowlock_app, rowlock_lane, rowlock_ops', current_database());

  -- Hosted servers may keep this from us; then on-call sees less. Not
  -- pg_read_all_data: that reads the password hashes in pg_authid, too.
  begin
    grant pg_monitor to rowlock_ops;
  exception when insufficient_privilege then
    raise warning 'rowlock_ops may not see the server''s figures: %', sqlerrm;
  end;
  begin
    grant pg_read_all_stats to rowlock_app; -- for the age of the oldest snapshot, whoever has it
  exception when insufficient_privilege then
    raise warning 'rowlock_app may not see others'' transactions: %', sqlerrm;
  end;
  begin
    create extension if not exists pg_stat_statements;
  exception when others then -- not installed, or not allowed
    raise warning 'no pg_stat_statements: %', sqlerrm;
  end;
end
$$;

-- A frozen instance must not keep a show shut: what it holds is let go when its
-- transaction idles for 5 seconds or a statement runs for 10. The rest says
-- aloud what the lanes rest on, should the server's defaults say otherwise.
alter role rowlock_app set idle_in_transaction_session_timeout = '5s';
alter role rowlock_app set statement_timeout = '10s';
alter role rowlock_app set default_transaction_isolation = 'read committed';
alter role rowlock_app set synchronous_commit = 'on';
-- What the planner thinks of a list makes it worth compiling, which takes 20 ms each time; running it takes 1.
alter role rowlock_app set jit = 'off';

alter role rowlock_lane set idle_in_transaction_session_timeout = '5s';
alter role rowlock_lane set statement_timeout = '10s';
alter role rowlock_lane set default_transaction_isolation = 'read committed';
alter role rowlock_lane set synchronous_commit = 'on';

-- A lane's statements are few, prepared and meant to go through an index. With
-- the statistics of an empty table the planner takes a sequential scan, keeps
-- to it while the table grows, and halves what a lane can do.
alter role rowlock_lane set plan_cache_mode = 'force_generic_plan';
alter role rowlock_lane set enable_seqscan = 'off';
alter role rowlock_lane set enable_hashjoin = 'off';
alter role rowlock_lane set enable_mergejoin = 'off';
alter role rowlock_lane set jit = 'off';

alter role rowlock_ops set default_transaction_read_only = 'on';
alter role rowlock_ops set statement_timeout = '60s';

grant usage, create on schema public to rowlock_owner;
grant usage on schema public to rowlock_app, rowlock_lane, rowlock_ops;

-- New tables can be read at once. Writing is granted table by table, in
-- grants.sql after each migration: a default that lets the application write
-- would let it rewrite the next partition of the change log.
alter default privileges for role rowlock_owner in schema public
  grant select on tables to rowlock_app, rowlock_lane, rowlock_ops;
alter default privileges for role rowlock_owner in schema public
  grant usage, select on sequences to rowlock_app, rowlock_lane;
