package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	netmail "net/mail"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/riverqueue/river"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/checkout"
	"github.com/rowlock/rowlock/internal/mail"
	"github.com/rowlock/rowlock/internal/store"
	"github.com/rowlock/rowlock/internal/telemetry"
	"github.com/rowlock/rowlock/internal/tickets"
)

// attachedMax is how many tickets are attached to a mail: those of a group that
// has more are printed from the booking.
const attachedMax = 100

// mailAttempts are spread over half a day by River's back-off: mail servers
// have bad mornings.
const mailAttempts = 14

// SendMailArgs ask to tell the buyer of a booking something. Who that is is
// read when the mail is sent: nothing personal is in the queue.
type SendMailArgs struct {
	Mail      string    `json:"mail"` // confirmation, expiry, …
	BookingID uuid.UUID `json:"bookingId,omitzero"`
	RefundID  uuid.UUID `json:"refundId,omitzero"`
	N         int       `json:"n,omitempty"`       // tickets that are void
	Tickets   []int     `json:"tickets,omitempty"` // by number: those that a cancellation is about

	WaitlistEntryID uuid.UUID `json:"waitlistEntryId,omitzero"` // of an offer
}

// Kind implements [river.JobArgs].
func (SendMailArgs) Kind() string { return "mail_send" }

// Post writes and sends mails.
type Post struct {
	Store     *store.Store
	Checkout  *checkout.Checkout
	Tickets   *tickets.Signer
	Sender    mail.Sender
	Templates *mail.Templates
	From      netmail.Address
	ReplyTo   netmail.Address // zero: From
	Shop      string
	// BookingURL is where buyers see their booking, with {bookingId} in it; "":
	// there is no such page.
	BookingURL string
	// OfferURL is where an offer of the waitlist is bought, with {reservationId}
	// in it; "": there is no such page.
	OfferURL string
}

// What became of mails, as metrics call it.
const (
	mailSent    = "sent"
	mailFailed  = "failed"  // tried again
	mailRefused = "refused" // for good
	mailSkipped = "skipped" // there is nobody to tell, or nothing any more
)

type sendMail struct {
	river.WorkerDefaults[SendMailArgs]
	post    *Post
	metrics *telemetry.Metrics
}

func (w *sendMail) Timeout(*river.Job[SendMailArgs]) time.Duration { return 40 * time.Second }

func (w *sendMail) Work(ctx context.Context, job *river.Job[SendMailArgs]) error {
	outcome, err := mailSkipped, error(nil)
	if w.post != nil {
		outcome, err = w.post.send(ctx, job.Args)
	}
	w.metrics.Mails.WithLabelValues(job.Args.Mail, outcome).Inc()
	if errors.Is(err, mail.ErrPermanent) {
		return river.JobCancel(err) // the address is wrong: nobody here can help that
	}
	return err
}

func (p *Post) send(ctx context.Context, args SendMailArgs) (outcome string, err error) {
	write := p.write
	if args.Mail == boxoffice.MailOffer {
		write = p.offer
	}
	m, err := write(ctx, args)
	if err != nil || m == nil {
		if boxoffice.CodeOf(err) == boxoffice.CodeNotFound {
			err = nil
		}
		if err != nil {
			return mailFailed, err
		}
		return mailSkipped, nil
	}
	switch err := p.Sender.Send(ctx, *m); {
	case errors.Is(err, mail.ErrPermanent):
		return mailRefused, err
	case err != nil:
		return mailFailed, err
	}
	return mailSent, nil
}

// write writes a mail, or returns nil when there is nobody to tell, or nothing
// to tell any more.
func (p *Post) write(ctx context.Context, args SendMailArgs) (*mail.Message, error) {
	v, err := p.Store.ReadBooking(ctx, uuid.Nil, "", args.BookingID)
	if err != nil {
		return nil, err
	}
	confirmed := v.Status == boxoffice.BookingConfirmed
	telling := args.Mail == boxoffice.MailConfirmation || args.Mail == boxoffice.MailReminder
	if v.Buyer == nil || v.Buyer.Email == "" || telling && !confirmed {
		return nil, nil
	}
	occasion, err := p.Checkout.Occasion(ctx, v.OrganisationID, v.ShowID)
	if err != nil {
		return nil, err
	}
	n := mail.Notice{
		Kind: mail.Kind(args.Mail), Locale: v.Buyer.Locale, Shop: p.Shop, BuyerName: v.Buyer.Name, Reference: v.Reference,
		Event: occasion.Event, Venue: occasion.Show.VenueName, Hall: occasion.Show.HallName,
		StartsAt: occasion.Show.StartsAt, TimeZone: occasion.Show.TimeZone,
		Currency: v.Currency, TotalMinor: v.TotalMinor, ShowCancelled: occasion.Show.Status == boxoffice.ShowCancelled,
	}
	if p.BookingURL != "" {
		n.BookingURL = strings.ReplaceAll(p.BookingURL, "{bookingId}", v.ID.String())
	}
	p.items(&n, v, args)
	m, err := p.Templates.Render(n)
	if err != nil {
		return nil, err
	}
	m.From, m.ReplyTo, m.To = p.From, p.ReplyTo, netmail.Address{Name: v.Buyer.Name, Address: v.Buyer.Email}
	// The same mail again has the same id, so that who gets it twice sees it once.
	m.ID = strings.Join([]string{args.Mail, v.ID.String(), strconv.Itoa(args.N)}, ".")
	if args.RefundID != uuid.Nil {
		m.ID += "." + args.RefundID.String()
	}
	if telling && p.Tickets != nil && len(v.Tickets) <= attachedMax {
		if err := p.attach(ctx, &m, occasion, v); err != nil {
			return nil, err
		}
	}
	return &m, nil
}

