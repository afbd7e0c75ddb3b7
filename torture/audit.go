package main

import (
	"context"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/sandbox"
	"github.com/rowlock/rowlock/torture/cluster"
)

var (
	//go:embed sql/jobs_left.sql
	sqlJobsLeft string
	//go:embed sql/lost.sql
	sqlLost string
)

// closedWithin is how long a hold that ended may stay open in the books, times
// of faults not counted.
const closedWithin = time.Minute

// books are everything that the API tells of a show when all is quiet.
type books struct {
	reservations []listed
	bookings     []booking
	log          []entry
}

// listed is a reservation of the list, with its customer.
type listed struct {
	reservation
	CustomerID string
}

// pages reads a list from its first page to its last.
func pages[T any](ctx context.Context, c *client, path, noun string) (all []T, err error) {
	cursor, mark := "", "?"
	if strings.Contains(path, mark) {
		mark = "&"
	}
	for {
		o := &Op{Do: look, What: audited}
		a := c.ask(ctx, o, request{method: http.MethodGet, path: path + mark + "limit=200&cursor=" + cursor})
		if !a.ok() {
			return nil, fmt.Errorf("%s: answered %d %s", path, a.status, a.problem.Code)
		}
		var page map[string]json.RawMessage
		if err := json.Unmarshal(a.body, &page); err != nil {
			return nil, err
		}
		var list []T
		if err := json.Unmarshal(page[noun], &list); err != nil {
			return nil, err
		}
		all = append(all, list...)
		if page["nextCursor"] == nil {
			return all, nil
		}
		if err := json.Unmarshal(page["nextCursor"], &cursor); err != nil {
			return nil, err
		}
	}
}

func (c *client) books(ctx context.Context, sh *show) (b books, err error) {
	if b.reservations, err = pages[listed](ctx, c, "/reservations?showId="+sh.id, "reservations"); err != nil {
		return b, err
	}
	if b.bookings, err = pages[booking](ctx, c, "/bookings?showId="+sh.id, "bookings"); err != nil {
		return b, err
	}
	b.log, err = pages[entry](ctx, c, "/changes?showId="+sh.id, "changes")
	return b, err
}

// quiet waits until nothing is on its way: no hold lives, no payment and no
// refund is without an outcome, every webhook was taken and every job done.
func (r *round) quiet(ctx context.Context) error {
	box := r.t.house.Sandbox()
	for {
		for _, p := range box.Ledger().Payments {
			if p.State == sandbox.RequiresAction { // whoever should have confirmed has walked away
				_ = box.Settle(p.ID) // it may have settled by itself meanwhile
			}
		}
		left, err := r.left(ctx)
		if err == nil && left == "" {
			return nil
		}
		r.t.phase("resting: " + left)
		rest(ctx, 250*time.Millisecond)
		if ctx.Err() != nil {
			return fmt.Errorf("the house did not come to rest: %s %w", left, errors.Join(err, ctx.Err()))
		}
	}
}

