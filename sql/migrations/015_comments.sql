-- Words for the tables that are not ours, so that everything in the schema says what it is.
-- Lock cost: a moment's lock on each of River's tables; no rewrite.

comment on table schema_version is 'tern''s: the number of the newest migration.';
comment on column schema_version.version is 'Number of the newest migration.';

comment on table river_job is 'River''s queue: holds to be closed when they end, and chores. See docs/operations.md.';
comment on column river_job.id is 'Number of the job.';
comment on column river_job.state is 'scheduled, available, running, completed, retryable, discarded, cancelled or pending.';
comment on column river_job.attempt is 'How often it was tried.';
comment on column river_job.max_attempts is 'After so many tries it is discarded.';
comment on column river_job.attempted_at is 'When it was last tried.';
comment on column river_job.created_at is 'When it was put on the queue.';
comment on column river_job.finalized_at is 'When it was completed, discarded or cancelled.';
comment on column river_job.scheduled_at is 'When it is due.';
comment on column river_job.priority is '1 first, 4 last.';
comment on column river_job.args is 'What it is about: ids, never names or mail.';
comment on column river_job.attempted_by is 'The clients that tried it.';
comment on column river_job.errors is 'What went wrong in each try.';
comment on column river_job.kind is 'Which worker works it.';
comment on column river_job.metadata is 'River''s own notes.';
comment on column river_job.queue is 'Which queue it is in.';
comment on column river_job.tags is 'Labels.';
comment on column river_job.unique_key is 'What no second job may have at the same time.';
comment on column river_job.unique_states is 'In which states that counts.';

comment on table river_leader is 'River''s: the client that schedules and cleans up for all.';
comment on column river_leader.elected_at is 'Since when it leads.';
comment on column river_leader.expires_at is 'Until when, if it is not heard of.';
comment on column river_leader.leader_id is 'Which client.';
comment on column river_leader.name is 'Which election; there is one.';

comment on table river_migration is 'River''s: the versions of its schema, brought in by our migrations.';
comment on column river_migration.line is 'main.';
comment on column river_migration.version is 'Version of River''s schema.';
comment on column river_migration.created_at is 'When it was reached.';

comment on table river_notification is 'River''s: messages between clients where NOTIFY is not used.';
comment on column river_notification.id is 'Number of the message.';
comment on column river_notification.created_at is 'When it was sent.';
comment on column river_notification.payload is 'What it says.';
comment on column river_notification.topic is 'What it is about.';

comment on table river_queue is 'River''s: the queues that were worked lately.';
comment on column river_queue.name is 'Name of the queue.';
comment on column river_queue.created_at is 'When it was first worked.';
comment on column river_queue.metadata is 'River''s own notes.';
comment on column river_queue.paused_at is 'Since when it is paused; null: it is not.';
comment on column river_queue.updated_at is 'When it was last worked.';

---- create above / drop below ----

comment on table schema_version is null;
