package main

import (
	"context"
	_ "embed"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/torture/cluster"
)

//go:embed sql/map.sql
var sqlMap string

// followedMax is how many entries of the log a viewer who comes back may have
// missed without being told everything anew.
const followedMax = 2000

// arriveMax is how long it may take until every viewer has the last version,
// when all else is at rest.
const arriveMax = 30 * time.Second

// picture is the map that somebody has: of a viewer, or of the database.
type picture struct {
	version  int64
	letters  string
	free     int // units of the area
	capacity int
	status   string // of the show
	stale    bool
}

func (p *picture) String() string {
	return fmt.Sprintf("version %d of a show that is %s: %s, %d of %d units free", p.version, p.status, p.letters, p.free, p.capacity)
}

// circumstances are what can be said for a service that did not tell all.
type circumstances struct {
	// away says whether somebody may not have been able to ask the database in
	// some time.
	away func(from, to int64) bool
	// over says whether a hold with that end, nanoseconds since 1970, may have
	// been over for who was told something at a time.
	over func(end, at int64) bool
}

// tally is what a viewer was told in all.
type tally struct {
	versions int64 // that were followed
	resets   int   // because the show itself had changed
	excused  int   // because the log could not be read just then
}

// following is a viewer's way through the log.
type following struct {
	sh   *show
	log  []entry
	film *reel
	may  circumstances
	tell func(format string, args ...any)

	has     *picture // nil: nothing
	highest int64    // version that was told on this page
	came    *news    // what the present line began with
	first   bool     // nothing was told on it yet
	tally
}

// follow holds what a viewer was told against the log: each version once and in
// order, every place in it that the log names, and after each event the map as
// the log has it at that version. It returns the map that the viewer ends with.
func follow(sh *show, log []entry, heard []*news, may circumstances, tell func(format string, args ...any)) (*picture, tally) {
	f := &following{sh: sh, log: log, film: &reel{sh: sh, log: log}, may: may, tell: tell}
	for _, n := range heard {
		if wrong := f.hear(n); wrong != "" {
			tell("%v of %s: %s", n, sh.title, wrong)
			break // what follows from that is no news
		}
	}
	return f.has, f.tally
}

// hear says what is wrong with an event; "": nothing.
func (f *following) hear(n *news) string {
	switch n.Event {
	case comes:
		f.came, f.first = n, true
		switch {
		case n.From == "":
			f.has, f.highest = nil, 0
		case f.has != nil:
			f.has.stale = false // whoever it comes to says so if it is
		}
		return ""
	case "reset":
		if wrong := f.reset(n); wrong != "" {
			return wrong
		}
		f.has, f.first = nil, false
	case "snapshot":
		if n.ID != strconv.FormatInt(n.Version, 10) {
			return fmt.Sprintf("version %d has the id %q", n.Version, n.ID)
		}
		if n.Version < f.highest {
			return fmt.Sprintf("version %d, after version %d was told", n.Version, f.highest)
		}
		if f.has != nil {
			f.versions += n.Version - f.has.version
		}
		f.has = &picture{version: n.Version, letters: n.Statuses, status: n.Status, stale: n.Stale}
		f.area(n)
		f.highest, f.first = n.Version, false
		return f.differs(n)
	case "changes":
		f.first = false
		return f.changes(n)
	case "show":
		if f.has != nil {
			f.has.status = n.Status
		}
	case "stale":
		if f.has != nil {
			f.has.stale = n.Stale
		}
	case "closing":
	default:
		return "there is no such event"
	}
	return ""
}

// reset says why a viewer should not have been told to begin anew.
func (f *following) reset(n *news) string {
	switch {
	case n.ID != "":
		return fmt.Sprintf("it has the id %q", n.ID)
	case !f.first || f.came.From == "":
		return "nobody had asked for more than there is"
	case f.has == nil:
		return "" // it had only half a reset before
	}
	missed := 0
	for i := range f.log {
		if e := &f.log[i]; e.Sequence > f.has.version {
			if strings.HasPrefix(e.Type, "show.") && f.may.over(e.At.UnixNano(), n.Time) {
				f.resets++
				return ""
			}
			missed++
		}
	}
	switch {
	case missed >= followedMax:
		f.resets++
	case f.may.away(f.came.Time, n.Time):
		f.excused++
	default:
		return fmt.Sprintf("what came after version %d was there to be told", f.has.version)
	}
	return ""
}

func (f *following) changes(n *news) string {
	id := ""
	if n.Version > n.After {
		id = strconv.FormatInt(n.Version, 10)
	}
	switch {
	case f.has == nil:
		return "before there was a map"
	case n.After != f.has.version:
		return fmt.Sprintf("it follows version %d, and the viewer has version %d", n.After, f.has.version)
	case n.Version < n.After:
		return fmt.Sprintf("version %d, after version %d", n.Version, n.After)
	case n.ID != id:
		return fmt.Sprintf("from version %d to %d with the id %q", n.After, n.Version, n.ID)
	}
	named := map[int]bool{}
	states := []byte(f.has.letters)
	for _, s := range n.Seats {
		i, ok := f.sh.index[s.SeatID]
		if !ok {
			return fmt.Sprintf("there is no seat %s", s.SeatID)
		}
		named[i], states[i] = true, letters[s.Status][0]
	}
	for i := range f.log {
		e := &f.log[i]
		if e.Sequence <= n.After || e.Sequence > n.Version {
			continue
		}
		for _, s := range e.After.Seats {
			if !named[slices.Index(f.sh.label, s.Label)] {
				return fmt.Sprintf("from version %d to %d, without seat %s, of which the log says at %d.%d: %s, %s", n.After, n.Version, s.Label, e.Sequence, e.N, e.Type, s.Status)
			}
		}
		if len(e.After.Areas) > 0 && len(n.Areas) == 0 {
			return fmt.Sprintf("from version %d to %d, without the area, of which the log tells at %d.%d: %s", n.After, n.Version, e.Sequence, e.N, e.Type)
		}
	}
	f.versions += n.Version - n.After
	f.has.version, f.has.letters, f.highest = n.Version, string(states), n.Version
	f.area(n)
	return f.differs(n)
}

