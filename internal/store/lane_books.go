package store

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/sql/queries"
)

// How bookings, payments, refunds, tickets and scans go into the database and
// come out of it. They are written where they are decided, in the lane.

var (
	sqlBookingsLoad        = queries.Must("bookings_load")
	sqlBookingsSave        = queries.Must("bookings_save")
	sqlPaymentsLoad        = queries.Must("payments_load")
	sqlPaymentsSave        = queries.Must("payments_save")
	sqlPaymentChecksInsert = queries.Must("payment_checks_insert")
	sqlPaymentChecksHurry  = queries.Must("payment_checks_hurry")
	sqlPaymentChecksDelete = queries.Must("payment_checks_delete")
	sqlRefundsLoad         = queries.Must("refunds_load")
	sqlRefundsSave         = queries.Must("refunds_save")
	sqlTicketsLoad         = queries.Must("tickets_load")
	sqlTicketsNamed        = queries.Must("tickets_named")
	sqlTicketsSave         = queries.Must("tickets_save")
	sqlScansLoad           = queries.Must("scans_load")
	sqlScansSave           = queries.Must("scans_save")
	sqlBuyersSave          = queries.Must("buyers_save")
	sqlTicketHoldersSave   = queries.Must("ticket_holders_save")
	sqlTicketHoldersClear  = queries.Must("ticket_holders_clear")
)

type scanner interface{ Scan(...any) error }

// scanBooking reads the common columns of a booking, and what follows them.
func scanBooking(row scanner, more ...any) (show uuid.UUID, k *boxoffice.Booking, err error) {
	k = &boxoffice.Booking{}
	var applied *uuid.UUID
	var confirmed, closed *time.Time
	var version *int64
	dest := []any{&show, &k.ID, &k.Reference, &k.ReservationID, &k.CustomerID, &k.Status, &k.Currency, &k.TotalMinor,
		&k.RefundedMinor, &applied, &k.CreatedAt, &confirmed, &closed, &version}
	err = row.Scan(append(dest, more...)...)
	k.AppliedID, k.ConfirmedAt, k.ClosedAt, k.ConfirmedVersion = orZero(applied), orZero(confirmed), orZero(closed), orZero(version)
	return show, k, err
}

func scanPayment(row scanner) (show uuid.UUID, p *boxoffice.Payment, err error) {
	p = &boxoffice.Payment{}
	var ref, decline, next *string
	var settled *time.Time
	err = row.Scan(&show, &p.BookingID, &p.ID, &p.Gateway, &p.Method, &p.Status, &p.AmountMinor, &p.RefundedMinor, &p.Currency,
		&ref, &decline, &next, &p.CreatedAt, &settled)
	p.Ref, p.DeclineCode, p.Next, p.SettledAt = orZero(ref), orZero(decline), orZero(next), orZero(settled)
	return show, p, err
}

func scanRefund(row scanner) (show uuid.UUID, f *boxoffice.Refund, err error) {
	f = &boxoffice.Refund{}
	var ref, failure *string
	var settled *time.Time
	err = row.Scan(&show, &f.BookingID, &f.ID, &f.PaymentID, &f.Cause, &f.Reason, &f.Status, &f.Attempt, &f.AmountMinor, &f.Currency,
		&f.TicketIDs, &f.TicketAmount, &ref, &failure, &f.CreatedAt, &settled)
	f.Ref, f.Failure, f.SettledAt = orZero(ref), orZero(failure), orZero(settled)
	return show, f, err
}

func scanTicket(row scanner, more ...any) (show uuid.UUID, t *boxoffice.Ticket, err error) {
	t = &boxoffice.Ticket{SeatNo: -1, AreaNo: -1}
	var seat, area *int32
	var used, void *time.Time
	var gate *string
	var scan *uuid.UUID
	dest := []any{&show, &t.BookingID, &t.N, &t.ID, &seat, &area, &t.TicketType, &t.PriceMinor, &t.RefundedMinor, &t.Status,
		&t.IssuedAt, &used, &gate, &scan, &void}
	err = row.Scan(append(dest, more...)...)
	if seat != nil {
		t.SeatNo = *seat
	}
	if area != nil {
		t.AreaNo = *area
	}
	t.UsedAt, t.UsedGate, t.UsedScan, t.VoidAt = orZero(used), orZero(gate), orZero(scan), orZero(void)
	return show, t, err
}

