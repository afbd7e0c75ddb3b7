package boxoffice

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// SeatRow is a seat of a show as the lane loaded it.
type SeatRow struct {
	No            int32
	State         byte      // 'a', 'h', 'b' or 'x'; see [SeatStatus.Letter]
	ReservationID uuid.UUID // zero: none
	HeldUntil     time.Time // zero: none
	BlockID       uuid.UUID // zero: none
	Holder        int32     // [HolderOf] the holding reservation's customer; 0 unless held
	Locked        bool      // this transaction has the row; a free row without its lock is taken

	dirty bool
	was   uuid.UUID // ReservationID before this batch, once dirty
}

// HolderOf is a hash of a customer's id, never 0, by which a seat knows its
// holder without his reservation being read. Whoever tells a customer that a
// hold is their own asks the reservation first: two customers may share a hash.
func HolderOf(customerID string) int32 {
	h := uint32(2166136261) // FNV-1a
	for i := 0; i < len(customerID); i++ {
		h = (h ^ uint32(customerID[i])) * 16777619
	}
	return int32(h | 1)
}

// StatusAt is what the seat is at now: an overdue hold is available, or
// blocked when it was sold from a block.
func (s *SeatRow) StatusAt(now time.Time) SeatStatus {
	switch s.State {
	case 'h':
		switch {
		case now.Before(s.HeldUntil):
			return SeatHeld
		case s.BlockID != uuid.Nil:
			return SeatBlocked
		}
		return SeatAvailable
	case 'b':
		return SeatBooked
	case 'x':
		return SeatBlocked
	}
	return SeatAvailable
}

// AreaRow is an area of a show as the lane loaded it.
type AreaRow struct {
	No       int32
	ID       uuid.UUID
	Name     string
	Category string
	Capacity int
	Held     int // overdue holds that are not closed yet included
	Booked   int
	Known    bool // the row exists in the database

	dirty bool
}

// State is all that decides what happens to a show's places, loaded under the
// show's lock at one instant. It is used up: [Decide] takes it once.
//
// Every seat of every reservation here is among Seats, locked when the
// reservation is active.
type State struct {
	Terms        *Terms // nil: there is no such show
	Now          time.Time
	Version      int64
	Seats        map[int32]*SeatRow         // wanted or had; all of the show for a move to another plan
	Areas        map[int32]*AreaRow         // all of the show
	Reservations map[uuid.UUID]*Reservation // named, or overdue and in the way; all overdue ones for a move to another plan
	Places       map[string]int             // places each customer has, live holds and bookings; needed when customers are limited, or a command here limits them
	Blocks       map[uuid.UUID]bool         // named blocks that exist
	Receipts     map[KeyID]Remembered
	EverHeld     bool                   // the show had a hold before
	Bookings     map[uuid.UUID]*Booking // named, and those of every reservation here that has one; whole, or of those that only [CheckIn]s name the head and their tickets
	// Waiting counts the entries of the show's waitlist that wait.
	Waiting int
	// Waitlist has the entries that are named, that belong to reservations here
	// or to customers who join; and, when Offering, the earliest of each sort
	// (party, categories) that wait, as many as could be served.
	Waitlist map[uuid.UUID]*WaitlistEntry
	// Offering: the waitlist goes first in this batch. All that is free of what
	// anybody waits for, or who joins would, is among Seats and Reservations.
	Offering   bool
	Admissions map[int64]*Admission // named by passes; their last holds are among Reservations
	Scans      map[uuid.UUID]*Scan  // named, and those that first admitted a ticket here that somebody checks in
}

// KeyID is an idempotency key with its owner.
type KeyID struct {
	Owner string
	Key   uuid.UUID
}

// Remembered is what was answered to an idempotency key.
type Remembered struct {
	Fingerprint [32]byte
	Receipt     *Receipt
}

// Actor is who gives a command.
type Actor struct {
	CustomerID string // "" for staff without a customer and for the system
	Staff      bool   // has the scope reservations:staff
	// OrganisationID is whose staff it is: shows of others do not exist for
	// them. Zero: nobody's, the system itself.
	OrganisationID uuid.UUID
	Name           string // for the log: customer id, key prefix or "system"
}

