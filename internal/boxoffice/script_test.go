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
// Purchases are named by their reservation: r1 is bought by the booking k1, its
// attempts are p1, p1b, …, its tickets k1.1, k1.2, …, and refunds are named by
// payment and cause. All gateways say things by the name of gate.
//
//	anna begin r1 p1 [free] [holders=X,Y]   pay; "free": nobody is named
//	gate settle p1 ok|failed|cancelled|pending [amount=] [ref=] [code=] [next=]
//	staff confirm r1 p1 cash|comp|… [ref=]
//	anna cancel k1 [1 3] [override] [reason=] tickets by number; "cancel" alone is the show
//	staff giveback k1 [1 3] [amount=] [cause=]
//	gate refund p1/cause ok|failed|pending [ref=] [why=]
//	staff retry p1/cause [paid=]            paid: people gave the money back
//	gate desk p1 ok|failed|pending amount= ref= [dispute]
//	door scan k1.1 s1 [gate=] [at=5m]       at: uploaded later
//	book k1 confirmed 200-50 p1=…           the whole booking; see bookingText
//	people k1 anna X,Y                      who buys, whose names are on the tickets
//	hold r1 active until 2m own 1m          the hold's status, end and own end
//	policy 50 60                            until 60 minutes before the start half goes back
//	tasks mail confirmation k1; settle 15s  the tasks of the batch; or tasks nothing
//
// The waitlist: w501 is an entry, r501 the reservation that it is offered.
//
//	anna join w501 2 [box,stalls]           two places, best in the box
//	anna leave w501
//	staff offer                             serve the waitlist
//	entry w501 waiting too_few_left 1       the entry's state; why, and how many there were
//	entry w501 offered A1 A2 until 10m
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
	tasks *string  // expected tasks
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
	if list, ok := strings.CutPrefix(line, "tasks "); ok {
		s.tasks = ptr(strings.Join(words(list), " "))
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
	case "book":
		name, want := split(rest, " ")
		k := s.booking(id(name))
		if k == nil {
			s.t.Fatalf("there is no %s", name)
		}
		if got, want := bookingText(k), strings.Join(words(want), " "); got != want {
			s.t.Errorf("book %s is %s\n     want %s", name, got, want)
		}
	case "people":
		name, want := split(rest, " ")
		p := s.people[id(name)]
		got := strings.Join(p.Holders, ",")
		if p.Buyer != nil {
			got = strings.TrimSpace(p.Buyer.Name + " " + got)
		}
		if got != want {
			s.t.Errorf("people of %s are %q\n     want %q", name, got, want)
		}
	case "hold":
		name, want := split(rest, " ")
		r := s.reservations[id(name)]
		got := string(r.StatusAt(s.now)) + " until " + since(r.ExpiresAt)
		if !r.OwnEnd.IsZero() {
			got += " own " + since(r.OwnEnd)
		}
		if got != want {
			s.t.Errorf("at %s hold %s is %s\n     want %s", since(s.now), name, got, want)
		}
	case "entry":
		name, want := split(rest, " ")
		if got := s.entryText(name); got != want {
			s.t.Errorf("at %s entry %s is %s\n     want %s", since(s.now), name, got, want)
		}
	case "policy":
		w := words(rest)
		terms := *s.terms
		terms.Cancellation = &Cancellation{RefundPercent: atoi(w[0]), UntilMinutesBeforeStart: atoi(w[1])}
		s.terms = &terms
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
	if s.tasks != nil {
		if got := tasksText(did); got != *s.tasks {
			s.t.Errorf("%s\n tasks %s\n want  %s", s.lines[0], got, *s.tasks)
		}
	}
	s.batch, s.lines, s.wants, s.logs, s.tasks = nil, nil, nil, nil, nil
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
		made := (verb == "place" || verb == "block") && s == w[0] || verb == "begin" && s == w[1]
		if name != "key" && !made {
			asked += " " + s
		}
		return ok
	})
	if key := opts["key"]; key != "" {
		cmd.Key = &IdempotencyKey{Owner: actor, Key: id(key), Fingerprint: sha256.Sum256([]byte(asked))}
		delete(opts, "key")
	}
	flag := func(name string) bool { return slices.Contains(w, name) }
	tickets := func() (ids []uuid.UUID) {
		for _, n := range w[1:] {
			if n != "override" {
				ids = append(ids, ticketID(w[0], atoi(n)))
			}
		}
		return ids
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
	case "join":
		do := &JoinWaitlist{ID: id(w[0]), CustomerID: actor, PartySize: atoi(w[1]), Buyer: &Buyer{Name: actor}}
		if len(w) > 2 {
			do.Categories = list(w[2])
		}
		nameOffer(w[0])
		cmd.Do = do
	case "leave":
		cmd.Do = &LeaveWaitlist{id(w[0])}
	case "offer":
		cmd.Do = &OfferWaitlist{}
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
		if len(w) > 0 {
			do := &CancelBooking{BookingID: id(w[0]), ReservationID: id(sibling(w[0], "r")), Override: flag("override"), Reason: Reason(opts["reason"])}
			if do.Reason == "" {
				do.Reason = ReasonStaff
			}
			do.TicketIDs = tickets()
			cmd.Do = do
		}
	case "begin":
		do := &BeginPayment{
			ReservationID: id(w[0]), BookingID: id(sibling(w[0], "k")), Reference: sibling(w[0], "ref-"), PaymentID: id(w[1]),
			Gateway: "sandbox", Method: "card", Buyer: &Buyer{Name: actor}, Holders: list(opts["holders"]),
		}
		if flag("free") {
			do.Buyer = nil
		}
		cmd.Do = do
	case "confirm":
		do := &ConfirmReservation{
			ReservationID: id(w[0]), BookingID: id(sibling(w[0], "k")), Reference: sibling(w[0], "ref-"), PaymentID: id(w[1]),
			Method: w[2], PaymentRef: opts["ref"], Holders: list(opts["holders"]),
		}
		if opts["buyer"] != "" {
			do.Buyer = &Buyer{Name: opts["buyer"]}
		}
		cmd.Do = do
	case "settle":
		do := &SettlePayment{
			ReservationID: id(sibling(w[0], "r")), BookingID: id(sibling(w[0], "k")), PaymentID: id(w[0]),
			Status: PaymentStatus(happened(w[1])), Ref: opts["ref"], DeclineCode: opts["code"], Next: opts["next"],
		}
		if opts["amount"] != "" {
			do.AmountMinor = int64(atoi(opts["amount"]))
		}
		cmd.Do = do
	case "refund":
		cmd.Do = &SettleRefund{
			ReservationID: id(sibling(w[0], "r")), BookingID: id(sibling(w[0], "k")), RefundID: refundID(w[0]),
			Status: RefundStatus(happened(w[1])), Ref: opts["ref"], Failure: opts["why"],
		}
	case "retry":
		cmd.Do = &RetryRefund{BookingID: id(sibling(w[0], "k")), RefundID: refundID(w[0]), PaidBy: opts["paid"]}
	case "giveback":
		do := &GiveBack{BookingID: id(w[0]), TicketIDs: tickets(), Cause: "given"}
		if opts["amount"] != "" {
			do.AmountMinor = int64(atoi(opts["amount"]))
		}
		if opts["cause"] != "" {
			do.Cause = opts["cause"]
		}
		cmd.Do = do
	case "desk":
		cmd.Do = &RecordRefund{
			ReservationID: id(sibling(w[0], "r")), BookingID: id(sibling(w[0], "k")), PaymentID: id(w[0]),
			Ref: opts["ref"], AmountMinor: int64(atoi(opts["amount"])), Status: RefundStatus(happened(w[1])), Dispute: flag("dispute"),
		}
	case "scan":
		booking, n := split(w[0], ".")
		do := &CheckIn{BookingID: id(booking), TicketID: ticketID(booking, atoi(n)), ScanID: id(w[1]), Gate: opts["gate"]}
		if opts["at"] != "" {
			do.At = noon.Add(duration(opts["at"]))
		}
		cmd.Do = do
	default:
		panic("no such verb: " + verb)
	}
	return cmd
}

