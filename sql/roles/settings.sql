-- The session's settings that are not what roles.sql makes them.
with expected (role, name, allowed) as (values
  (null,           'idle_in_transaction_session_timeout', array['5s']),
  (null,           'statement_timeout',                   array['10s']),
  (null,           'default_transaction_isolation',       array['read committed']),
  (null,           'synchronous_commit',                  array['on', 'remote_apply']), -- the second waits even longer
  (null,           'jit',                                 array['off']),
  ('rowlock_lane', 'plan_cache_mode',                     array['force_generic_plan']),
  ('rowlock_lane', 'enable_seqscan',                      array['off']),
  ('rowlock_lane', 'enable_hashjoin',                     array['off']),
  ('rowlock_lane', 'enable_mergejoin',                    array['off'])
)
select name, current_setting(name), allowed[1]
  from expected
 where (role is null or role = current_user)
   and current_setting(name) <> all (allowed)
 order by name;