// foreign says whether the actor is staff of another organisation.
func (a *Actor) foreign(t *Terms) bool {
	return a.Staff && a.OrganisationID != uuid.Nil && a.OrganisationID != t.OrganisationID
}

// Doer is one kind of command. The kinds are in the files of their nouns.
type Doer interface {
	decide(b *batch) *Error
}

// Command is something that somebody wants done to a show.
type Command struct {
	Key   *IdempotencyKey // nil for the system's own commands
	Actor Actor
	Do    Doer
}

// Outcome is what became of a command: a refusal or a receipt.
type Outcome struct {
	Err      *Error
	Receipt  *Receipt
	Replayed bool // the receipt is that of an earlier request with the same key
}

// Receipt says what a command did. It is kept with the idempotency key, and
// the answer to a client is made from it, the first time and at each replay:
// so a replay is the same to the byte. It holds no personal data.
type Receipt struct {
	At            time.Time    `json:"at"`
	Version       int64        `json:"v"`
	ReservationID uuid.UUID    `json:"r,omitzero"`
	Reservation   *Reservation `json:"h,omitempty"` // as the command left it
	ID            uuid.UUID    `json:"id,omitzero"` // of the block, of the entry of the waitlist
	Count         int          `json:"n,omitempty"` // seats unblocked, holds closed; who waits, with the one who joined
	Why           string       `json:"w,omitempty"` // who joined has no place
	Free          int          `json:"f,omitempty"` // places that there were
	BookingID     uuid.UUID    `json:"b,omitzero"`
	PaymentID     uuid.UUID    `json:"p,omitzero"`   // of a cancellation: the one that is under way still
	Booking       string       `json:"bs,omitempty"` // the booking's status after the command
	TicketIDs     []uuid.UUID  `json:"t,omitempty"`  // that were named
	Scan          *Scan        `json:"sc,omitempty"`
	Payment       string       `json:"-"` // the payment's status after the command
	Late          Late         `json:"-"` // what became of money that came too late
}

// Changes is what a batch of commands did to one show: at most one change a
// row, and the log of every step. Lists of rows are sorted.
type Changes struct {
	Version      int64
	Dirty        bool   // anything was logged
	Terms        *Terms // new terms, or nil; their Definition rose once for each command that made some
	Amended      []*AmendShow
	Seats        []*SeatRow
	Handed       []int32        // those of Seats that went from one owner to another: the database wants them freed first
	AddedSeats   []int32        // new rows, available unless they are among Seats, too
	RemovedSeats []int32        // rows to delete, free now whatever the database still has in them
	Areas        []*AreaRow     // those not Known are new
	RemovedAreas []int32        // rows to delete, empty now whatever the database still has in them
	Placed       []*Reservation // new rows as the batch left them: they may be closed already
	Updated      []*Reservation
	Blocks       []NewBlock
	Log          []Change
	Kept         []KeptReceipt
	Bookings     []*Booking // by id, as the following ones; new rows or changed ones
	People       []People
	Payments     []*Payment
	Refunds      []*Refund
	Tickets      []*Ticket
	Scans        []*Scan          // new, and those that a later upload proved wrong
	Entries      []*WaitlistEntry // new rows or changed ones, those that are over first
	Waiters      []WaitlistBuyer
	Waiting      int           // entries that wait
	Look         *WaitlistLook // nil: nothing was free, or nobody waits
	Admissions   []*Admission
	Tasks        []Task
	Hurried      []uuid.UUID // payments whose gateway should be asked at once
	Ends         []time.Time // instants at which new or extended holds end, each once
}

// NewBlock is a block that a batch made.
type NewBlock struct {
	ID      uuid.UUID
	Reason  string
	SeatNos []int32
}

// KeptReceipt is a receipt to remember under its key.
type KeptReceipt struct {
	Key     *IdempotencyKey
	Receipt *Receipt
}

// batch is the working state of [Decide].
type batch struct {
	State
	did  Changes
	size int // commands in the batch
	cmd  *Command
	n    int // log rows of the command so far
	out  Receipt

	due   []*Reservation // what was overdue when first asked, the oldest first
	asked bool
	ends  map[int64]bool

	freed bool             // places may be free that the waitlist was not asked about
	queue []*WaitlistEntry // of those who wait

	added     map[int32]bool     // seats that moves to other plans
	gone      map[int32]*SeatRow // brought and took away
	goneAreas map[int32]bool

	scratch items   // space that plan and twice use again and again, because
	nos     []int32 // most commands of a hot show are refused and keep nothing
}

