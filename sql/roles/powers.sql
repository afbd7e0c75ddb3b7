-- What the session's role may do that the service's role should not.
select power
  from (values
    (1, 'is a superuser', (select rolsuper from pg_roles where rolname = current_user)),
    (2, 'owns the tables', (select pg_has_role(relowner, 'usage') from pg_class where oid = to_regclass('public.changes'))),
    (3, 'may change the change log', has_table_privilege(to_regclass('public.changes'), 'update, delete, truncate'))
  ) as powers (n, power, held)
 where held
 order by n;