func (t *laneTx) saveBookings(out *stream) {
	var shows, ids, orgs, reservations []uuid.UUID
	var references, customers, statuses, currencies []string
	var totals, refunded []int64
	var applied []pgtype.UUID
	var created []time.Time
	var confirmed, closed []pgtype.Timestamptz
	var versions []*int64
	for _, sh := range t.shows {
		for _, k := range sh.did.Bookings {
			shows, ids, orgs = append(shows, sh.id), append(ids, k.ID), append(orgs, sh.state.Terms.OrganisationID)
			references, reservations = append(references, k.Reference), append(reservations, k.ReservationID)
			customers, statuses, currencies = append(customers, k.CustomerID), append(statuses, string(k.Status)), append(currencies, k.Currency)
			totals, refunded, applied = append(totals, k.TotalMinor), append(refunded, k.RefundedMinor), append(applied, nullable(k.AppliedID))
			created, confirmed, closed = append(created, k.CreatedAt), append(confirmed, instant(k.ConfirmedAt)), append(closed, instant(k.ClosedAt))
			versions = append(versions, numberOrNil(k.ConfirmedVersion))
		}
	}
	if len(ids) > 0 {
		out.queue(sqlBookingsSave, shows, ids, orgs, references, reservations, customers, statuses, currencies, totals, refunded,
			applied, created, confirmed, closed, versions)
	}
}

// savePayments writes payments, and when the gateways of those without an
// outcome are to be asked.
func (t *laneTx) savePayments(out *stream) {
	var shows, bookings, ids, orgs []uuid.UUID
	var gateways, methods, statuses, currencies []string
	var amounts, refunded []int64
	var refs, declines, nexts []*string
	var created []time.Time
	var settled []pgtype.Timestamptz
	var open, openShows, openOrgs, over, hurried []uuid.UUID
	var due, now []time.Time
	for _, sh := range t.shows {
		for _, p := range sh.did.Payments {
			org := sh.state.Terms.OrganisationID
			shows, bookings, ids, orgs = append(shows, sh.id), append(bookings, p.BookingID), append(ids, p.ID), append(orgs, org)
			gateways, methods, statuses = append(gateways, p.Gateway), append(methods, p.Method), append(statuses, string(p.Status))
			amounts, refunded, currencies = append(amounts, p.AmountMinor), append(refunded, p.RefundedMinor), append(currencies, p.Currency)
			refs, declines, nexts = append(refs, textOrNil(p.Ref)), append(declines, textOrNil(p.DeclineCode)), append(nexts, textOrNil(p.Next))
			created, settled = append(created, p.CreatedAt), append(settled, instant(p.SettledAt))
			if p.Status != boxoffice.PaymentPending {
				over = append(over, p.ID)
				continue
			}
			open, openShows, openOrgs = append(open, p.ID), append(openShows, sh.id), append(openOrgs, org)
			due = append(due, p.CreatedAt.Add(boxoffice.SettleAfter))
		}
		for _, id := range sh.did.Hurried {
			hurried, now = append(hurried, id), append(now, sh.state.Now)
		}
	}
	if len(ids) > 0 {
		out.queue(sqlPaymentsSave, shows, bookings, ids, orgs, gateways, methods, statuses, amounts, refunded, currencies,
			refs, declines, nexts, created, settled)
	}
	if len(open) > 0 {
		out.queue(sqlPaymentChecksInsert, open, openShows, openOrgs, due)
	}
	if len(hurried) > 0 {
		out.queue(sqlPaymentChecksHurry, hurried, now)
	}
	if len(over) > 0 {
		out.queue(sqlPaymentChecksDelete, over)
	}
}