// Decide works the commands on one show in their order, each on what those
// before it left, and returns an outcome for each and the net changes. It
// changes st. It reads no clock: st.Now is the only now there is.
//
// A refused command changes nothing. A command whose key was answered before,
// in the database or earlier in this batch, is answered with the same receipt.
func Decide(st State, cmds []Command) ([]Outcome, *Changes) {
	b := &batch{State: st, did: Changes{Version: st.Version}, size: len(cmds)}
	if b.Reservations == nil {
		b.Reservations = map[uuid.UUID]*Reservation{}
	}
	if b.Places == nil {
		b.Places = map[string]int{}
	}
	if b.Blocks == nil {
		b.Blocks = map[uuid.UUID]bool{}
	}
	if b.Bookings == nil {
		b.Bookings = map[uuid.UUID]*Booking{}
	}
	if b.Scans == nil {
		b.Scans = map[uuid.UUID]*Scan{}
	}
	if b.Receipts == nil {
		b.Receipts = map[KeyID]Remembered{}
	}
	b.freed = b.Offering
	outcomes := make([]Outcome, len(cmds))
	for i := range cmds {
		outcomes[i] = b.run(&cmds[i])
	}
	if b.freed && b.Offering {
		b.serve()
	}
	b.collect()
	return outcomes, &b.did
}

func (b *batch) run(cmd *Command) Outcome {
	if cmd.Key != nil {
		if r, ok := b.Receipts[keyID(cmd.Key)]; ok {
			if !bytes.Equal(r.Fingerprint[:], cmd.Key.Fingerprint[:]) {
				return Outcome{Err: Refuse(CodeKeyReused, "This Idempotency-Key was used for another request; make a new one.")}
			}
			return Outcome{Receipt: r.Receipt, Replayed: true}
		}
	}
	if b.Terms == nil || cmd.Actor.foreign(b.Terms) {
		return Outcome{Err: Refuse(CodeNotFound, "There is no such show.")}
	}
	if b.freed && b.Offering && takes(cmd.Do) {
		b.serve()
	}
	b.cmd, b.n, b.out = cmd, 0, Receipt{At: b.Now}
	if err := cmd.Do.decide(b); err != nil {
		return Outcome{Err: err}
	}
	if b.n > 0 {
		b.did.Version++
		b.did.Dirty = true
	}
	b.out.Version = b.did.Version
	receipt := new(b.out)
	if cmd.Key != nil {
		b.Receipts[keyID(cmd.Key)] = Remembered{cmd.Key.Fingerprint, receipt}
		b.did.Kept = append(b.did.Kept, KeptReceipt{cmd.Key, receipt})
	}
	return Outcome{Receipt: receipt}
}

// systemActor is who closes a hold that is over: nobody did, time has passed.
const systemActor = "system"

// log adds a row to the show's log. The first row of a command opens the next
// version.
func (b *batch) log(c Change) {
	c.Version, c.N, c.At = b.did.Version+1, b.n, b.Now
	if c.Actor == "" {
		c.Actor = b.cmd.Actor.Name
	}
	if c.Reason == "" {
		c.Reason = ReasonStaff
	}
	b.n++
	if b.did.Log == nil {
		b.did.Log = make([]Change, 0, b.size)
	}
	b.did.Log = append(b.did.Log, c)
}

// reason is why a reservation changes: its customer wants it, or staff does.
func (b *batch) reason() Reason {
	if b.cmd.Actor.Staff {
		return ReasonStaff
	}
	return ReasonBuyer
}

// redefine gives the show new terms.
func (b *batch) redefine(next *Terms) {
	next.Definition++
	b.freed = true // sales may have begun again, limits risen, a plan have brought places
	b.Terms = next
	b.did.Terms = next
}

// endsAt notes that holds end at t, so that one job can be scheduled for it.
func (b *batch) endsAt(t time.Time) {
	if n := len(b.did.Ends); n > 0 && b.did.Ends[n-1].Equal(t) {
		return // holds of one batch mostly have the show's length, and end together
	}
	if b.ends == nil {
		b.ends = map[int64]bool{}
	}
	if at := t.UnixMicro(); !b.ends[at] {
		b.ends[at] = true
		b.did.Ends = append(b.did.Ends, t)
	}
}

