-- The keys they were placed with, whose order is chance. ($1 organisation_id, $2 n1, $3 n2)
insert into idempotency_keys (owner, key, organisation_id, fingerprint, created_at, show_id, receipt)
select 'customer-' || n, gen_random_uuid(), $1, sha256(int8send(n)), t.at, bench_old_id(1, n / 200000 * 100 + n % 100),
       format('{"at":"%s","v":%s,"r":"%s","h":{"s":"active","c":"%s","e":"%s","seats":[{"n":%s,"t":"standard","p":2500}]}}',
              t.at, n / 100 % 2000 + 1, bench_old_id(2, n), t.at, t.at + interval '1 hour', n / 100 % 2000)
  from generate_series($2::bigint, $3::bigint) as n
 cross join lateral (select timestamptz '2026-01-01' + n * interval '20 milliseconds' as at) as t;
