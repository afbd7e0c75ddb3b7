-- What the application and the lanes may do with each table. Run after the
-- migrations by the role that ran them, in one transaction: nobody loses a
-- privilege meanwhile. Without the roles it does nothing.

do $$
declare
  t record;
begin
  if to_regrole('rowlock_app') is null or to_regrole('rowlock_lane') is null then
    raise notice 'no roles yet: run rowlock roles';
    return;
  end if;
  for t in
    select c.oid::regclass as name,
           c.relname in ('schema_version', 'river_migration') as bookkeeping,
           -- the log itself, and its partitions should it have some
           c.oid = to_regclass('public.changes')
             or exists (select from pg_inherits where inhrelid = c.oid and inhparent = to_regclass('public.changes')) as log
      from pg_class c
     where c.relnamespace = 'public'::regnamespace
       and c.relkind in ('r', 'p')
       and pg_has_role(c.relowner, 'usage')
       and not exists (select from pg_depend where classid = 'pg_class'::regclass and objid = c.oid and deptype = 'e')
  loop
    execute format('revoke all on %s from rowlock_app, rowlock_lane', t.name);
    execute format('grant select on %s to rowlock_app, rowlock_lane', t.name);
    if t.log then
      execute format('grant insert on %s to rowlock_lane', t.name);
    elsif not t.bookkeeping then
      execute format('grant insert, update, delete on %s to rowlock_app, rowlock_lane', t.name);
    end if;
  end loop;
end
$$;
