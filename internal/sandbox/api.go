package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// bodyMax is the size of a request in bytes.
const bodyMax = 64 << 10

// apiError is a request that is refused.
type apiError struct {
	status  int
	code    string
	message string
}

func (e *apiError) Error() string { return e.code + ": " + e.message }

var (
	errNotFound  = &apiError{http.StatusNotFound, "not_found", "There is no such thing."}
	errKeyReused = &apiError{http.StatusConflict, "idempotency_key_reused", "This Idempotency-Key came with another request before."}
)

func invalid(message string) error {
	return &apiError{http.StatusBadRequest, "invalid_request", message}
}

// reply is an answer to the merchant.
type reply struct {
	status int
	body   any
	lost   bool // it never arrives
}

func ok(body any) reply { return reply{status: http.StatusOK, body: body} }

func (s *Sandbox) routes() *http.ServeMux {
	mux := http.NewServeMux()
	for pattern, answer := range map[string]func(*http.Request) (reply, error){
		"POST /v1/payments":             s.postPayment,
		"GET /v1/payments":              s.listPayments,
		"GET /v1/payments/{id}":         s.readPayment,
		"POST /v1/payments/{id}/cancel": s.cancelPayment,
		"POST /v1/cancellations":        s.postCancellation,
		"POST /v1/refunds":              s.postRefund,
		"GET /v1/refunds/{id}":          s.readRefund,
		"GET /v1/ledger":                func(*http.Request) (reply, error) { return ok(s.Ledger()), nil },
	} {
		mux.HandleFunc(pattern, s.merchant(answer))
	}
	mux.HandleFunc("POST /desk/refunds", s.desk(func(f deskForm) (any, error) {
		re, err := s.deskRefund(f.Payment, f.Amount)
		if err != nil {
			return nil, err
		}
		return re.Refund, nil
	}))
	mux.HandleFunc("POST /desk/disputes", s.desk(func(f deskForm) (any, error) { return s.dispute(f.Payment) }))
	mux.HandleFunc("GET /{$}", s.deskPage)
	mux.HandleFunc("GET /pay/{id}", s.payPage)
	mux.HandleFunc("POST /pay/{id}", s.payDecision)
	mux.HandleFunc("GET /style.css", style)
	return mux
}

// merchant makes a handler of an answer to a merchant who has the key.
func (s *Sandbox) merchant(answer func(*http.Request) (reply, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !s.authorised(r) {
			fail(w, &apiError{http.StatusUnauthorized, "unauthorized", "Send the API key as Authorization: Bearer."})
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, bodyMax)
		fault := s.faultOf(r)
		if fault.Refuse || !pause(r.Context(), fault.Before) {
			fail(w, &apiError{http.StatusServiceUnavailable, "unavailable", "The gateway is out of order."})
			return
		}
		re, err := answer(r)
		pause(r.Context(), fault.After)
		if re.lost {
			pause(r.Context(), s.opts.Timeout)
		}
		switch {
		case re.lost || fault.Drop:
			panic(http.ErrAbortHandler) // cuts the connection
		case err != nil:
			fail(w, err)
		default:
			send(w, re.status, re.body)
		}
	}
}

func (s *Sandbox) postPayment(r *http.Request) (reply, error) {
	var req paymentRequest
	key, err := keyed(r, &req)
	if err != nil {
		return reply{}, err
	}
	p, fresh, err := s.charge(key, s.base(r), &req)
	if err != nil {
		return reply{}, err
	}
	if !fresh {
		return ok(p.Payment), nil
	}
	b := behaves(p.Method, p.Token, p.Amount)
	if b.slow {
		if pause(r.Context(), s.opts.Slow) {
			if err := s.Settle(p.ID); err != nil {
				return reply{}, err
			}
		}
		if p, err = s.payment(p.ID); err != nil {
			return reply{}, err
		}
	}
	return reply{status: http.StatusCreated, body: p.Payment, lost: b.lost}, nil
}

func (s *Sandbox) listPayments(r *http.Request) (reply, error) {
	id := r.URL.Query().Get("merchant_id")
	if id == "" {
		return reply{}, invalid("merchant_id is missing; GET /v1/ledger has everything")
	}
	list := []Payment{}
	switch p, err := s.payment(id); {
	case err == nil && p.MerchantID == id:
		list = append(list, p.Payment)
	case err != nil && err != error(errNotFound):
		return reply{}, err
	}
	return ok(map[string]any{"data": list}), nil
}