func (f *following) area(n *news) {
	for _, a := range n.Areas {
		f.has.free, f.has.capacity = a.Available, a.Capacity
	}
}

// differs says where the viewer's map is not the log's.
func (f *following) differs(n *news) string {
	b, logged := f.film.at(f.has.version)
	if !logged {
		return fmt.Sprintf("version %d, which the log does not have", f.has.version)
	}
	over := func(end int64) bool { return f.may.over(end, n.Time) }
	if len(f.has.letters) != len(b.states) {
		return fmt.Sprintf("%d seats of %d", len(f.has.letters), len(b.states))
	}
	for i, state := range b.states {
		is := f.has.letters[i]
		ended := over(b.ends[i])
		if fits := is == state || state == 'H' && is == 'h' || ended && (state == 'h' && is == 'a' || state == 'H' && is == 'x'); !fits {
			return fmt.Sprintf("with version %d seat %s is %q, and %q in the log", f.has.version, f.sh.label[i], is, state)
		}
	}
	if f.sh.floor == 0 {
		return ""
	}
	all, live := 0, 0
	for _, st := range b.units {
		all += st.n
		if !over(st.ends) {
			live += st.n
		}
	}
	least, most := max(0, f.has.capacity-b.booked-all), max(0, f.has.capacity-b.booked-live)
	if f.has.free < least || f.has.free > most {
		return fmt.Sprintf("with version %d %d of %d units are free, and by the log %d, or %d when holds are over", f.has.version, f.has.free, f.has.capacity, least, most)
	}
	return ""
}

// written reads the map that the database has.
func written(ctx context.Context, conn *pgx.Conn, sh *show) (*picture, error) {
	p := &picture{}
	err := conn.QueryRow(ctx, sqlMap, sh.id).Scan(&p.version, &p.status, &p.letters, &p.free, &p.capacity)
	return p, err
}

// arrived waits until every viewer has the last version, and returns the maps
// that the database has then.
func (r *round) arrived(ctx context.Context, viewers []*viewer) (maps []*picture, err error) {
	ctx, cancel := context.WithTimeout(ctx, arriveMax)
	defer cancel()
	for {
		if maps, err = r.writtenAll(ctx); err != nil {
			return nil, err
		}
		late := slices.IndexFunc(viewers, func(w *viewer) bool { return w.version() != maps[w.at].version })
		if late < 0 {
			return maps, nil
		}
		rest(ctx, 100*time.Millisecond)
		if ctx.Err() != nil {
			w := viewers[late]
			r.t.found("viewer %d of %s has version %d, and all has been at rest with version %d for %v", w.n, w.show.title, w.version(), maps[w.at].version, arriveMax)
			return maps, nil
		}
	}
}

func (r *round) writtenAll(ctx context.Context) (maps []*picture, err error) {
	conn, err := pgx.Connect(ctx, r.t.house.Database())
	if err != nil {
		return nil, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for _, sh := range r.shows {
		p, err := written(ctx, conn, sh)
		if err != nil {
			return nil, err
		}
		maps = append(maps, p)
	}
	return maps, nil
}

// watched holds what the viewers were told against the log, and the maps that
// they end with against those that the database has.
func (r *round) watched(all []books, viewers []*viewer, maps []*picture) error {
	may := circumstances{away: r.away, over: r.over}
	var everything []*news
	for _, w := range viewers {
		heard, wrong := w.heard(), false
		everything = append(everything, heard...)
		has, told := follow(w.show, all[w.at].log, heard, may, func(format string, args ...any) {
			wrong = true
			r.t.found(format, args...)
		})
		r.t.counts.followed.Add(told.versions)
		r.t.counts.resets.Add(int64(told.resets))
		r.t.counts.excused.Add(int64(told.excused))
		if maps == nil || wrong {
			continue
		}
		if has == nil || *has != *maps[w.at] {
			r.t.found("viewer %d of %s ends with %v, and the database has %v", w.n, w.show.title, has, maps[w.at])
			continue
		}
		r.t.counts.pictures.Add(1)
	}
	return saveLines(filepath.Join(r.t.cfg.dir, "streams.jsonl"), everything)
}

// awayBy are the faults that keep a process from the database.
var awayBy = []cluster.Kind{
	cluster.PostgresKilled, cluster.PostgresFell, cluster.Promoted, cluster.HungPromoted, cluster.Cut, cluster.CutBefore, cluster.CutAfter, cluster.Slowed, cluster.Silenced,
}

// away says whether a fault kept somebody from the database in some time, or
// had done so a moment before.
func (r *round) away(from, to int64) bool {
	return slices.ContainsFunc(r.faults(), func(e cluster.Event) bool {
		return slices.Contains(awayBy, e.Kind) && r.history.on(e.Began) <= to && r.history.on(e.Ended)+int64(2*time.Second/time.Microsecond) >= from
	})
}

// over says whether a hold may be over at a time: by its end, or because the
// database's clock is wrong, or shows keep the time of when it was.
func (r *round) over(end, at int64) bool {
	if r.history.on(time.Unix(0, end)) <= at+slack {
		return true
	}
	return slices.ContainsFunc(r.wrong(), func(w span) bool { return at > w.from && at < w.to+clockOffMax })
}
