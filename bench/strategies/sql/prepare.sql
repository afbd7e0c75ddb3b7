-- Numbers the changes of those strategies to which the show's row would be one
-- more lock. Being published was version 1 of every show.
create sequence if not exists bench_version start 2;
grant usage on sequence bench_version to rowlock_lane;