func (s *Sandbox) readPayment(r *http.Request) (reply, error) {
	p, err := s.payment(r.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	return ok(p.Payment), nil
}

func (s *Sandbox) cancelPayment(r *http.Request) (reply, error) {
	p, err := s.cancel(r.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	return ok(p.Payment), nil
}

func (s *Sandbox) postCancellation(r *http.Request) (reply, error) {
	var req struct {
		MerchantID string `json:"merchant_id"`
	}
	if err := decode(r.Body, &req); err != nil {
		return reply{}, err
	}
	if req.MerchantID == "" {
		return reply{}, invalid("merchant_id is missing")
	}
	p, err := s.cancelAhead(req.MerchantID)
	if err != nil {
		return reply{}, err
	}
	return ok(p.Payment), nil
}

func (s *Sandbox) postRefund(r *http.Request) (reply, error) {
	var req refundRequest
	key, err := keyed(r, &req)
	if err != nil {
		return reply{}, err
	}
	re, err := s.refund(key, &req)
	if err != nil {
		return reply{}, err
	}
	return reply{status: http.StatusCreated, body: re.Refund}, nil
}

func (s *Sandbox) readRefund(r *http.Request) (reply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	re := s.ledger.refunds[r.PathValue("id")]
	if re == nil {
		return reply{}, errNotFound
	}
	re, err := s.currentRefund(re)
	if err != nil {
		return reply{}, err
	}
	return ok(re.Refund), nil
}

// deskForm is what somebody at the gateway's desk wants.
type deskForm struct {
	Payment string `json:"payment"` // its id, or the merchant's
	Amount  int64  `json:"amount"`  // 0: all that is left
}

// desk makes a handler of something done at the gateway's desk, by JSON or by
// the buttons of its page. It asks for no key, but for no other page's buttons.
func (s *Sandbox) desk(do func(deskForm) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := strangers.Check(r); err != nil {
			fail(w, &apiError{http.StatusForbidden, "forbidden", err.Error()})
			return
		}
		text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyMax))
		if err != nil {
			fail(w, invalid("the body cannot be read"))
			return
		}
		var form deskForm
		// Not by Content-Type: curl calls JSON a form unless it is told otherwise.
		byHand := !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{"))
		if byHand {
			form, err = pressed(string(text))
		} else {
			err = decode(bytes.NewReader(text), &form)
		}
		var done any
		if err == nil {
			done, err = do(form)
		}
		switch {
		case byHand && err != nil:
			http.Redirect(w, r, "/?refused="+url.QueryEscape(err.Error()), http.StatusSeeOther)
		case byHand:
			http.Redirect(w, r, "/", http.StatusSeeOther)
		case err != nil:
			fail(w, err)
		default:
			send(w, http.StatusCreated, done)
		}
	}
}

// pressed reads what a button of the desk's page sends.
func pressed(text string) (form deskForm, err error) {
	values, err := url.ParseQuery(text)
	if err != nil {
		return form, invalid("the body is neither JSON nor a form")
	}
	form.Payment = values.Get("payment")
	if amount := values.Get("amount"); amount != "" {
		if form.Amount, err = strconv.ParseInt(amount, 10, 64); err != nil {
			return form, invalid("amount must be a whole number")
		}
	}
	return form, nil
}

// strangers keeps other sites' pages from pressing our buttons.
var strangers = http.NewCrossOriginProtection()

// base is the address of this server.
func (s *Sandbox) base(r *http.Request) string {
	if s.opts.PublicURL != "" {
		return strings.TrimSuffix(s.opts.PublicURL, "/")
	}
	return "http://" + r.Host
}

// keyed reads a request that moves money, and its idempotency key.
func keyed(r *http.Request, into any) (key string, err error) {
	key = r.Header.Get("Idempotency-Key")
	if key == "" || len(key) > 255 {
		return "", &apiError{http.StatusBadRequest, "idempotency_key_missing", "Send an Idempotency-Key of 1 to 255 characters."}
	}
	return key, decode(r.Body, into)
}

func decode(body io.Reader, into any) error {
	d := json.NewDecoder(body)
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return invalid(fmt.Sprintf("the body is not what it should be: %v", err))
	}
	return nil
}

func send(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // our own types
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	w.Write(append(text, '\n'))
}

func fail(w http.ResponseWriter, err error) {
	var refusal *apiError
	if !errors.As(err, &refusal) {
		refusal = &apiError{http.StatusInternalServerError, "internal", "The gateway is out of order; its log says why."}
	}
	send(w, refusal.status, map[string]any{"error": map[string]string{"code": refusal.code, "message": refusal.message}})
}
