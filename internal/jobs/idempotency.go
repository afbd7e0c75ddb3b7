package jobs

// PurgeIdempotencyKeysArgs ask to forget idempotency keys after their 24 hours.
type PurgeIdempotencyKeysArgs struct{}

// Kind implements [river.JobArgs].
func (PurgeIdempotencyKeysArgs) Kind() string { return "idempotency_purge" }