func (t *laneTx) saveRefunds(out *stream) {
	var shows, bookings, ids, orgs, payments []uuid.UUID
	var causes, reasons, statuses, currencies, tickets, shares []string
	var amounts []int64
	var attempts []int32
	var refs, failures []*string
	var created []time.Time
	var settled []pgtype.Timestamptz
	for _, sh := range t.shows {
		for _, f := range sh.did.Refunds {
			shows, bookings, ids = append(shows, sh.id), append(bookings, f.BookingID), append(ids, f.ID)
			orgs, payments = append(orgs, sh.state.Terms.OrganisationID), append(payments, f.PaymentID)
			causes, reasons, statuses = append(causes, f.Cause), append(reasons, string(f.Reason)), append(statuses, string(f.Status))
			amounts, currencies = append(amounts, f.AmountMinor), append(currencies, f.Currency)
			tickets = append(tickets, literal(f.TicketIDs, appendID))
			shares = append(shares, literal(f.TicketAmount, appendNumber))
			attempts = append(attempts, int32(f.Attempt))
			refs, failures = append(refs, textOrNil(f.Ref)), append(failures, textOrNil(f.Failure))
			created, settled = append(created, f.CreatedAt), append(settled, instant(f.SettledAt))
		}
	}
	if len(ids) > 0 {
		out.queue(sqlRefundsSave, shows, bookings, ids, orgs, payments, causes, reasons, statuses, amounts, currencies,
			tickets, shares, refs, failures, created, settled, attempts)
	}
}

// saveTickets writes the void ones first: their places may be sold again in
// the same batch, and a place has one live ticket.
func (t *laneTx) saveTickets(out *stream) {
	var void, live tickets
	for _, sh := range t.shows {
		for _, ticket := range sh.did.Tickets {
			if ticket.Status == boxoffice.TicketVoid {
				void.add(sh, ticket)
			} else {
				live.add(sh, ticket)
			}
		}
	}
	for _, c := range []*tickets{&void, &live} {
		if len(c.ids) > 0 {
			out.queue(sqlTicketsSave, c.shows, c.bookings, c.ns, c.ids, c.orgs, c.seats, c.areas, c.types, c.prices, c.refunded,
				c.statuses, c.issued, c.used, c.gates, c.scans, c.void)
		}
	}
}

// tickets are tickets as columns.
type tickets struct {
	shows, bookings, ids, orgs []uuid.UUID
	ns                         []int32
	seats, areas               []pgtype.Int4
	types, statuses            []string
	prices, refunded           []int64
	issued                     []time.Time
	used, void                 []pgtype.Timestamptz
	gates                      []*string
	scans                      []pgtype.UUID
}

func (c *tickets) add(sh *laneShow, t *boxoffice.Ticket) {
	c.shows, c.bookings, c.ids = append(c.shows, sh.id), append(c.bookings, t.BookingID), append(c.ids, t.ID)
	c.orgs, c.ns = append(c.orgs, sh.state.Terms.OrganisationID), append(c.ns, int32(t.N))
	c.seats = append(c.seats, pgtype.Int4{Int32: t.SeatNo, Valid: t.SeatNo >= 0})
	c.areas = append(c.areas, pgtype.Int4{Int32: t.AreaNo, Valid: t.AreaNo >= 0})
	c.types, c.statuses = append(c.types, t.TicketType), append(c.statuses, string(t.Status))
	c.prices, c.refunded = append(c.prices, t.PriceMinor), append(c.refunded, t.RefundedMinor)
	c.issued, c.used, c.void = append(c.issued, t.IssuedAt), append(c.used, instant(t.UsedAt)), append(c.void, instant(t.VoidAt))
	c.gates, c.scans = append(c.gates, textOrNil(t.UsedGate)), append(c.scans, nullable(t.UsedScan))
}

func (t *laneTx) saveScans(out *stream) {
	var shows, ids, orgs, tickets []uuid.UUID
	var results, gates []string
	var admitted, shouldNot, offline []bool
	var at, recorded []time.Time
	var firstAt []pgtype.Timestamptz
	var firstGates []*string
	for _, sh := range t.shows {
		for _, s := range sh.did.Scans {
			shows, ids, orgs, tickets = append(shows, sh.id), append(ids, s.ID), append(orgs, sh.state.Terms.OrganisationID), append(tickets, s.TicketID)
			results, gates = append(results, string(s.Result)), append(gates, s.Gate)
			admitted, shouldNot, offline = append(admitted, s.Admitted), append(shouldNot, s.ShouldNot), append(offline, s.Offline)
			at, recorded = append(at, s.At), append(recorded, s.RecordedAt)
			firstAt, firstGates = append(firstAt, instant(s.FirstAt)), append(firstGates, textOrNil(s.FirstGate))
		}
	}
	if len(ids) > 0 {
		out.queue(sqlScansSave, shows, ids, orgs, tickets, results, admitted, shouldNot, offline, gates, at, recorded, firstAt, firstGates)
	}
}