// left tells what is on its way still.
func (r *round) left(ctx context.Context) (string, error) {
	for at, sh := range r.shows {
		for _, list := range []struct{ path, noun string }{
			{"/reservations?status=active&showId=" + sh.id, "reservations"}, {"/bookings?status=pending&showId=" + sh.id, "bookings"},
		} {
			things, err := pages[json.RawMessage](ctx, r.auditor, list.path, list.noun)
			if err != nil {
				return "", err
			}
			if len(things) > 0 {
				return fmt.Sprintf("%d %s of %s are open", len(things), list.noun, sh.title), nil
			}
		}
		bookings, err := pages[booking](ctx, r.auditor, "/bookings?showId="+sh.id, "bookings")
		if err != nil {
			return "", err
		}
		for _, b := range bookings {
			for _, f := range b.Refunds {
				if f.Status == "pending" {
					return "refund " + f.RefundID + " is on its way", nil
				}
			}
			if sh.doomed && b.Status == "confirmed" { // its job may be planned for later
				return "booking " + b.BookingID + " of a show that was cancelled is confirmed", nil
			}
			if r.mend(ctx, at, &b) {
				return "refunds of booking " + b.BookingID + " are sent again", nil
			}
			for _, p := range b.Payments {
				if p.Status == "pending" {
					return "payment " + p.PaymentID + " has no outcome", nil
				}
			}
		}
		if sh.wanted {
			if starves, err := r.starving(ctx, sh); err != nil || starves != "" {
				return starves, err
			}
		}
	}
	if n := len(r.t.house.Sandbox().Undelivered()); n > 0 {
		return fmt.Sprintf("%d webhooks were not taken", n), nil
	}
	conn, err := pgx.Connect(ctx, r.t.house.Database())
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	var jobs, events int
	switch err := conn.QueryRow(ctx, sqlJobsLeft).Scan(&jobs, &events); {
	case err != nil:
		return "", err
	case jobs > 0:
		return fmt.Sprintf("%d jobs are due", jobs), nil
	case events > 0: // such as money that the gateway's desk gave back while we did, too
		return fmt.Sprintf("%d webhooks have had no effect yet", events), nil
	}
	return "", nil
}

// mend sends refunds again that the gateway has refused, and says whether it
// did. Those that cannot be are not asked for twice: the money went back in
// another way.
func (r *round) mend(ctx context.Context, at int, b *booking) (did bool) {
	v := &visit{client: r.auditor, h: r.history, show: r.shows[at], at: at}
	for _, f := range b.refused() {
		if r.beyond[f.RefundID] {
			continue
		}
		id := uuid.New()
		if o := v.retry(ctx, b, f, hex.EncodeToString(id[:]), false); o.Code == string(boxoffice.CodeAlreadyRefunded) {
			r.beyond[f.RefundID] = true
		}
		did = true
	}
	return did
}

// audit holds what the clients were told against the books, now that all is
// quiet, and adds to the history what only the books know. Money that is on its
// way is not held against anybody.
func (r *round) audit(ctx context.Context, settled bool, viewers []*viewer, maps []*picture) error {
	all := make([]books, len(r.shows))
	for i, sh := range r.shows {
		var err error
		if all[i], err = r.auditor.books(ctx, sh); err != nil {
			return err
		}
		r.offers(i, &all[i])
		r.ghosts(i, &all[i])
		r.bookings(i, &all[i])
		o := &Op{Do: look, What: audited, Show: i}
		if _, err := r.auditor.terms(ctx, sh, o); err != nil {
			return err
		}
		r.history.add(o)
		gapless(sh, all[i].log, r.t.found)
		r.closed(sh, all[i].log)
		var shown []*Op
		for _, o := range r.history.all() {
			if o.Show == i && o.Map != nil {
				shown = append(shown, o)
			}
		}
		r.t.counts.maps.Add(int64(replay(sh, all[i].log, shown, r.t.found)))
		if sh.crowded {
			if err := r.turns(ctx, i, &all[i]); err != nil {
				return err
			}
		}
		if sh.wanted {
			if err := r.served(ctx, i, &all[i]); err != nil {
				return err
			}
		}
	}
	if err := r.watched(all, viewers, maps); err != nil {
		return err
	}
	r.acknowledged(all, settled)
	r.frozen()
	if err := r.lost(ctx); err != nil {
		return err
	}
	if settled {
		r.money(all)
	}
	return nil
}

// ghosts finds what came of holds that nobody was told about.
func (r *round) ghosts(at int, b *books) {
	known, unsure := map[string]bool{}, map[string]*Op{}
	for _, o := range r.history.all() {
		if o.Do != place || o.Show != at {
			continue
		}
		if o.ok() {
			known[o.Reservation] = true
		} else if o.Doubt || !o.known() {
			unsure[o.Customer] = o
		}
	}
	for _, res := range b.reservations {
		if known[res.ReservationID] {
			continue
		}
		o := unsure[res.CustomerID]
		if o == nil {
			r.t.found("reservation %s of %s was made, and nobody asked for it once more", res.ReservationID, r.shows[at].title)
			continue
		}
		// One request makes one, whatever became of its answer.
		delete(unsure, res.CustomerID)
		ghost := *o
		ghost.Reservation, ghost.Ends, ghost.Units = res.ReservationID, r.history.on(res.ExpiresAt), res.units()
		ghost.Status, ghost.Code, ghost.Taken, ghost.Left, ghost.Return = http.StatusCreated, "", nil, nil, r.history.now()
		r.history.add(&ghost)
		r.t.counts.ghosts.Add(1)
	}
}

