package jobs

// PurgeSessionsArgs ask to forget guests whose token has ended.
type PurgeSessionsArgs struct{}

// Kind implements [river.JobArgs].
func (PurgeSessionsArgs) Kind() string { return "sessions_purge" }
