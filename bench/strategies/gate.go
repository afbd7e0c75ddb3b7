package strategies

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

var (
	//go:embed lua/take.lua
	luaTake string
	//go:embed lua/free.lua
	luaFree string
	//go:embed lua/extend.lua
	luaExtend string
)

var (
	scriptTake   = redis.NewScript(luaTake)
	scriptFree   = redis.NewScript(luaFree)
	scriptExtend = redis.NewScript(luaExtend)
)

// gate is Redis in front of Postgres. Who has taken a hold's seats there comes
// through; nobody else troubles Postgres. Redis may forget and its clock may be
// off, so Postgres still takes only what is free: a seat is never sold twice
// because of it.
//
// A seat's value is the hold's id and the request's key. A request that is sent
// again meets its own seats, and is answered from its receipt. Only when it is
// sent again after its hold is over and others have the seats is it told so:
// to keep the answered keys in Redis, too, would be one more write for each.
type gate struct {
	road  *road
	redis *redis.Client
	take  take
	log   *slog.Logger
}

// take takes seats for a hold, all or none. It returns who has those that are
// taken, "" for the others, and nil when it got all.
type take func(ctx context.Context, c *redis.Client, keys []string, who string, ttl time.Duration) (taken []string, err error)

const (
	redisConnections = 64
	// redisWait is how long a command may wait for one of them.
	redisWait = 10 * time.Second
)

func openGate(ctx context.Context, cfg Config, take take, r *road) (*gate, error) {
	g := &gate{road: r, take: take, log: cfg.Log, redis: redis.NewClient(&redis.Options{
		Addr: cfg.Redis, PoolSize: redisConnections, MinIdleConns: redisConnections, PoolTimeout: redisWait, Protocol: 2,
	})}
	if err := g.redis.Ping(ctx).Err(); err != nil {
		_ = g.redis.Close()
		return nil, fmt.Errorf("redis: %w", err)
	}
	return g, nil
}

// Close ends the connections to both.
func (g *gate) Close() {
	_ = g.redis.Close() // nothing is lost with it
	g.road.Close()
}

// Do implements [store.Road].
func (g *gate) Do(ctx context.Context, show uuid.UUID, cmd boxoffice.Command) (boxoffice.Outcome, error) {
	if place, ok := cmd.Do.(*boxoffice.PlaceReservation); ok {
		return g.place(ctx, show, cmd, place)
	}
	out, did, err := g.road.do(ctx, waiting, show, cmd)
	g.follow(ctx, did)
	return out, err
}

func (g *gate) place(ctx context.Context, show uuid.UUID, cmd boxoffice.Command, do *boxoffice.PlaceReservation) (boxoffice.Outcome, error) {
	t, err := g.road.terms.of(ctx, show)
	if err != nil {
		return boxoffice.Outcome{}, err
	}
	nos := make([]int32, len(do.Seats))
	for i, s := range do.Seats {
		nos[i] = s.No
	}
	slices.Sort(nos)
	if len(nos) == 0 || len(nos) > t.MaxPlacesPerReservation || nos[0] < 0 || len(slices.Compact(slices.Clone(nos))) < len(nos) {
		out, _, err := g.road.do(ctx, waiting, show, cmd) // which says what is wrong
		return out, err
	}
	keys := make([]string, len(nos))
	for i, no := range nos {
		keys[i] = keyOf(show, no)
	}
	hold, request := do.ID.String(), ""
	if cmd.Key != nil {
		request = cmd.Key.Owner + "/" + cmd.Key.Key.String()
	}
	ttl := time.Duration(cmp.Or(do.TTLSeconds, t.HoldSeconds)) * time.Second
	taken, err := g.take(ctx, g.redis, keys, hold+" "+request, ttl)
	if err != nil {
		return boxoffice.Outcome{}, fmt.Errorf("redis: %w", err)
	}
	if taken != nil {
		if request != "" && slices.ContainsFunc(taken, func(who string) bool { return strings.HasSuffix(who, " "+request) }) {
			return g.road.repeat(ctx, t, cmd)
		}
		return boxoffice.Outcome{Err: refuse(nos, taken)}, nil
	}
	out, did, err := g.road.do(ctx, trusting, show, cmd)
	if pg := new(pgconn.PgError); errors.As(err, &pg) && pg.Code == notFree { // Redis has forgotten, or a hold is over and not closed
		out, did, err = g.road.do(ctx, waiting, show, cmd)
	}
	if err != nil || out.Err != nil || out.Replayed {
		g.tell(ctx, scriptFree, keys, hold)
	}
	g.follow(ctx, did)
	return out, err
}