// bookings notes what became of every booking in the end.
func (r *round) bookings(at int, b *books) {
	for _, k := range b.bookings {
		o := &Op{Client: r.auditor.id, Do: look, What: "booking", Show: at, Reservation: k.ReservationID, Call: r.history.now(), Tries: 1, Status: http.StatusOK}
		k.tells(o, r.history)
		o.Return = r.history.now()
		r.history.add(o)
	}
}

// closed sees that holds which ended were closed soon. Those whose end may have
// been when the database's clock was wrong are not judged.
func (r *round) closed(sh *show, log []entry) {
	faults := r.faults()
	slices.SortFunc(faults, func(x, y cluster.Event) int { return x.Began.Compare(y.Began) })
	for _, e := range log {
		if e.Type != "reservation.expired" {
			continue
		}
		ended, closed := e.After.ExpiresAt, e.At
		if slices.ContainsFunc(r.wrong(), func(w span) bool { return r.history.on(closed) > w.from && r.history.on(ended) < w.to+clockOffMax }) {
			continue
		}
		late, counted := closed.Sub(ended), ended
		for _, f := range faults {
			if slices.Contains([]cluster.Kind{cluster.GatewayUnsure, cluster.WebhooksHeld, cluster.WebhooksMixed, cluster.JobsTwice}, f.Kind) {
				continue // they keep nobody from closing holds
			}
			from, to := maxTime(f.Began, counted), minTime(f.Ended, closed)
			if to.After(from) {
				late, counted = late-to.Sub(from), to
			}
		}
		if late > closedWithin {
			r.t.found("reservation %s of %s ended at %v and was closed at %v", e.Object.ReservationID, sh.title, ended, closed)
		}
		r.t.counts.expired.Add(1)
	}
}

func maxTime(x, y time.Time) time.Time {
	if x.After(y) {
		return x
	}
	return y
}

func minTime(x, y time.Time) time.Time {
	if x.Before(y) {
		return x
	}
	return y
}

