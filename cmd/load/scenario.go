package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// viewInterval is how often those who watch ask for the map.
const viewInterval = 2 * time.Second

// curve is how buyers come.
type curve string

const (
	rush   curve = "rush"   // at the start most of all, then fewer and fewer
	steady curve = "steady" // as likely at any time as at any other
)

// Set takes a flag's value.
func (c *curve) Set(text string) error {
	switch curve(text) {
	case rush, steady:
		*c = curve(text)
		return nil
	}
	return fmt.Errorf("%q is neither rush nor steady", text)
}

func (c *curve) String() string { return string(*c) }

// Type is what --help calls it.
func (c *curve) Type() string { return "curve" }

// share is a part of something, from 0 to 1, written as 10% or 0.1.
type share float64

// Set takes a flag's value.
func (s *share) Set(text string) error {
	number, percent := strings.CutSuffix(text, "%")
	f, err := strconv.ParseFloat(number, 64)
	if percent {
		f /= 100
	}
	if err != nil || !(f >= 0 && f <= 1) {
		return fmt.Errorf("%q is not a share like 10%%", text)
	}
	*s = share(f)
	return nil
}

func (s *share) String() string {
	return strconv.FormatFloat(math.Round(float64(*s)*1e6)/1e4, 'g', -1, 64) + "%"
}

// Type is what --help calls it.
func (s *share) Type() string { return "share" }

// card is a token of the sandbox gateway and how common it is.
type card struct {
	Token  string `json:"token"`
	Weight int    `json:"weight"`
}

// cards are what buyers pay with. None: they do not pay.
type cards []card

// Set takes a flag's value.
func (c *cards) Set(text string) error {
	*c = nil
	if text == "none" {
		return nil
	}
	for part := range strings.SplitSeq(text, ",") {
		token, number, weighted := strings.Cut(part, "=")
		weight := 1
		if weighted {
			var err error
			if weight, err = strconv.Atoi(number); err != nil || weight < 0 || weight > 1_000_000 {
				return fmt.Errorf("%q has no weight like =5", part)
			}
		}
		if !strings.HasPrefix(token, "sbx_") {
			return fmt.Errorf("%q is no token of the sandbox gateway", token)
		}
		*c = append(*c, card{token, weight})
	}
	return nil
}

func (c *cards) String() string {
	if len(*c) == 0 {
		return "none"
	}
	parts := make([]string, len(*c))
	for i, k := range *c {
		parts[i] = fmt.Sprintf("%s=%d", k.Token, k.Weight)
	}
	return strings.Join(parts, ",")
}

// Type is what --help calls it.
func (c *cards) Type() string { return "cards" }

// draw takes one by its weight.
func (c cards) draw(rng *rand.Rand) string {
	sum := 0
	for _, k := range c {
		sum += k.Weight
	}
	if sum == 0 {
		return c[0].Token
	}
	pick := rng.IntN(sum)
	for _, k := range c {
		if pick -= k.Weight; pick < 0 {
			return k.Token
		}
	}
	return c[0].Token
}

// arrivals are when n buyers come, as times since the start, in order. Each
// comes by themselves: like calls at a switchboard, not like a clock.
func arrivals(n int, over time.Duration, c curve, rng *rand.Rand) []time.Duration {
	// In a rush the rate falls by e within a fifth of the time: at first it is
	// five times the average, and after half of the time four tenths of it.
	const falls = 5
	times := make([]time.Duration, n)
	for i := range times {
		at := rng.Float64()
		if c == rush {
			at = -math.Log(1-at*(1-math.Exp(-falls))) / falls
		}
		times[i] = time.Duration(at * float64(over))
	}
	slices.Sort(times)
	return times
}

// scenario is a sale to come.
type scenario struct {
	*options
	target  *target
	hall    *hall
	meter   *meter
	callers func(n int) caller // nil: buyers become guests
	sold    sightings
	seen    *check // what those saw who watched by the stream; nil: nobody did
}

// record is what a buyer was told.
type record struct {
	caller
	outcome       string
	mayHold       []string // seats of a hold that may have been made, or not
	maybeUnits    bool     // the same, of an area
	reservationID string
	bookingID     string
	seats         []string // ids of those that are held or booked
	areaID        string
	units         int
	total         int64
	heldAt        time.Time // when the hold was known
	heldUntil     time.Time // until when it certainly was
	overAt        time.Time // of those who leave: from when it certainly is over
	paidAt        time.Time // when the booking was known; zero: never
	wrong         error     // an answer that breaks a rule by itself
	queued        string    // the entry of the waiting room; empty: none
	position      int64     // there, as it was told last
	rose          string    // how it rose, which it must not
}