// follow has Redis do what Postgres has committed. The other way round, who
// takes a seat there that is given back would be refused here. What was booked
// may leave Redis in time: Postgres does not give it away.
func (g *gate) follow(ctx context.Context, did *boxoffice.Changes) {
	if did == nil {
		return
	}
	for _, r := range did.Updated {
		keys := make([]string, len(r.Seats))
		for i, s := range r.Seats {
			keys[i] = keyOf(r.ShowID, s.No)
		}
		switch r.Status {
		case boxoffice.ReservationActive:
			g.tell(ctx, scriptExtend, keys, r.ID.String(), r.ExpiresAt.UnixMilli())
		case boxoffice.ReservationReleased, boxoffice.ReservationExpired:
			g.tell(ctx, scriptFree, keys, r.ID.String())
		}
	}
}

// tell tells Redis. Should it fail, seats stay taken there until their time is
// up.
func (g *gate) tell(ctx context.Context, s *redis.Script, keys []string, args ...any) {
	if err := s.Run(context.WithoutCancel(ctx), g.redis, keys, args...).Err(); err != nil {
		g.log.Warn("redis", "error", err)
	}
}

// refuse is what the lanes say of seats that are taken.
func refuse(nos []int32, taken []string) *boxoffice.Error {
	e := &boxoffice.Error{Code: boxoffice.CodeSeatAlreadyReserved}
	for i, who := range taken {
		if who != "" {
			e.SeatNos, e.SeatNows = append(e.SeatNos, nos[i]), append(e.SeatNows, boxoffice.SeatHeld)
		}
	}
	e.Detail = strconv.Itoa(len(e.SeatNos)) + " of the wanted seats cannot be had."
	return e
}

// takeOneByOne sends a SET NX for each seat, in one round trip, and gives back
// what it got when it did not get all; two who have each what the other wants
// are both refused. It needs Redis 7, where NX and GET go together.
func takeOneByOne(ctx context.Context, c *redis.Client, keys []string, who string, ttl time.Duration) (taken []string, err error) {
	sets := make([]*redis.StatusCmd, len(keys))
	_, err = c.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, key := range keys {
			sets[i] = p.SetArgs(ctx, key, who, redis.SetArgs{Mode: "NX", Get: true, TTL: ttl})
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, err
	}
	var got []string
	taken = make([]string, len(keys))
	for i, set := range sets {
		switch holder, err := set.Result(); {
		case errors.Is(err, redis.Nil):
			got = append(got, keys[i])
		case err != nil:
			return nil, err
		default:
			taken[i] = holder
		}
	}
	switch len(got) {
	case len(keys):
		return nil, nil
	case 0:
		return taken, nil
	}
	// They are a moment old, and nobody else's yet.
	return taken, c.Del(context.WithoutCancel(ctx), got...).Err()
}

// takeAtOnce has Redis take all seats or none, in one script.
func takeAtOnce(ctx context.Context, c *redis.Client, keys []string, who string, ttl time.Duration) (taken []string, err error) {
	taken, err = scriptTake.Run(ctx, c, keys, who, int(ttl.Seconds())).StringSlice()
	if len(taken) == 0 {
		return nil, err
	}
	return taken, err
}

// keyOf names a seat. What stands in braces keeps a show on one node of a cluster.
func keyOf(show uuid.UUID, no int32) string {
	return "seat:{" + show.String() + "}:" + strconv.Itoa(int(no))
}
