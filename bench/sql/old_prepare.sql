-- An id as UUIDv7 has them: kinds apart by their middle, and growing with n.
create or replace function bench_old_id(kind int, n bigint) returns uuid
  language sql immutable strict parallel safe
  return (lpad(to_hex(1767225600000 + n * 20), 12, '0') || '7' || lpad(to_hex(kind), 3, '0') || '8' || lpad(to_hex(n), 15, '0'))::uuid;
