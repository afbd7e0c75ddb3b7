package main

import (
	"embed"
	"strings"
)

//go:embed sql/*.sql
var files embed.FS

// statement is the one in a file of sql/, which must be there.
func statement(name string) string {
	text, err := files.ReadFile("sql/" + name + ".sql")
	if err != nil {
		panic(err)
	}
	return strings.TrimSpace(string(text))
}

var (
	sqlForget       = statement("forget")
	sqlHall         = statement("hall")
	sqlShows        = statement("shows")
	sqlVacuum       = statement("vacuum")
	sqlCheckpoint   = statement("checkpoint")
	sqlDeadlocks    = statement("deadlocks")
	sqlJobs         = statement("jobs")
	sqlSound        = statement("sound")
	sqlClock        = statement("clock")
	sqlEnded        = statement("ended")
	sqlSnapshot     = statement("snapshot")
	sqlHead         = statement("limit_head")
	sqlSeats        = statement("limit_seats")
	sqlReservations = statement("limit_reservations")
	sqlChanges      = statement("limit_changes")
	sqlKeys         = statement("limit_keys")
	sqlEndings      = statement("limit_jobs")
	sqlOldPrepare   = statement("old_prepare")
	sqlQueueFill    = statement("queue_fill")
	sqlQueueCalled  = statement("queue_called")
	sqlCosts        = statement("costs")
	sqlCostsCount   = statement("costs_count")
	sqlCostsAnew    = statement("costs_anew")
	sqlOldOn        = statement("old_on")
	sqlOld          = []string{statement("old_reservations"), statement("old_changes"), statement("old_keys")}
)