// offer writes to somebody who waited that places are held for them, or
// returns nil when the offer is over.
func (p *Post) offer(ctx context.Context, args SendMailArgs) (*mail.Message, error) {
	e, err := p.Store.ReadWaitlistEntry(ctx, uuid.Nil, "", args.WaitlistEntryID)
	if err != nil {
		return nil, err
	}
	if e.Status != boxoffice.WaitlistOffered || e.Buyer == nil || e.Buyer.Email == "" {
		return nil, nil
	}
	r, err := p.Store.ReadReservation(ctx, uuid.Nil, "", e.ReservationID)
	if err != nil {
		return nil, err
	}
	occasion, err := p.Checkout.Occasion(ctx, e.OrganisationID, e.ShowID)
	if err != nil {
		return nil, err
	}
	n := mail.Notice{
		Kind: mail.Offer, Locale: e.Buyer.Locale, Shop: p.Shop, BuyerName: e.Buyer.Name,
		Event: occasion.Event, Venue: occasion.Show.VenueName, Hall: occasion.Show.HallName,
		StartsAt: occasion.Show.StartsAt, TimeZone: occasion.Show.TimeZone,
		Currency: r.Currency, TotalMinor: r.TotalMinor, Until: r.ExpiresAt,
	}
	if p.OfferURL != "" {
		n.OfferURL = strings.ReplaceAll(p.OfferURL, "{reservationId}", r.ID.String())
	}
	for _, s := range r.Seats {
		n.Items = append(n.Items, mail.Item{Label: s.Label, TicketType: s.TicketType, PriceMinor: s.PriceMinor})
	}
	for _, l := range r.Areas {
		for range l.Quantity {
			n.Items = append(n.Items, mail.Item{Label: l.Name, TicketType: l.TicketType, PriceMinor: l.PriceMinor})
		}
	}
	m, err := p.Templates.Render(n)
	if err != nil {
		return nil, err
	}
	m.From, m.ReplyTo, m.To = p.From, p.ReplyTo, netmail.Address{Name: e.Buyer.Name, Address: e.Buyer.Email}
	m.ID = args.Mail + "." + e.ID.String() // an entry has one offer
	return &m, nil
}

// items says what the mail is about, and what of the money goes back.
func (p *Post) items(n *mail.Notice, v *store.BookingView, args SendMailArgs) {
	of := func(t store.TicketView) bool { return t.Status != boxoffice.TicketVoid }
	i := slices.IndexFunc(v.Refunds, func(f *boxoffice.Refund) bool { return f.ID == args.RefundID })
	if i >= 0 {
		n.RefundMinor = v.Refunds[i].AmountMinor
	}
	switch {
	case args.Mail == boxoffice.MailCancellation:
		of = func(t store.TicketView) bool { return slices.Contains(args.Tickets, t.N) }
	case i >= 0:
		of = func(t store.TicketView) bool { return slices.Contains(v.Refunds[i].TicketIDs, t.ID) }
	}
	n.TotalMinor = 0
	for _, t := range v.Tickets {
		if of(t) {
			n.Items = append(n.Items, mail.Item{Label: t.Seat.Label, TicketType: t.TicketType, PriceMinor: t.PriceMinor})
			n.TotalMinor += t.PriceMinor
		}
	}
}

func (p *Post) attach(ctx context.Context, m *mail.Message, occasion *checkout.Occasion, v *store.BookingView) error {
	var pdf bytes.Buffer
	if err := tickets.PDF(ctx, &pdf, occasion.Printable(v, p.Tickets, m.Locale)); err != nil {
		return fmt.Errorf("tickets of booking %s: %w", v.ID, err)
	}
	m.Attachments = append(m.Attachments, mail.Attachment{Name: v.Reference + ".pdf", ContentType: "application/pdf", Content: pdf.Bytes()})
	return nil
}

// RemindBuyersArgs ask to remind the buyers of shows that begin tomorrow.
type RemindBuyersArgs struct{}

// Kind implements [river.JobArgs].
func (RemindBuyersArgs) Kind() string { return "buyers_remind" }

type remindBuyers struct {
	river.WorkerDefaults[RemindBuyersArgs]
	store *store.Store
	mails bool
}

func (w *remindBuyers) Timeout(*river.Job[RemindBuyersArgs]) time.Duration { return sweepTimeout }

func (w *remindBuyers) Work(ctx context.Context, _ *river.Job[RemindBuyersArgs]) error {
	for w.mails {
		shows, err := w.store.RemindBuyers(ctx, remindBefore, remindShows)
		if err != nil || shows < remindShows {
			return err
		}
	}
	return nil
}
