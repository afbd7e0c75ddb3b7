package boxoffice

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

// The tests of the rules are scripts: one line an event, in the order in which
// things happen to one show; see [newDatabase] for the show. Each line is a
// batch of its own, unless it begins with "&": then it is in the batch of the
// line before. After each batch the database must add up.
//
//	anna place r1 A1 A2:child GA*2 ttl=60 => r1: A1 A2:child GA*2 until 1m for 230
//	bert place r2 A2               => SEAT_ALREADY_RESERVED A2=held
//	  log 2.0 …                    the rows that the batch logged; or log nothing
//	at 1m                          it is 12:01
//	map hhaaaaaaaa GA 2+0/10 …     the map a reader sees; areas as held+booked/capacity
//	booked r9 anna A5 GA*3         r9 was bought by anna
//	foreign A4                     somebody outside the lanes has locked the row of A4
//
// Whoever is called staff… has the scope reservations:staff. A word key=k
// gives a command an idempotency key.
type script struct {
	*database
	now   time.Time
	batch []Command
	lines []string // the source of each command of the batch
	wants []string
	logs  []string // expected log rows; none: not looked at
}

// scripts runs each named script as a test.
func scripts(t *testing.T, all map[string]string) {
	t.Helper()
	for name, text := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, text)
		})
	}
}

func play(t tester, text string) *database {
	t.Helper()
	s := &script{database: newDatabase(t), now: noon}
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line != "" {
			s.line(line)
		}
	}
	s.flush()
	return s.database
}

func (s *script) line(line string) {
	s.t.Helper()
	if line == "log nothing" {
		s.logs = []string{}
		return
	}
	if row, ok := strings.CutPrefix(line, "log "); ok {
		s.logs = append(s.logs, strings.Join(words(row), " "))
		return
	}
	more, together := strings.CutPrefix(line, "& ")
	if !together {
		s.flush()
	}
	verb, rest := split(strings.TrimSpace(more), " ")
	switch verb {
	case "at":
		s.now = noon.Add(duration(rest))
	case "map":
		if got, want := s.seatMap(s.now), strings.Join(words(rest), " "); got != want {
			s.t.Errorf("map is %s\n     want %s", got, want)
		}
	case "booked":
		w := words(rest)
		seats, areas, _ := wants(w[2:])
		s.book(w[0], w[1], seats, areas)
	case "foreign":
		for _, seat := range words(rest) {
			s.foreign[noOf(seatNames, seat)] = true
		}
	default:
		text, want := split(more, "=>")
		s.batch = append(s.batch, command(verb, words(text)[1:]))
		s.lines = append(s.lines, strings.TrimSpace(text))
		s.wants = append(s.wants, strings.Join(words(want), " "))
	}
}

// flush runs the batch that the lines so far made.
func (s *script) flush() {
	s.t.Helper()
	if len(s.batch) == 0 {
		return
	}
	outcomes, did := s.decide(s.now, s.batch...)
	for i, o := range outcomes {
		if got := outcomeText(o); got != s.wants[i] {
			s.t.Errorf("%s\n  got  %s\n  want %s", s.lines[i], got, s.wants[i])
		}
	}
	if s.logs != nil {
		var got []string
		for _, c := range did.Log {
			got = append(got, changeText(c))
		}
		if !slices.Equal(got, s.logs) {
			s.t.Errorf("%s\n logged\n  %s\n want\n  %s", s.lines[0], strings.Join(got, "\n  "), strings.Join(s.logs, "\n  "))
		}
	}
	s.batch, s.lines, s.wants, s.logs = nil, nil, nil, nil
}

