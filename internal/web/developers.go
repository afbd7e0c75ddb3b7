package web

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"
)

// Show is a line of the list on that page.
type Show struct {
	ID        string // of the show, for links and the example
	Ref       string // its externalRef, "" when it has none
	Title     string
	Kind      string // movie, concert, …
	Venue     string
	City      string
	StartsAt  time.Time
	TimeZone  string // IANA name of the venue's zone
	OnSale    bool
	Available int
	Capacity  int
	PriceFrom int64  // in the currency's minor unit; negative when unknown
	Currency  string // ISO 4217
	Exponent  int    // digits of the minor unit: EUR 2, JPY 0
}

// DevelopersOptions are what the page for developers shows.
type DevelopersOptions struct {
	// Shows returns the shows to list. If it fails the page says that there is
	// no list now; the error is logged.
	Shows func(context.Context) ([]Show, error)
	// Mock shows how to be a mock user, and Key the key of make run; for
	// development.
	Mock bool
	Key  string
}

type developers struct {
	DevelopersOptions
	Base    string // this server's address, as the browser knows it
	Shows   []Show
	Missing bool // the list could not be had
	Example *Show
}

// Developers serves the page for who builds on Rowlock, at /developers: where to
// look, what is on, a first hold with curl.
func Developers(opts DevelopersOptions) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page := developers{DevelopersOptions: opts, Base: base(r)}
		if opts.Shows != nil {
			shows, err := opts.Shows(r.Context())
			if err != nil {
				slog.WarnContext(r.Context(), "shows for developers", "error", err)
				page.Missing = true
			}
			page.Shows = shows
		}
		for i := range page.Shows {
			if s := &page.Shows[i]; s.OnSale && s.Available > 0 {
				page.Example = s
				break
			}
		}
		render(w, "developers.html", page)
	})
}

// base is the address in the browser's address bar, as far as it can be known.
func base(r *http.Request) string {
	scheme := "http"
	if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

// money writes an amount in minor units with its currency: 12.50 EUR.
func money(amount int64, exponent int, currency string) string {
	digits := fmt.Sprintf("%0*d", exponent+1, amount)
	if exponent > 0 {
		split := len(digits) - exponent
		digits = digits[:split] + "." + digits[split:]
	}
	return digits + " " + currency
}

// when writes a time in the venue's own zone: Fri 27 Nov, 20:15.
func when(t time.Time, zone string) string {
	if place, err := time.LoadLocation(zone); err == nil {
		t = t.In(place)
	}
	return t.Format("Mon 2 Jan, 15:04")
}

// Percent is how much of the show is still available, in whole percent, for
// the bar on the page. It is 0 only when nothing is.
func (s Show) Percent() int {
	if s.Capacity <= 0 || s.Available <= 0 {
		return 0
	}
	return max(1, s.Available*100/s.Capacity)
}
