package main

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"sync"
	"time"
)

// verb is what a client asks for.
type verb string

const (
	place    verb = "place"
	change   verb = "change"
	extend   verb = "extend"
	release  verb = "release"
	pay      verb = "pay"
	confirm  verb = "confirm" // by staff
	cancel   verb = "cancel"
	refund   verb = "refund" // money only
	retry    verb = "retry refund"
	checkIn  verb = "check in"
	name     verb = "name"   // a ticket's holder
	forget   verb = "forget" // a customer
	block    verb = "block"
	unblock  verb = "unblock"
	pause    verb = "pause"
	resume   verb = "resume"
	capacity verb = "capacity"
	amend    verb = "amend" // the terms of a show
	desk     verb = "desk"  // the gateway's own people give money back
	look     verb = "look"  // a read of any kind

	queueUp    verb = "queue up" // in a waiting room
	leaveQueue verb = "leave queue"
	closeQueue verb = "close queue"
	openQueue  verb = "open queue"
	drawQueue  verb = "draw queue"
	enlist     verb = "enlist" // on a waitlist
	delist     verb = "delist"

	cancelShow verb = "cancel show"
)

// Op is something that a client asked for, and what came of it. Times are in
// microseconds since the run began; those that the database named are on the
// same line, by the clock that all processes share.
type Op struct {
	Client int    `json:"client"`
	Do     verb   `json:"do"`
	What   string `json:"what,omitempty"` // of a look, a payment's token
	Round  int    `json:"round"`
	Show   int    `json:"show"`
	Call   int64  `json:"call"`
	Return int64  `json:"return"` // [never]: no answer

	Tries  int    `json:"tries"`
	Doubt  bool   `json:"doubt,omitempty"` // a try went unanswered
	Status int    `json:"status,omitempty"`
	Code   string `json:"code,omitempty"` // of a refusal
	Door   string `json:"door,omitempty"` // the instance that answered
	InVain []vain `json:"inVain,omitempty"`

	Customer    string `json:"customer,omitempty"` // "": staff
	Reservation string `json:"reservation,omitempty"`
	Booking     string `json:"booking,omitempty"`
	BookingIs   string `json:"bookingIs,omitempty"` // its status, as answered
	Block       string `json:"block,omitempty"`
	Ticket      string `json:"ticket,omitempty"`
	Refund      string `json:"refund,omitempty"`
	Scan        string `json:"scan,omitempty"`
	Result      string `json:"result,omitempty"`  // of a scan
	Entry       string `json:"entry,omitempty"`   // of a waiting room, or of a waitlist
	EntryIs     string `json:"entryIs,omitempty"` // its status, as answered
	Position    int64  `json:"position,omitempty"`
	Waiting     int64  `json:"waiting,omitempty"`  // how many wait
	Pass        string `json:"pass,omitempty"`     // whose turn was shown, where there is a waiting room
	Admitted    int64  `json:"admitted,omitempty"` // when that turn began, if it is known
	TurnEnds    int64  `json:"turnEnds,omitempty"` // and when it ends, as it was told last

	Seats     []int          `json:"seats,omitempty"`     // by place in the plan: wanted, or had
	Back      []int          `json:"back,omitempty"`      // given back
	Units     int            `json:"units,omitempty"`     // of the area, likewise
	BackUnits int            `json:"backUnits,omitempty"` //
	Tickets   []string       `json:"tickets,omitempty"`   // of a confirmed booking
	Void      []string       `json:"void,omitempty"`      // tickets that were given back, or should be
	VoidUnits []string       `json:"voidUnits,omitempty"` // those of them that are for the area
	Taken     map[int]string `json:"taken,omitempty"`     // seats that stood in the way, and why
	Left      *int           `json:"left,omitempty"`      // units that were left, as a refusal said
	TTL       int            `json:"ttl,omitempty"`       // seconds
	Capacity  int            `json:"capacity,omitempty"`
	Holder    *string        `json:"holder,omitempty"` // of a ticket: as it was set, or seen
	Terms     *terms         `json:"terms,omitempty"`  // of the show: as they were set, or seen
	Places    int            `json:"places,omitempty"` // of a reservation, that were asked for
	Ends      int64          `json:"ends,omitempty"`   // of the hold
	Confirmed int64          `json:"confirmed,omitempty"`
	Party     int            `json:"party,omitempty"` // that waits for places, and of which categories
	Wanted    []string       `json:"wanted,omitempty"`
	Version   int64          `json:"version,omitempty"`
	Map       *seen          `json:"map,omitempty"`
}

// terms are what an organiser changes about a show on sale. What is zero was not
// changed, or not told.
type terms struct {
	Seat   int64 `json:"seat,omitempty"`  // price
	Floor  int64 `json:"floor,omitempty"` // likewise
	Most   int   `json:"most,omitempty"`  // places in a reservation
	Starts int64 `json:"starts,omitempty"`
}

// vain is a try that brought no answer, or one that says to try again.
type vain struct {
	Door string `json:"door"`
	From int64  `json:"from"`
	To   int64  `json:"to"`
	Code string `json:"code,omitempty"` // "": there was none
}

// seen is a map of a show as somebody was shown it.
type seen struct {
	Version  int64  `json:"version"`
	AsOf     int64  `json:"asOf"` // nanoseconds since 1970, the database's
	Stale    bool   `json:"stale,omitempty"`
	Statuses string `json:"statuses"`
	Held     int    `json:"held"` // units of the area; -1: not told
	Booked   int    `json:"booked"`
	Capacity int    `json:"capacity"`
	Free     int    `json:"free"`
}

// never is when an operation returned whose answer nobody knows.
const never = int64(1) << 60

// ok says that the operation was done.
func (o *Op) ok() bool { return o.Return != never && o.Status >= 200 && o.Status < 300 }

// known says that the client was answered.
func (o *Op) known() bool { return o.Return != never }

// history is everything that the clients of a round wrote down.
type history struct {
	began time.Time // of the run
	round int

	mu  sync.Mutex
	ops []*Op
}

func (h *history) now() int64 { return time.Since(h.began).Microseconds() }

// on puts a time of the database's on our line. It has microseconds, as ours.
func (h *history) on(t time.Time) int64 { return t.Sub(h.began.Round(0)).Microseconds() }

func (h *history) add(o *Op) {
	h.mu.Lock()
	defer h.mu.Unlock()
	o.Round = h.round
	h.ops = append(h.ops, o)
}

// all are the operations in the order in which they were called.
func (h *history) all() []*Op {
	h.mu.Lock()
	defer h.mu.Unlock()
	ops := slices.Clone(h.ops)
	slices.SortStableFunc(ops, func(x, y *Op) int { return int(x.Call - y.Call) })
	return ops
}

// save appends the history to a file, a line each.
func (h *history) save(path string) error { return saveLines(path, h.all()) }

// saveLines appends things to a file, a line each.
func saveLines[T any](path string, list []T) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	w := bufio.NewWriter(f)
	lines := json.NewEncoder(w)
	for _, o := range list {
		if err := lines.Encode(o); err != nil {
			return err
		}
	}
	return w.Flush()
}