// command reads a command: who, what, on which places, with which options.
func command(actor string, w []string) Command {
	cmd := Command{Actor: Actor{CustomerID: actor, Name: actor}}
	if strings.HasPrefix(actor, "staff") {
		cmd.Actor = Actor{Staff: true, Name: actor}
	}
	verb, w := w[0], w[1:]
	opts := map[string]string{}
	asked := verb // all but the key, and the id that the server makes anew each time
	w = slices.DeleteFunc(w, func(s string) bool {
		name, value, ok := strings.Cut(s, "=")
		if ok {
			opts[name] = value
		}
		if name != "key" && ((verb != "place" && verb != "block") || s != w[0]) {
			asked += " " + s
		}
		return ok
	})
	if key := opts["key"]; key != "" {
		cmd.Key = &IdempotencyKey{Owner: actor, Key: id(key), Fingerprint: sha256.Sum256([]byte(asked))}
		delete(opts, "key")
	}
	switch verb {
	case "place":
		do := &PlaceReservation{ID: id(w[0]), CustomerID: opts["for"], FromBlockID: id(opts["from"])}
		if do.CustomerID == "" {
			do.CustomerID = actor
		}
		do.Seats, do.Areas, _ = wants(w[1:])
		if opts["ttl"] != "" {
			do.TTLSeconds = atoi(opts["ttl"])
		}
		cmd.Do = do
	case "change":
		do := &ChangeReservation{ID: id(w[0])}
		var add, remove []string
		for _, place := range w[1:] {
			if gone, ok := strings.CutPrefix(place, "-"); ok {
				remove = append(remove, gone)
			} else {
				add = append(add, strings.TrimPrefix(place, "+"))
			}
		}
		do.AddSeats, do.AddAreas, _ = wants(add)
		do.RemoveSeats, do.RemoveAreas, _ = wants(remove)
		cmd.Do = do
	case "extend":
		cmd.Do = &ExtendReservation{id(w[0])}
	case "release":
		cmd.Do = &ReleaseReservation{id(w[0])}
	case "expire":
		cmd.Do = &ExpireReservations{Limit: atoi(w[0]), Reason: ReasonSwept}
	case "block":
		do := &BlockSeats{ID: id(w[0]), Reason: "camera"}
		do.Seats, _, _ = wants(w[1:])
		cmd.Do = do
	case "unblock":
		do := &UnblockSeats{}
		seats, _, others := wants(w)
		do.Seats = seats
		if len(others) > 0 {
			do.BlockID = id(others[0])
		}
		cmd.Do = do
	case "capacity":
		cmd.Do = &SetAreaCapacity{noOf(areaNames, w[0]), atoi(w[1])}
	case "amend":
		cmd.Do = amendment(opts)
	case "publish", "pause", "resume", "cancel":
		cmd.Do = &SetShowStatus{Verb: ShowVerb(verb)}
	default:
		panic("no such verb: " + verb)
	}
	return cmd
}

func amendment(opts map[string]string) *AmendShow {
	do := &AmendShow{}
	instant := func(value string) *time.Time {
		if value == "none" {
			return nil
		}
		at := noon.Add(duration(value))
		return &at
	}
	number := func(value string) *int { n := atoi(value); return &n }
	for name, value := range opts {
		switch name {
		case "plan":
			do.Plan, do.PlanAreas = plans[value].PlanIndex, plans[value].areas
		case "starts":
			do.StartsAt = instant(value)
		case "ends":
			do.EndsAt = ptr(instant(value))
		case "sales":
			do.SalesStartAt = ptr(instant(value))
		case "salesEnd":
			do.SalesEndAt = ptr(instant(value))
		case "currency":
			do.Currency = &value
		case "hold":
			do.HoldSeconds = number(value)
		case "maxHold":
			do.MaxHoldSeconds = number(value)
		case "places":
			do.MaxPlacesPerReservation = number(value)
		case "perCustomer":
			do.MaxPlacesPerCustomer = number(value)
		case "match":
			do.Definition = int64(atoi(value))
		case "price": // of every standard place
			do.Prices = map[PriceKey]int64{}
			for _, category := range []string{"stalls", "box", "floor"} {
				do.Prices[PriceKey{category, "standard"}] = int64(atoi(value))
			}
		case "without":
			do.Prices = prices()
			delete(do.Prices, PriceKey{value, "standard"})
		case "also":
			do.Prices = prices()
			do.Prices[PriceKey{value, "standard"}] = 1
		default:
			panic("no such term: " + name)
		}
	}
	return do
}

// wants reads places: A1, A1:child, GA*3, GA*3:child, GA*3? when a part will
// do. Words that are none come back as others.
func wants(w []string) (seats []SeatWant, areas []AreaWant, others []string) {
	for _, text := range w {
		named, partial := strings.CutSuffix(text, "?")
		named, kind, _ := strings.Cut(named, ":")
		if kind == "" {
			kind = TicketTypeStandard
		}
		name, quantity, isArea := strings.Cut(named, "*")
		switch {
		case isArea:
			areas = append(areas, AreaWant{noOf(areaNames, name), kind, atoi(quantity), partial, name})
		case strings.ContainsAny(name[:1], "ABCZ"):
			seats = append(seats, SeatWant{noOf(seatNames, name), kind, name})
		default:
			others = append(others, text)
		}
	}
	return seats, areas, others
}