// run lets everybody come, and returns when they have left. When selling is
// over nobody else comes, and who is only thinking leaves.
func (s *scenario) run(selling context.Context) []record {
	rng := rand.New(rand.NewPCG(s.Seed, 0))
	due := arrivals(s.Buyers, s.Over, s.Curve, rng)
	records := make([]record, s.Buyers)
	watching, stopWatching := context.WithCancel(selling)
	defer stopWatching()
	var buyers, viewers sync.WaitGroup
	began := time.Now()
	s.meter.begin(began)
	var streams []*streamViewer
	position := make(map[string]int, len(s.hall.seats))
	for n, seat := range s.hall.seats {
		position[strings.ToLower(seat.SeatID)] = n
	}
	for n := range s.Viewers {
		if s.Watch == told {
			v := &streamViewer{scenario: s, position: position}
			streams = append(streams, v)
			viewers.Go(func() { v.watch(watching) })
			continue
		}
		viewers.Go(func() { s.view(watching, began.Add(time.Duration(n)*viewInterval/time.Duration(s.Viewers))) })
	}
	came := 0
	for n := range records {
		at := began.Add(due[n])
		if !until(selling, at) {
			break
		}
		came++
		buyers.Go(func() {
			s.meter.came(time.Since(at))
			b := &buyer{
				scenario: s, record: &records[n], number: n, due: at, patience: s.Patience,
				rng: rand.New(rand.NewPCG(s.Seed, uint64(n)+1)),
			}
			var surprise error
			b.outcome, surprise = b.come(selling)
			s.meter.ended(b.outcome, surprise)
		})
	}
	buyers.Wait()
	s.meter.end()
	if len(streams) > 0 && selling.Err() == nil {
		s.seen = s.agree(selling, streams)
	}
	stopWatching()
	viewers.Wait()
	return records[:came]
}

// until waits for an instant; false: ctx was over first.
func until(ctx context.Context, at time.Time) bool {
	if ctx.Err() != nil {
		return false
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(time.Until(at)):
		return true
	}
}

// view polls the map as a page does that is only looked at.
func (s *scenario) view(ctx context.Context, due time.Time) {
	etag := ""
	for ; until(ctx, due); due = due.Add(viewInterval) {
		attempt, cancel := context.WithTimeout(ctx, s.Patience)
		a, err := s.target.ask(attempt, caller{}, request{step: stepView, method: http.MethodGet, path: s.mapPath(), etag: etag})
		cancel()
		if ctx.Err() != nil {
			return
		}
		s.meter.took(stepView, time.Since(due))
		if err == nil && a.status == http.StatusOK {
			etag = a.etag
		}
	}
}

func (s *scenario) mapPath() string { return "/shows/" + s.hall.show.ShowID + "/availability" }

// buyer is somebody who comes to buy.
type buyer struct {
	*scenario
	*record
	number   int
	due      time.Time
	rng      *rand.Rand
	patience time.Duration // that is left
	waited   time.Duration // for the service, since coming
	turn     string        // of the waiting room; empty: none is needed, as far as the buyer knows
}

// errRefused ends a buyer's visit with an outcome that is nobody's fault.
type errRefused struct{ outcome string }

func (e errRefused) Error() string { return e.outcome }

// come is the whole visit. The error is what should not have been answered.
func (b *buyer) come(selling context.Context) (outcome string, surprise error) {
	err := b.visit(selling)
	var refused errRefused
	var silent *noAnswer
	switch {
	case err == nil:
		return paid, nil
	case errors.As(err, &refused):
		return refused.outcome, nil
	case errors.As(err, &silent):
		return impatient, nil
	default:
		return failed, err
	}
}

func (b *buyer) visit(selling context.Context) error {
	if err := b.signIn(); err != nil {
		return err
	}
	if b.hall.show.Queue.Open && b.customer == "" { // a back end needs no turn
		if err := b.queueUp(selling); err != nil {
			return err
		}
	}
	mood := share(b.rng.Float64())
	leaves, returns := mood < b.Abandon, mood < b.Abandon+b.Release || len(b.Cards) == 0
	if err := b.find(selling, leaves); err != nil {
		return err
	}
	due, stays := b.think(selling)
	switch {
	case leaves && stays:
		return errRefused{abandoned}
	case !stays:
		if err := b.giveBack(time.Now()); err != nil {
			return err
		}
		return errRefused{interrupted}
	case returns:
		if err := b.giveBack(due); err != nil {
			return err
		}
		return errRefused{released}
	}
	if err := b.pay(due); err != nil {
		return err
	}
	b.meter.took(stepWhole, b.waited)
	return nil
}

// ask asks as the buyer, as long as patience lasts.
func (b *buyer) ask(r request) (answer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), max(0, b.patience))
	defer cancel()
	began := time.Now()
	a, err := b.target.ask(ctx, b.caller, r)
	b.patience -= time.Since(began)
	return a, err
}

