package store

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rowlock/rowlock/sql/queries"
)

var (
	sqlShowHeadsVersions = queries.Must("show_heads_versions")
	sqlServiceNotify     = queries.Must("service_notify")
	sqlServiceListen     = queries.Must("service_listen")
)

// How processes hear of each other's changes. A NOTIFY inside of the lanes'
// transactions would have all commits of the cluster stand in line for one
// lock. So it is empty, outside, and seldom: whoever hears it asks which shows
// have moved.
const (
	notifyEvery = 50 * time.Millisecond
	notifyMax   = time.Second      // for one; who is not told asks by himself
	listenAgain = 10 * time.Second // the longest pause between attempts to connect
	listenQuiet = 30 * time.Second // without a word; then the connection is tried
)

// news is who is told of changes.
type news struct {
	stirred chan struct{} // something has changed that no NOTIFY has told of

	mu        sync.Mutex
	listeners []*func(show uuid.UUID)
}

func newNews() news { return news{stirred: make(chan struct{}, 1)} }

// changed tells of shows that were changed by a commit: everybody in this
// process at once, and others by and by.
func (s *Store) changed(shows []*laneShow) {
	s.news.mu.Lock()
	listeners := s.news.listeners
	s.news.mu.Unlock()
	any := false
	for _, sh := range shows {
		if !sh.did.Dirty {
			continue
		}
		any = true
		for _, tell := range listeners {
			(*tell)(sh.id)
		}
	}
	if !any {
		return
	}
	select {
	case s.news.stirred <- struct{}{}:
	default: // the next NOTIFY tells of this, too
	}
}

// notify tells other processes of changes until ctx ends, and then once more
// if there is something.
func (s *Store) notify(ctx context.Context) {
	for {
		select {
		case <-s.news.stirred:
		case <-ctx.Done():
			select {
			case <-s.news.stirred:
			default:
				return
			}
		}
		send, cancel := context.WithTimeout(context.WithoutCancel(ctx), notifyMax)
		if _, err := s.pool.Exec(send, sqlServiceNotify); err != nil {
			s.log.Debug("others were not told of a change, and will ask", "error", err)
		}
		cancel()
		select {
		case <-time.After(notifyEvery):
		case <-ctx.Done():
		}
	}
}

// Listen calls changed with each show that this process changes, and with
// uuid.Nil when another process may have changed any, until ctx ends. changed
// must not block. It has a connection of its own, which it makes again when it
// is lost; then changed is called too, since something may have been missed.
func (s *Store) Listen(ctx context.Context, changed func(show uuid.UUID)) error {
	s.news.mu.Lock()
	s.news.listeners = append(slices.Clone(s.news.listeners), &changed)
	s.news.mu.Unlock()
	defer func() {
		s.news.mu.Lock()
		defer s.news.mu.Unlock()
		s.news.listeners = slices.DeleteFunc(slices.Clone(s.news.listeners), func(f *func(uuid.UUID)) bool { return f == &changed })
	}()
	pause := 50 * time.Millisecond
	for {
		heard, err := s.hear(ctx, func() { changed(uuid.Nil) })
		if s.cfg.Observer != nil {
			s.cfg.Observer.Listening(false)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if heard {
			pause = 50 * time.Millisecond
		}
		s.log.Warn("not listening for changes of other processes: asking each second until this works again", "error", err)
		select {
		case <-time.After(pause + rand.N(pause)):
		case <-ctx.Done():
			return ctx.Err()
		}
		pause = min(2*pause, listenAgain)
	}
}

// hear listens on one connection until it is lost. It reports whether there
// was one.
func (s *Store) hear(ctx context.Context, changed func()) (heard bool, err error) {
	c, err := pgx.ParseConfig(s.cfg.DirectURL)
	if err != nil {
		return false, err
	}
	c.RuntimeParams["application_name"] = "rowlock listen"
	c.ConnectTimeout = connectMax
	c.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite // a standby tells nothing
	conn, err := pgx.ConnectConfig(ctx, c)
	if err != nil {
		return false, err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		conn.Close(closing)
	}()
	if _, err := conn.Exec(ctx, sqlServiceListen); err != nil {
		return false, err
	}
	if s.cfg.Observer != nil {
		s.cfg.Observer.Listening(true)
	}
	changed() // what happened before has been missed
	for {
		quiet, cancel := context.WithTimeout(ctx, listenQuiet)
		_, err := conn.WaitForNotification(quiet)
		silent := quiet.Err() != nil && ctx.Err() == nil
		cancel()
		switch {
		case err == nil:
			changed()
		case silent && pgconn.Timeout(err):
			if err := s.stillThere(ctx, conn); err != nil {
				return true, err
			}
		default:
			return true, err
		}
	}
}

// stillThere asks over a connection on which nothing was heard for long: the
// other end may have gone without a word.
func (s *Store) stillThere(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, connectMax)
	defer cancel()
	return conn.Ping(ctx)
}

// ReadShowVersions reads the versions of shows, by one statement, and what time
// it is. Shows that do not exist are missing.
func (s *Store) ReadShowVersions(ctx context.Context, shows []uuid.UUID) (versions map[uuid.UUID]int64, now time.Time, err error) {
	rows, err := s.pool.Query(ctx, sqlShowHeadsVersions, shows)
	if err != nil {
		return nil, now, coded(err)
	}
	versions = make(map[uuid.UUID]int64, len(shows))
	var id uuid.UUID
	var version int64
	_, err = pgx.ForEachRow(rows, []any{&id, &version, &now}, func() error {
		versions[id] = version
		return nil
	})
	return versions, now, coded(err)
}