// overdue lists the holds that are over and not closed yet, the oldest first.
// Time stands still in a batch, so there are never more than at first.
func (b *batch) overdue() []*Reservation {
	if !b.asked {
		b.asked = true
		for _, r := range b.Reservations {
			if r.Overdue(b.Now) {
				b.due = append(b.due, r)
			}
		}
		slices.SortFunc(b.due, compareReservations)
	}
	b.due = slices.DeleteFunc(b.due, func(r *Reservation) bool { return r.Status != ReservationActive })
	return b.due
}

// changeSeat notes that a seat's row is about to change.
func (b *batch) changeSeat(row *SeatRow) {
	if !row.dirty {
		row.dirty, row.was = true, row.ReservationID
		b.did.Seats = append(b.did.Seats, row)
	}
}

// changeArea notes that an area's row is about to change.
func (b *batch) changeArea(a *AreaRow) {
	if !a.dirty {
		a.dirty = true
		b.did.Areas = append(b.did.Areas, a)
	}
}

// changeReservation notes that a hold is about to change.
func (b *batch) changeReservation(r *Reservation) {
	if !r.dirty {
		r.dirty = true
		b.did.Updated = append(b.did.Updated, r)
	}
}

// collect puts the rows that changed in order, so that every batch writes them
// in the same one.
func (b *batch) collect() {
	b.did.Waiting = b.Waiting
	// One customer has one entry that is not over: the old one ends first.
	slices.SortStableFunc(b.did.Entries, func(x, y *WaitlistEntry) int {
		return cmp.Or(y.ClosedAt.Compare(x.ClosedAt), cmp.Compare(x.No, y.No))
	})
	slices.SortFunc(b.did.Seats, func(x, y *SeatRow) int { return cmp.Compare(x.No, y.No) })
	for _, s := range b.did.Seats {
		if s.was != uuid.Nil && s.ReservationID != uuid.Nil && s.was != s.ReservationID {
			b.did.Handed = append(b.did.Handed, s.No)
		}
	}
	b.did.AddedSeats, b.did.RemovedSeats = slices.Sorted(maps.Keys(b.added)), slices.Sorted(maps.Keys(b.gone))
	b.did.RemovedAreas = slices.Sorted(maps.Keys(b.goneAreas))
	slices.SortFunc(b.did.Areas, func(x, y *AreaRow) int { return cmp.Compare(x.No, y.No) })
	slices.SortFunc(b.did.Updated, compareReservations)
	slices.SortFunc(b.did.Bookings, func(x, y *Booking) int { return bytes.Compare(x.ID[:], y.ID[:]) })
	// What has an outcome comes first: a booking has one open attempt at any moment.
	slices.SortFunc(b.did.Payments, func(x, y *Payment) int {
		return cmp.Or(y.SettledAt.Compare(x.SettledAt), bytes.Compare(x.ID[:], y.ID[:]))
	})
	slices.SortFunc(b.did.Refunds, func(x, y *Refund) int { return bytes.Compare(x.ID[:], y.ID[:]) })
	slices.SortFunc(b.did.Tickets, func(x, y *Ticket) int {
		return cmp.Or(bytes.Compare(x.BookingID[:], y.BookingID[:]), cmp.Compare(x.N, y.N))
	})
}

// Writes says whether there is anything to write.
func (c *Changes) Writes() bool {
	return c.Dirty || len(c.Kept)+len(c.Bookings)+len(c.People)+len(c.Payments)+len(c.Refunds)+len(c.Tickets)+len(c.Scans)+len(c.Tasks) > 0
}

func compareReservations(x, y *Reservation) int {
	if c := x.ExpiresAt.Compare(y.ExpiresAt); c != 0 {
		return c
	}
	return bytes.Compare(x.ID[:], y.ID[:])
}

func comparePriceKeys(x, y PriceKey) int {
	return cmp.Or(cmp.Compare(x.Category, y.Category), cmp.Compare(x.TicketType, y.TicketType))
}

func keyID(k *IdempotencyKey) KeyID { return KeyID{k.Owner, k.Key} }

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
