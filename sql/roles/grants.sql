-- What the application, the lanes and on-call may do with each table and
-- sequence. Run after the migrations by the role that ran them, in one
-- transaction: nobody loses a privilege meanwhile. Without the roles it does
-- nothing.

do $$
declare
  t record;
begin
  if to_regrole('rowlock_app') is null or to_regrole('rowlock_lane') is null or to_regrole('rowlock_ops') is null then
    raise notice 'no roles yet: run rowlock roles';
    return;
  end if;
  for t in
    select c.oid::regclass as name,
           c.relkind = 'S' as sequence,
           c.relkind = 'v' or c.relname in ('schema_version', 'river_migration') as read_only,
           -- who owns a place, and where the money is, is for the lanes to
           -- change: the application makes the places of a new show, and that
           -- is all
           c.relname in ('show_heads', 'show_seats', 'show_areas') as places,
           c.relname in ('reservations', 'blocks', 'bookings', 'payments', 'refunds', 'tickets', 'scans',
                         'waitlist_entries', 'waitlist_looks') as holds,
           -- the log itself, and its partitions should it have some
           c.oid = to_regclass('public.changes')
             or exists (select from pg_inherits where inhrelid = c.oid and inhparent = to_regclass('public.changes')) as log
      from pg_class c
     where c.relnamespace = 'public'::regnamespace
       and c.relkind in ('r', 'p', 'v', 'S')
       and pg_has_role(c.relowner, 'usage')
       and not exists (select from pg_depend where classid = 'pg_class'::regclass and objid = c.oid and deptype = 'e')
  loop
    if t.sequence then
      -- The owner's defaults do not reach what pg_restore made.
      execute format('grant usage, select on sequence %s to rowlock_app, rowlock_lane', t.name);
      execute format('grant select on sequence %s to rowlock_ops', t.name); -- pg_dump reads them
      continue;
    end if;
    execute format('revoke all on %s from rowlock_app, rowlock_lane, rowlock_ops', t.name);
    execute format('grant select on %s to rowlock_app, rowlock_lane, rowlock_ops', t.name);
    if t.read_only then
      continue;
    end if;
    if t.log then
      execute format('grant insert on %s to rowlock_lane', t.name);
      continue;
    end if;
    execute format('grant insert, update, delete on %s to rowlock_lane', t.name);
    if t.places then
      execute format('grant insert on %s to rowlock_app', t.name);
    elsif not t.holds then
      execute format('grant insert, update, delete on %s to rowlock_app', t.name);
    end if;
  end loop;
end
$$;
