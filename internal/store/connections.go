package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/sql/queries"
)

var sqlConnectionsMax = queries.Must("connections_max")

// CheckConnections refuses a server that has fewer connections than one
// instance with full pools opens. That would fail under load otherwise, and
// only then.
func CheckConnections(ctx context.Context, conn *pgx.Conn, needed int) error {
	var most int
	if err := conn.QueryRow(ctx, sqlConnectionsMax).Scan(&most); err != nil {
		return err
	}
	if needed > most {
		return fmt.Errorf("this instance may open %d connections and the server gives %d to all: raise max_connections, or lower LANES, WAITERS and the POOL_ settings", needed, most)
	}
	return nil
}