// acknowledged looks for everything that anybody was told, in what the API
// tells now and in the log.
func (r *round) acknowledged(all []books, settled bool) {
	reservations, refunds := map[string]*listed{}, map[string]string{} // their statuses
	bookings, ticketIs := map[string]*booking{}, map[string]string{}
	at := map[[2]string]bool{} // version and reservation
	last := make([]int64, len(all))
	attempts, walked := map[string]int{}, map[string]bool{} // by reservation
	for i := range all {
		for j := range all[i].reservations {
			reservations[all[i].reservations[j].ReservationID] = &all[i].reservations[j]
		}
		for j := range all[i].bookings {
			k := &all[i].bookings[j]
			bookings[k.BookingID] = k
			for _, f := range k.Refunds {
				refunds[f.RefundID] = f.Status
			}
			for _, t := range k.Tickets {
				ticketIs[t.TicketID] = t.Status
			}
		}
		for _, e := range all[i].log {
			at[[2]string{fmt.Sprint(i, " ", e.Sequence), e.Object.ReservationID}] = true
			last[i] = e.Sequence
		}
	}
	ops := r.history.all()
	for _, o := range ops {
		if begun(o) {
			attempts[o.Reservation]++
			walked[o.Reservation] = walked[o.Reservation] || !o.known()
		}
	}
	for _, o := range ops {
		if !o.ok() || o.Client == r.auditor.id && o.Do != retry {
			continue
		}
		sh := r.shows[o.Show].title
		if o.Version > last[o.Show] {
			r.t.found("%s was acknowledged with version %d of %s, whose log ends at %d", o.Do, o.Version, sh, last[o.Show])
		}
		switch o.Do {
		case place, change, extend:
			if reservations[o.Reservation] == nil {
				r.t.found("reservation %s of %s was acknowledged (%s) and is lost", o.Reservation, sh, o.Do)
			}
			if o.Version != 0 && o.Do != extend && !at[[2]string{fmt.Sprint(o.Show, " ", o.Version), o.Reservation}] {
				r.t.found("%s of reservation %s was acknowledged with version %d of %s, where the log has something else", o.Do, o.Reservation, o.Version, sh)
			}
		case pay, confirm:
			k := bookings[o.Booking]
			switch {
			case k == nil:
				r.t.found("booking %s of %s was acknowledged and is lost", o.Booking, sh)
			case o.Confirmed != 0 && k.ConfirmedAt.IsZero():
				r.t.found("booking %s of %s was confirmed and is %s", o.Booking, sh, k.Status)
			case len(k.Tickets) < len(o.Tickets):
				r.t.found("booking %s of %s had %d tickets and has %d", o.Booking, sh, len(o.Tickets), len(k.Tickets))
			}
		case release:
			if is := reservations[o.Reservation]; is != nil && is.Status != "cancelled" && is.Status != "expired" {
				r.t.found("reservation %s of %s was released and is %s", o.Reservation, sh, is.Status)
			}
		case cancel:
			for _, id := range o.Void {
				if ticketIs[id] != "void" {
					r.t.found("ticket %s of %s was cancelled and is %s", id, sh, ticketIs[id])
				}
			}
		case refund:
			if refunds[o.Refund] == "" {
				r.t.found("refund %s of %s was acknowledged and is lost", o.Refund, sh)
			}
		case retry:
			switch is, there := refunds[o.Refund]; {
			case !there:
				r.t.found("refund %s of %s was sent again and is lost", o.Refund, sh)
			case is != "succeeded" && settled && !r.shows[o.Show].doomed: // there the desk may have given the money back
				r.t.found("refund %s of %s was sent again and is %s", o.Refund, sh, is)
			}
		case forget:
			// (A payment that nobody waits for any more may come after it.)
			if k := bookings[o.Booking]; k != nil && k.Buyer != nil && !walked[k.ReservationID] {
				r.t.found("the customer of booking %s of %s was forgotten, and it has the name %q", o.Booking, sh, k.Buyer.Name)
			}
		case checkIn:
			if o.Result == "admitted" && ticketIs[o.Ticket] != "used" && ticketIs[o.Ticket] != "void" {
				r.t.found("ticket %s of %s was admitted and is %s", o.Ticket, sh, ticketIs[o.Ticket])
			}
		default:
			continue
		}
		r.t.counts.facts.Add(1)
	}
	for _, k := range bookings {
		n := 0
		for _, p := range k.Payments {
			if p.Gateway != "manual" {
				n++
			}
		}
		if n > attempts[k.ReservationID] {
			r.t.found("booking %s was paid for %d times in %d attempts", k.BookingID, n, attempts[k.ReservationID])
		}
	}
}

// lost asks the database itself for what was acknowledged.
func (r *round) lost(ctx context.Context) error {
	var reservations, bookings, refunds, scans []string
	for _, o := range r.history.all() {
		if !o.ok() {
			continue
		}
		switch o.Do {
		case place:
			reservations = append(reservations, o.Reservation)
		case pay, confirm:
			bookings = append(bookings, o.Booking)
		case refund:
			refunds = append(refunds, o.Refund)
		case checkIn:
			scans = append(scans, o.Scan)
		}
	}
	conn, err := pgx.Connect(ctx, r.t.house.Database())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, sqlLost, reservations, bookings, refunds, scans)
	if err != nil {
		return err
	}
	for rows.Next() {
		var what, id string
		if err := rows.Scan(&what, &id); err != nil {
			return err
		}
		r.t.found("%s %s was acknowledged and is not in the database", what, id)
	}
	return rows.Err()
}

