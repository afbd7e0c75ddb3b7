//go:build unix

package cluster

import (
	"context"

	"github.com/rowlock/rowlock/internal/postgres"
)

// Folder is where the present primary has its data, for [Open].
func (c *Cluster) Folder() string {
	c.database.mu.Lock()
	defer c.database.mu.Unlock()
	return c.database.primary.dir
}

// Open starts Postgres on what a cluster that has stopped left in a [Cluster.Folder],
// and waits for no standby any more. It returns the superuser's address of the
// database. The server ends with stop, or with this process.
func Open(ctx context.Context, folder string) (url string, stop func() error, err error) {
	server, err := postgres.Start(ctx, postgres.Config{Dir: folder, Settings: map[string]string{
		"synchronous_standby_names": "", "shared_preload_libraries": "",
	}})
	if err != nil {
		return "", nil, err
	}
	return server.URL(postgres.Superuser, databaseName), server.Stop, nil
}