// took times a step that was due at an instant, and has come to an end.
func (b *buyer) took(step string, due time.Time) {
	d := time.Since(due)
	b.waited += d
	b.meter.took(step, d)
}

// think takes a while, most often less than the average, sometimes four times
// as long, and returns when the next click is due. False: the sale was ended.
func (b *buyer) think(selling context.Context) (due time.Time, stays bool) {
	due = time.Now().Add(time.Duration(min(4, b.rng.ExpFloat64()) * float64(b.Think)))
	return due, until(selling, due)
}

// signIn gives the buyer a name, where they have none.
func (b *buyer) signIn() error {
	if b.callers != nil {
		b.caller = b.callers(b.number)
		return nil
	}
	a, err := b.ask(request{step: stepSession, method: http.MethodPost, path: "/sessions"})
	b.took(stepSession, b.due)
	b.due = time.Now()
	if err != nil {
		return err
	}
	var session struct{ Token string }
	if a.status != http.StatusCreated {
		return &unexpected{"POST /sessions", a}
	}
	if err := a.decode(&session); err != nil {
		return err
	}
	b.caller = caller{header: "Authorization", value: "Bearer " + session.Token}
	return nil
}

// find looks and tries to hold, until it holds something or gives up.
func (b *buyer) find(selling context.Context, leaves bool) error {
	wanted := 1 + b.rng.IntN(min(b.Places, b.hall.show.MaxPlacesPerReservation))
	due := b.due
	for range b.Tries {
		a, err := b.ask(request{step: stepLook, method: http.MethodGet, path: b.mapPath()})
		b.took(stepLook, due)
		if err != nil {
			return err
		}
		if a.status != http.StatusOK {
			return &unexpected{"GET " + b.mapPath(), a}
		}
		var v availability
		if err := a.decode(&v); err != nil {
			return err
		}
		if len(v.Statuses) != len(b.hall.seats) {
			return fmt.Errorf("a map with %d seats instead of %d", len(v.Statuses), len(b.hall.seats))
		}
		body := map[string]any{"showId": b.hall.show.ShowID}
		var ids []string
		var areaID string
		units := 0
		if block := b.hall.choose(v.Statuses, wanted, b.Spread, b.rng); block != nil {
			seats := make([]any, len(block))
			for i, n := range block {
				ids = append(ids, b.hall.seats[n].SeatID)
				seats[i] = map[string]string{"seatId": ids[i]}
			}
			body["seats"] = seats
		} else if areaID, units = v.chooseUnits(wanted); units > 0 {
			body["areas"] = []any{map[string]any{"areaId": areaID, "quantity": units}}
		} else {
			return errRefused{soldOut}
		}
		if leaves {
			body["ttlSeconds"] = b.ttl()
		}
		if b.customer != "" {
			body["customerId"] = b.customer
		}
		var stays bool
		if due, stays = b.think(selling); !stays {
			return errRefused{interrupted}
		}
		held, err := b.hold(selling, due, body, ids, areaID, units)
		if held && leaves {
			b.overAt = b.heldAt.Add(time.Duration(b.ttl()) * time.Second)
		}
		if held || err != nil {
			return err
		}
		if due, stays = b.think(selling); !stays {
			return errRefused{interrupted}
		}
	}
	return errRefused{outrun}
}

// ttl is the length of the hold of somebody who will leave, in seconds.
func (b *buyer) ttl() int { return min(int(b.Hold.Seconds()), b.hall.show.HoldSeconds) }

// hold tries to hold what was chosen; false: somebody was faster, or the buyer
// had to wait for their turn first.
func (b *buyer) hold(selling context.Context, due time.Time, body map[string]any, ids []string, areaID string, units int) (bool, error) {
	a, err := b.ask(request{step: stepHold, method: http.MethodPost, path: "/reservations", body: body, turn: b.turn})
	b.took(stepHold, due)
	var silent *noAnswer
	if errors.As(err, &silent) && silent.unsure {
		b.mayHold, b.maybeUnits = ids, units > 0
	}
	switch {
	case err != nil:
		return false, err
	case a.status == http.StatusCreated:
	case a.code == "SEAT_ALREADY_RESERVED", a.code == "INSUFFICIENT_INVENTORY":
		b.meter.holds(false)
		return false, nil
	case a.code == "QUEUE_TOKEN_REQUIRED", a.code == "QUEUE_TOKEN_EXPIRED", a.code == "QUEUE_TOKEN_INVALID":
		return false, b.queueUp(selling)
	case a.code == "SHOW_NOT_ON_SALE", a.code == "CUSTOMER_LIMIT_REACHED":
		return false, errRefused{closed}
	default:
		return false, &unexpected{"POST /reservations", a}
	}
	var r reservation
	if err := a.decode(&r); err != nil {
		return false, err
	}
	b.sold.answered(r.ShowVersion)
	b.meter.holds(true)
	b.reservationID, b.total = r.ReservationID, r.TotalAmount
	for _, s := range r.Seats {
		b.seats = append(b.seats, s.SeatID)
	}
	for _, a := range r.Areas {
		b.areaID = a.AreaID
		b.units += a.Quantity
	}
	// Whole seconds from some time after it was sent: it lasts at least so long.
	b.heldAt, b.heldUntil = time.Now(), a.sent.Add(time.Duration(r.ExpiresInSeconds)*time.Second)
	if b.units != units || b.areaID != areaID || !slices.Equal(slices.Sorted(slices.Values(b.seats)), slices.Sorted(slices.Values(ids))) {
		b.wrong = fmt.Errorf("reservation %s holds other places than were asked for", b.reservationID)
	}
	return true, nil
}