// money holds the bookings against the gateway's ledger.
func (r *round) money(all []books) {
	ours := r.t.ours
	for _, b := range all {
		for _, k := range b.bookings {
			for _, p := range k.Payments {
				ours[p.PaymentID] = paid{p, k}
			}
		}
	}
	left := map[string]int64{} // by booking
	ledger := r.t.house.Sandbox().Ledger()
	var net int64
	for _, g := range ledger.Payments {
		if g.State != sandbox.Succeeded {
			continue
		}
		p, ok := ours[g.MerchantID]
		switch {
		case !ok:
			r.t.found("the gateway charged %d for payment %s, which nobody knows", g.Amount, g.MerchantID)
			continue
		case p.payment.Status != "succeeded":
			r.t.found("the gateway charged %d for payment %s of booking %s, which is %s", g.Amount, g.MerchantID, p.booking.BookingID, p.payment.Status)
		case p.payment.Amount != g.Amount || p.payment.RefundedAmount != g.Refunded+g.Disputed:
			r.t.found("the gateway charged %d for payment %s and gave %d back; the books say %d and %d", g.Amount, g.MerchantID, g.Refunded+g.Disputed, p.payment.Amount, p.payment.RefundedAmount)
		case g.Left() > 0 && p.booking.ConfirmedAt.IsZero():
			r.t.found("the gateway keeps %d of payment %s, and booking %s is %s", g.Left(), g.MerchantID, p.booking.BookingID, p.booking.Status)
		case g.Left() > 0 && left[p.booking.BookingID] > 0:
			r.t.found("booking %s was paid for twice and the money was not given back", p.booking.BookingID)
		}
		left[p.booking.BookingID] += g.Left()
		net += g.Left()
		r.t.counts.charges.Add(1)
	}
	given := map[string]bool{}
	for _, g := range ledger.Refunds {
		if g.State == sandbox.Succeeded && g.MerchantID != "" {
			if given[g.MerchantID] {
				r.t.found("the gateway has made refund %s of payment %s twice", g.MerchantID, g.MerchantPaymentID)
			}
			given[g.MerchantID] = true
		}
	}
	// Money in = confirmed + refunded.
	var kept int64
	seen := map[string]bool{}
	for _, p := range ours {
		if p.payment.Gateway == "manual" || p.payment.Status != "succeeded" {
			continue
		}
		kept += p.payment.Amount - p.payment.RefundedAmount
		if k := p.booking; !seen[k.BookingID] {
			seen[k.BookingID] = true
			void := !slices.ContainsFunc(k.Tickets, func(t ticket) bool { return t.Status != "void" })
			if !k.ConfirmedAt.IsZero() && !void && left[k.BookingID] == 0 && k.RefundedAmount < k.TotalAmount {
				r.t.found("booking %s is %s, and the gateway has no money for it", k.BookingID, k.Status)
			}
		}
	}
	if kept != net {
		r.t.found("the gateway has %d of ours, the books say %d", net, kept)
	}
}

// How prove tells of a rule that is broken, and the rule that may be while the
// load lasts: some refunds have been refused, and nobody has sent them again.
const (
	brokenMark  = "BROKEN  "
	refusedRule = "no refund stays refused"
)

// prove runs the binary's own proof. While faults last it may not come through.
func (r *round) prove(ctx context.Context, must bool) {
	out, err := r.t.house.Run(ctx, "prove")
	switch {
	case err == nil, !must && strings.Count(out, brokenMark) == 1 && strings.Contains(out, brokenMark+refusedRule):
		r.t.counts.proofs.Add(1)
	case strings.Contains(out, brokenMark):
		r.t.found("rowlock prove: %v\n%s", err, broken(out))
	case must:
		r.t.found("rowlock prove could not be run: %v", err)
	}
}

// broken are the lines about rules that do not hold.
func broken(out string) string {
	var b strings.Builder
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "holds ") {
			b.WriteString(line)
		}
	}
	return b.String()
}