// savePeople writes what is personal into its own tables.
func (t *laneTx) savePeople(out *stream) {
	var shows, ids, orgs, holderShows, holderIDs, holderOrgs []uuid.UUID
	var customers, names, emails, words, holderCustomers, holders []string
	var phones, locales []*string
	var ns []int32
	var unnamedShows, unnamed []uuid.UUID
	for _, sh := range t.shows {
		for _, p := range sh.did.People {
			org, customer := sh.state.Terms.OrganisationID, sh.state.Bookings[p.BookingID].CustomerID
			if who := p.Buyer; who != nil {
				shows, ids, orgs, customers = append(shows, sh.id), append(ids, p.BookingID), append(orgs, org), append(customers, customer)
				names, emails = append(names, who.Name), append(emails, who.Email)
				phones, locales = append(phones, textOrNil(who.Phone)), append(locales, textOrNil(who.Locale))
				words = append(words, literal(searchWords(who), appendQuoted))
			}
			if p.Unnamed || p.Holders != nil {
				unnamedShows, unnamed = append(unnamedShows, sh.id), append(unnamed, p.BookingID)
			}
			for n, name := range p.Holders {
				if name != "" {
					holderShows, holderIDs, ns = append(holderShows, sh.id), append(holderIDs, p.BookingID), append(ns, int32(n+1))
					holderOrgs, holderCustomers, holders = append(holderOrgs, org), append(holderCustomers, customer), append(holders, name)
				}
			}
		}
	}
	if len(ids) > 0 {
		out.queue(sqlBuyersSave, shows, ids, orgs, customers, names, emails, phones, locales, words)
	}
	if len(unnamed) > 0 {
		out.queue(sqlTicketHoldersClear, unnamedShows, unnamed)
	}
	if len(holderIDs) > 0 {
		out.queue(sqlTicketHoldersSave, holderShows, holderIDs, ns, holderOrgs, holderCustomers, holders)
	}
}

// searchWords are what a buyer is found by: the words of the name, the mail
// address and its parts, the digits of the phone; folded.
func searchWords(who *boxoffice.Buyer) []string {
	words := foldWords(who.Name)
	if mail := fold(who.Email); mail != "" {
		words = append(words, beginning(mail))
		words = append(words, foldWords(who.Email)...)
	}
	if digits := digitsOf(who.Phone); digits != "" {
		words = append(words, digits)
		if len(digits) > 7 { // with or without the country's code
			words = append(words, digits[len(digits)-7:])
		}
	}
	return words
}

// fold makes texts alike that people write in different ways: in small
// letters, and without the marks on them.
func fold(s string) string {
	bare := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFKD.String(strings.TrimSpace(s)))
	return norm.NFKC.String(cases.Fold().String(bare))
}

// foldWords are the words of a text as searches look for them.
func foldWords(s string) []string {
	words := strings.FieldsFunc(fold(s), func(r rune) bool {
		return !unicode.In(r, unicode.L, unicode.N, unicode.M)
	})
	for i, w := range words {
		words[i] = beginning(w)
	}
	return words
}

// wordMax is how many bytes of a word are searched for. Folding can make a word
// of 200 characters 18 times as long, and array_to_tsvector wraps the length of
// one from 2 kB on, which leaves a row that cannot be read or dumped.
const wordMax = 1000

// beginning is as much of a word as is searched for, in whole characters.
func beginning(word string) string {
	for len(word) > wordMax {
		_, size := utf8.DecodeLastRuneInString(word)
		word = word[:len(word)-size]
	}
	return word
}

func digitsOf(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, s)
}

func numberOrNil(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

// uuidsOrNil is an array literal of ids, or nil when there are none.
func uuidsOrNil(ids []uuid.UUID) *string {
	if len(ids) == 0 {
		return nil
	}
	s := literal(ids, appendID)
	return &s
}