// giveBack releases the hold.
func (b *buyer) giveBack(due time.Time) error {
	b.heldUntil = minTime(b.heldUntil, time.Now())
	a, err := b.ask(request{step: stepRelease, method: http.MethodDelete, path: "/reservations/" + b.reservationID})
	b.took(stepRelease, due)
	if err != nil {
		return err
	}
	if a.status != http.StatusNoContent {
		return &unexpected{"DELETE /reservations/" + b.reservationID, a}
	}
	return nil
}

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// pay pays, with another card if the first is declined, waits for what takes
// longer, and fetches the tickets.
func (b *buyer) pay(due time.Time) error {
	err := b.payUntilConfirmed()
	b.took(stepPay, due)
	if err != nil {
		return err
	}
	b.paidAt = time.Now()
	due = time.Now()
	a, err := b.ask(request{step: stepTickets, method: http.MethodGet, path: "/bookings/" + b.bookingID + "/tickets"})
	b.took(stepTickets, due)
	if err != nil {
		return err
	}
	var list struct{ Tickets []ticket }
	if a.status != http.StatusOK {
		return &unexpected{"GET /bookings/" + b.bookingID + "/tickets", a}
	}
	if err := a.decode(&list); err != nil {
		return err
	}
	if err := b.fits(list.Tickets); err != nil && b.wrong == nil {
		b.wrong = err
	}
	return nil
}

func (b *buyer) payUntilConfirmed() error {
	payment := func() map[string]string {
		return map[string]string{"method": "card", "token": b.Cards.draw(b.rng)}
	}
	body := map[string]any{
		"reservationId": b.reservationID,
		"buyer":         map[string]string{"name": "Drill " + strconv.Itoa(b.number), "email": fmt.Sprintf("drill-%d@example.org", b.number)},
	}
	if b.total > 0 {
		body["payment"] = payment()
	}
	r := request{step: stepPay, method: http.MethodPost, path: "/bookings", body: body}
	for {
		a, err := b.ask(r)
		if err != nil {
			return err
		}
		var k booking
		switch a.status {
		case http.StatusOK, http.StatusCreated, http.StatusAccepted:
			if err := a.decode(&k); err != nil {
				return err
			}
			b.bookingID = k.BookingID
			if k, err = b.wait(k); err != nil {
				return err
			}
		case http.StatusPaymentRequired:
			var declined struct{ BookingID string }
			if err := a.decode(&declined); err != nil {
				return err
			}
			b.bookingID, k.Status = declined.BookingID, "pending"
		case http.StatusGone:
			return errRefused{overdue}
		default:
			return &unexpected{r.method + " " + r.path, a}
		}
		switch k.Status {
		case "confirmed":
			return nil
		case "pending": // declined
		case "expired", "failed":
			return errRefused{overdue}
		default:
			return fmt.Errorf("booking %s is %s", k.BookingID, k.Status)
		}
		// The next card is a good one: few people are declined twice.
		r.path, r.body = "/bookings/"+b.bookingID+"/pay", map[string]any{"payment": map[string]string{"method": "card", "token": "sbx_ok"}}
	}
}

// wait waits until a payment that takes longer has an outcome.
func (b *buyer) wait(k booking) (booking, error) {
	for k.Status == "pending" && k.PaymentStatus == "pending" {
		path := "/bookings/" + b.bookingID
		a, err := b.ask(request{step: stepPay, method: http.MethodGet, path: path + "?wait=20"})
		if err != nil {
			return k, err
		}
		if a.status != http.StatusOK {
			return k, &unexpected{"GET " + path, a}
		}
		if err := a.decode(&k); err != nil {
			return k, err
		}
		if k.NextAction != nil && k.NextAction.Type == "redirect" {
			return k, fmt.Errorf("booking %s waits for somebody at the gateway's page, where drills do not go", b.bookingID)
		}
	}
	return k, nil
}
