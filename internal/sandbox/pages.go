package sandbox

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/text/currency"
)

// deskMax is how many payments the desk lists.
const deskMax = 100

//go:embed pages
var files embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{"money": money}).ParseFS(files, "pages/*.html"))

// money writes an amount of minor units with its currency: 12.50 EUR, 900 JPY.
func money(amount int64, code string) string {
	unit, err := currency.ParseISO(code)
	if err != nil {
		return fmt.Sprint(amount)
	}
	exponent, _ := currency.Standard.Rounding(unit)
	digits := fmt.Sprintf("%0*d", exponent+1, amount)
	if exponent > 0 {
		split := len(digits) - exponent
		digits = digits[:split] + "." + digits[split:]
	}
	return digits + " " + code
}

// payPage is the hosted page, where the buyer confirms.
func (s *Sandbox) payPage(w http.ResponseWriter, r *http.Request) {
	p, err := s.payment(r.PathValue("id"))
	if err != nil || p.ID != r.PathValue("id") || p.RedirectURL == "" {
		render(w, http.StatusNotFound, "pay.html", "", Payment{})
		return
	}
	showPay(w, http.StatusOK, p)
}

func (s *Sandbox) payDecision(w http.ResponseWriter, r *http.Request) {
	if err := strangers.Check(r); err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, bodyMax)
	decision := r.PostFormValue("decision")
	if decision != "confirm" && decision != "decline" {
		http.Error(w, "decision must be confirm or decline", http.StatusBadRequest)
		return
	}
	p, so, err := s.decide(r.PathValue("id"), decision == "confirm")
	switch {
	case err == error(errNotFound):
		render(w, http.StatusNotFound, "pay.html", "", Payment{})
	case err != nil:
		http.Error(w, "The gateway is out of order; its log says why.", http.StatusInternalServerError)
	case so && p.ReturnURL != "":
		http.Redirect(w, r, p.back(), http.StatusSeeOther)
	case so:
		showPay(w, http.StatusOK, p)
	default: // over, or decided otherwise before
		showPay(w, http.StatusConflict, p)
	}
}

func showPay(w http.ResponseWriter, status int, p *payment) {
	// A browser lets a form lead on to where it was told beforehand only.
	leads := ""
	if u, err := url.Parse(p.ReturnURL); err == nil && u.Host != "" {
		leads = u.Scheme + "://" + u.Host
	}
	render(w, status, "pay.html", leads, struct {
		Payment
		Back string
	}{p.Payment, p.back()})
}

// back is where the buyer goes from the hosted page: the merchant's return_url
// with the merchant's id of the payment, and what became of it. That is for
// the page there to show, and no proof of anything.
func (p *payment) back() string {
	if p.ReturnURL == "" {
		return ""
	}
	u, err := url.Parse(p.ReturnURL)
	if err != nil {
		return "" // checked when it came
	}
	q := u.Query()
	q.Set("payment", p.MerchantID)
	q.Set("status", string(p.State))
	u.RawQuery = q.Encode()
	return u.String()
}

// deskPage is the gateway's desk, for people.
func (s *Sandbox) deskPage(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	all := s.ledger.all()
	waiting, webhooks := len(s.ledger.undelivered), s.url
	s.mu.Unlock()
	render(w, http.StatusOK, "desk.html", "", map[string]any{
		"Payments": newest(all.Payments, deskMax), "Refunds": newest(all.Refunds, deskMax), "Disputes": newest(all.Disputes, deskMax),
		"Sums": all.Sums, "Waiting": waiting, "Webhooks": webhooks, "Refused": r.URL.Query().Get("refused"),
	})
}

// render writes a page. Its forms lead here, and to the site named.
func render(w http.ResponseWriter, status int, page, leads string, data any) {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, page, data); err != nil {
		http.Error(w, "This page is broken: "+err.Error(), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", strings.TrimSpace("default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self' "+leads))
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "same-origin") // the id of a payment opens its page
	w.WriteHeader(status)
	w.Write(b.Bytes())
}

func style(w http.ResponseWriter, r *http.Request) {
	http.ServeFileFS(w, r, files, "pages/style.css")
}