// outcomeText writes an outcome down in the words of the scripts.
func outcomeText(o Outcome) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, " "+format, args...) }
	if e := o.Err; e != nil {
		f := e.Facts
		for i, no := range e.SeatNos {
			say("%s=%s", seatNames[no], e.SeatNows[i])
		}
		for _, a := range e.AreaNos {
			say("%s=%d/%d", areaNames[a.AreaNo], a.Available, a.Requested)
		}
		for _, s := range f.Seats {
			say("%s=%s", s.Label, s.Status)
		}
		for _, v := range f.Violations {
			say("%s", v.Field)
		}
		for _, seat := range f.UnknownSeats {
			say("%s", seat)
		}
		for _, n := range []struct {
			name string
			fact *int
		}{{"limit", f.Limit}, {"requested", f.Requested}, {"held", f.Held}, {"inUse", f.InUse}} {
			if n.fact != nil {
				say("%s=%d", n.name, *n.fact)
			}
		}
		if f.OwnReservationID != nil {
			say("own=%s", nameOf(*f.OwnReservationID))
		}
		if f.ExpiredAt != nil {
			say("at %s", since(*f.ExpiredAt))
		}
		if f.MaxExpiresAt != nil {
			say("max %s", since(*f.MaxExpiresAt))
		}
		if f.ReservationStatus != "" {
			say("%s", f.ReservationStatus)
		}
		if f.BookingID != nil {
			say("%s", nameOf(*f.BookingID))
		}
		if f.Reason != "" {
			say("%s", f.Reason)
		}
		if f.SalesStartAt != nil {
			say("sales %s", since(*f.SalesStartAt))
		}
		return string(e.Code) + b.String()
	}
	r := o.Receipt
	b.WriteString("ok")
	if o.Replayed {
		b.Reset()
		b.WriteString("again")
	}
	if r.ReservationID != uuid.Nil {
		say("%s", nameOf(r.ReservationID))
	}
	if h := r.Reservation; h != nil {
		b.WriteByte(':')
		for _, l := range h.Seats {
			say("%s%s", seatNames[l.No], kindText(l.TicketType))
		}
		for _, l := range h.Areas {
			say("%s*%d%s", areaNames[l.No], l.Quantity, kindText(l.TicketType))
			if l.Requested != l.Quantity {
				say("of %d", l.Requested)
			}
		}
		say("until %s for %d", since(h.ExpiresAt), h.TotalMinor())
		if h.Status != ReservationActive {
			say("%s", h.Status)
		}
	}
	if r.ID != uuid.Nil {
		say("%s", nameOf(r.ID))
	}
	if r.Count > 0 {
		say("%d", r.Count)
	}
	return b.String()
}

// changeText writes a log row down: version.n, type, actor, reason, what it is
// about, the seats and units it moved.
func changeText(c Change) string {
	w := []string{fmt.Sprintf("%d.%d", c.Version, c.N), string(c.Type), c.Actor, string(c.Reason)}
	if c.ReservationID != uuid.Nil {
		w = append(w, nameOf(c.ReservationID))
	}
	if c.BlockID != uuid.Nil {
		w = append(w, nameOf(c.BlockID))
	}
	if c.Before != c.After {
		w = append(w, c.Before+">"+c.After)
	}
	for i, no := range c.SeatNos {
		w = append(w, fmt.Sprintf("%s=%c", seatNames[no], c.SeatStates[i]))
	}
	for i, no := range c.AreaNos {
		w = append(w, fmt.Sprintf("%s%+d", areaNames[no], c.AreaUnits[i]))
	}
	if !c.ExpiresAt.IsZero() {
		w = append(w, "until "+since(c.ExpiresAt))
	}
	return strings.Join(w, " ")
}

func kindText(ticketType string) string {
	if ticketType == TicketTypeStandard {
		return ""
	}
	return ":" + ticketType
}

// since is an instant as time since noon: 15m, 1m30s.
func since(at time.Time) string {
	s := at.Sub(noon).String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

func duration(s string) time.Duration {
	d, err := time.ParseDuration(s)
	if err != nil {
		panic(err)
	}
	return d
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

func words(s string) []string { return strings.Fields(s) }

func split(s, at string) (before, after string) {
	before, after, _ = strings.Cut(s, at)
	return strings.TrimSpace(before), strings.TrimSpace(after)
}

func ptr[T any](v T) *T { return &v }