// sibling is the name of another thing of the same purchase: the r of p12b is
// r12.
func sibling(name, kind string) string {
	name, _, _ = strings.Cut(name, "/")
	return kind + strings.TrimRight(name[1:], "abcdefghijklmnopqrstuvwxyz")
}

func happened(word string) string {
	if word == "ok" {
		return "succeeded"
	}
	return word
}

func list(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
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
		case "offer":
			do.OfferSeconds = number(value)
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
		if f.Available != nil {
			say("available=%d", *f.Available)
		}
		if f.WaitlistEntryID != nil {
			say("%s", nameOf(*f.WaitlistEntryID))
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
		if f.Until != nil {
			say("until %s", since(*f.Until))
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
	if r.Why != "" {
		say("%s %d", r.Why, r.Free)
	}
	if r.BookingID != uuid.Nil {
		say("%s", nameOf(r.BookingID))
	}
	if r.Booking != "" {
		say("%s", r.Booking)
	}
	if r.PaymentID != uuid.Nil {
		say("%s", nameOf(r.PaymentID))
	}
	if r.Payment != "" {
		say("%s", r.Payment)
	}
	if r.Late != "" {
		say("late %s", r.Late)
	}
	if s := r.Scan; s != nil {
		say("%s", s.Result)
		if s.Admitted != (s.Result == ScanAdmitted) {
			say("in")
		}
		if s.ShouldNot {
			say("wrongly")
		}
		if !s.FirstAt.IsZero() {
			say("first %s %s", since(s.FirstAt), s.FirstGate)
		}
	}
	return b.String()
}

// bookingText writes a booking down whole: its status, what it costs and how
// much of that went back; each payment, each ticket with its place, state and
// price, each refund.
//
//	confirmed 200-50 p1=succeeded:200-50 1=A1:void:100-50 2=A2:valid:100 p1/cancel:1=pending:50
func bookingText(k *Booking) string {
	money := func(amount, back int64) string {
		if back == 0 {
			return fmt.Sprint(amount)
		}
		return fmt.Sprintf("%d-%d", amount, back)
	}
	w := []string{string(k.Status), money(k.TotalMinor, k.RefundedMinor)}
	for _, p := range k.Payments {
		w = append(w, fmt.Sprintf("%s=%s:%s", nameOf(p.ID), p.Status, money(p.AmountMinor, p.RefundedMinor)))
	}
	for _, t := range k.Tickets {
		var place string
		if t.SeatNo >= 0 {
			place = seatNames[t.SeatNo]
		} else {
			place = areaNames[t.AreaNo]
		}
		w = append(w, fmt.Sprintf("%d=%s%s:%s:%s", t.N, place, kindText(t.TicketType), t.Status, money(t.PriceMinor, t.RefundedMinor)))
	}
	for _, f := range k.Refunds {
		w = append(w, fmt.Sprintf("%s=%s:%d", nameOf(f.ID), f.Status, f.AmountMinor))
	}
	return strings.Join(w, " ")
}

// entryText is an entry as a reader sees it.
func (s *script) entryText(name string) string {
	e, ok := s.waitlist[id(name)]
	if !ok {
		return "nowhere"
	}
	r := s.reservations[e.ReservationID]
	status := e.StatusAt(s.now, r.ExpiresAt, s.terms)
	text := string(status)
	switch status {
	case WaitlistWaiting:
		why, found := e.Why(s.terms, s.now, s.look, s.places(s.now)[e.CustomerID])
		text += fmt.Sprintf(" %s %d", why, found)
	case WaitlistOffered:
		for _, l := range r.Seats {
			text += " " + seatNames[l.No]
		}
		for _, l := range r.Areas {
			text += fmt.Sprintf(" %s*%d", areaNames[l.No], l.Quantity)
		}
		text += " until " + since(r.ExpiresAt)
	}
	return text
}

func tasksText(did *Changes) string {
	var w []string
	for _, t := range did.Tasks {
		text := string(t.Kind)
		switch {
		case t.Kind == TaskMail && t.WaitlistEntryID != uuid.Nil:
			text += " " + t.Mail + " " + nameOf(t.WaitlistEntryID)
		case t.Kind == TaskMail:
			text += " " + t.Mail + " " + nameOf(t.BookingID)
			if t.Mail == MailCancellation {
				text += strings.TrimSuffix(fmt.Sprintf(" of %v %s", t.Tickets, nameOf(t.RefundID)), " ")
			}
		case t.RefundID != uuid.Nil:
			text += " " + nameOf(t.RefundID)
		case !t.At.IsZero():
			text += " " + since(t.At)
		}
		w = append(w, text)
	}
	for _, id := range did.Hurried {
		w = append(w, "hurry "+nameOf(id))
	}
	if w == nil {
		return "nothing"
	}
	return strings.Join(w, "; ")
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
	for _, id := range []uuid.UUID{c.BookingID, c.PaymentID, c.RefundID} {
		if id != uuid.Nil {
			w = append(w, nameOf(id))
		}
	}
	for _, id := range c.TicketIDs {
		w = append(w, nameOf(id))
	}
	if c.AmountMinor != 0 {
		w = append(w, fmt.Sprint(c.AmountMinor))
	}
	if c.Before != c.After {
		w = append(w, c.Before+">"+c.After)
	}
	for i, no := range c.SeatNos {
		w = append(w, fmt.Sprintf("%s=%c", seatNames[no], c.SeatStates[i]))
	}
	for i, no := range c.AreaNos {
		units := fmt.Sprintf("%s%+d", areaNames[no], c.AreaUnits[i])
		if c.AreaBooked != nil && c.AreaBooked[i] != 0 {
			units += fmt.Sprintf("%+db", c.AreaBooked[i])
		}
		w = append(w, units)
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
