package api

import (
	"context"
	"crypto/rand"
	"net/http"
	"strings"
	"time"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

// SignIns keeps the browsers that organisers are signed in with, each by
// boxoffice.HashAPIKey of its cookie. One that is not there, or is over, is
// NOT_FOUND; any other error means that nobody knows.
type SignIns interface {
	OpenSignIn(ctx context.Context, hash []byte, in boxoffice.SignIn) error
	SignInByHash(ctx context.Context, hash []byte) (boxoffice.SignIn, error)
	CloseSignIn(ctx context.Context, hash []byte) error
}

const (
	signInCookie = "rowlock-organiser"
	// hostCookie begins the name of a cookie that browsers take only by https,
	// for one host, and for all of it: nobody in front can plant another.
	hostCookie = "__Host-"
	// signInLife is a long working day: whoever leaves a box office's computer
	// is not signed in the next morning.
	signInLife = 12 * time.Hour
)

type knownSignIn struct {
	boxoffice.SignIn
	asked time.Time
}

// sameOrigin tells writes of our own pages from those that another site's page
// has a browser send.
var sameOrigin = http.NewCrossOriginProtection()

// Organiser is who a browser is signed in as.
type Organiser struct {
	Name      string            `json:"name" doc:"Who that is in the change log: key: and the first characters of the API key, or the token's customer" example:"key:rlk_5uHcnV"`
	Scopes    []boxoffice.Scope `json:"scopes" doc:"What they may do now" example:"[\"catalogue:write\",\"sales:read\"]"`
	ExpiresAt *time.Time        `json:"expiresAt,omitempty" doc:"When the browser is signed out by itself; missing for a caller that sends its credentials with every request" example:"2026-11-28T08:15:00Z"`
}

type organiserOutput struct{ Body Organiser }

type signInOutput struct {
	SetCookie string `header:"Set-Cookie" doc:"HttpOnly, SameSite=Strict, and Secure when the page was reached by https"`
	Body      Organiser
}

type signOutOutput struct {
	SetCookie string `header:"Set-Cookie" doc:"Takes the cookie away"`
}

func (a *API) registerSignIns() {
	register(a, Operation{
		ID: "signIn", Method: http.MethodPost, Path: "/organiser/session", Tag: "Sessions", NoKey: true, Weight: 10, Status: http.StatusCreated,
		Summary: "Sign a browser in",
		Description: "For the organiser's pages of this server. Send an API key or a bearer token that has at least one scope, once; the answer sets a cookie that scripts cannot read, which stands for it in this browser from then on, for twelve hours or as long as the token lives. A session that the browser had before ends. " +
			"The cookie says nothing by itself: it does what the key may do at that moment, and ends when the key is revoked or expires.\n\n" +
			"Where a request carries other credentials the cookie is not looked at. A write with the cookie must come from a page of this server, by `Sec-Fetch-Site` or `Origin`, which browsers send by themselves; else it is `FORBIDDEN`.",
		Codes: []boxoffice.Code{boxoffice.CodeForbidden},
	}, a.signIn)
	register(a, Operation{
		ID: "readSignIn", Method: http.MethodGet, Path: "/organiser/session", Tag: "Sessions",
		Summary: "Read who is signed in", Description: "And what they may do. Works with any credentials.",
	}, func(_ context.Context, call *Call, _ *struct{}) (*organiserOutput, error) {
		return &organiserOutput{organiserBody(&call.Caller, call.x.signedInUntil)}, nil
	})
	register(a, Operation{
		ID: "signOut", Method: http.MethodDelete, Path: "/organiser/session", Tag: "Sessions", Access: Open, NoKey: true,
		Summary: "Sign a browser out", Description: "The cookie is worth nothing from then on, whoever has a copy of it; another instance may still take it for half a minute. Where nobody is signed in nothing happens.",
		Codes: []boxoffice.Code{boxoffice.CodeForbidden},
	}, a.signOut)
}

func organiserBody(c *boxoffice.Caller, until time.Time) Organiser {
	o := Organiser{Name: c.Actor().Name, Scopes: c.Scopes, ExpiresAt: utc(until)}
	if o.Scopes == nil {
		o.Scopes = []boxoffice.Scope{}
	}
	return o
}

func (a *API) signIn(ctx context.Context, call *Call, _ *struct{}) (*signInOutput, error) {
	r, c, au := call.x.r, &call.Caller, a.auth
	key := r.Header.Get("X-Api-Key")
	switch {
	case !call.x.signedInUntil.IsZero(): // or a session would last for ever
		return nil, unauthenticated("Sign in with an API key or a bearer token.")
	case key != "" && c.CustomerID != "": // a session stands for one of them
		return nil, boxoffice.Refuse(boxoffice.CodeForbidden, "Sign in with an API key or a bearer token, not with both.")
	case len(c.Scopes) == 0 || au.opts.SignIns == nil:
		return nil, boxoffice.Refuse(boxoffice.CodeForbidden, "Signing in is for organisers: these credentials have no scope here.")
	case sameOrigin.Check(r) != nil:
		return nil, errOtherSite()
	}
	now := au.opts.Now()
	in := boxoffice.SignIn{OrganisationID: c.OrganisationID, ExpiresAt: now.Add(signInLife)}
	if key != "" {
		in.KeyHash = boxoffice.HashAPIKey(key)
	} else {
		ends, err := au.tokenEnds(r.Header)
		if err != nil {
			return nil, err
		}
		in.Owner, in.CustomerID, in.Scopes = c.Owner, c.CustomerID, c.Scopes
		if ends.Before(in.ExpiresAt) {
			in.ExpiresAt = ends
		}
	}
	value := rand.Text() + rand.Text() // 260 bits
	if err := au.opts.SignIns.OpenSignIn(ctx, boxoffice.HashAPIKey(value), in); err != nil {
		return nil, err
	}
	// Nobody could sign the browser out of the session that this one replaces.
	if old := signInCookieOf(r); old != nil {
		if err := au.endSignIn(ctx, old.Value); err != nil {
			return nil, err
		}
	}
	cookie := http.Cookie{
		Name: signInCookie, Value: value, Path: "/", MaxAge: max(1, int(in.ExpiresAt.Sub(now).Seconds())),
		HttpOnly: true, SameSite: http.SameSiteStrictMode,
	}
	if byHTTPS(r) {
		cookie.Name, cookie.Secure = hostCookie+signInCookie, true
	}
	return &signInOutput{cookie.String(), organiserBody(c, in.ExpiresAt)}, nil
}

// byHTTPS reports whether the browser reached us by https, though a proxy may
// have taken that off: browsers say with a write where its page is from.
func byHTTPS(r *http.Request) bool {
	return r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" || strings.HasPrefix(r.Header.Get("Origin"), "https://")
}

// tokenEnds is when the bearer token of a request ends, which was verified
// before.
func (au *authenticator) tokenEnds(h http.Header) (time.Time, error) {
	_, token, _ := strings.Cut(h.Get("Authorization"), " ")
	var c claims
	if _, err := au.parser.ParseWithClaims(strings.TrimSpace(token), &c, au.verificationKey); err != nil {
		return time.Time{}, unauthenticated("The bearer token is not valid.")
	}
	return c.ExpiresAt.Time, nil
}

func (a *API) signOut(ctx context.Context, call *Call, _ *struct{}) (*signOutOutput, error) {
	cookie := signInCookieOf(call.x.r)
	if cookie == nil || a.auth.opts.SignIns == nil {
		return &signOutOutput{}, nil
	}
	if err := ownPage(call.x.r); err != nil {
		return nil, err
	}
	if err := a.auth.endSignIn(ctx, cookie.Value); err != nil {
		return nil, err
	}
	gone := http.Cookie{
		Name: cookie.Name, Path: "/", MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: strings.HasPrefix(cookie.Name, hostCookie),
	}
	return &signOutOutput{gone.String()}, nil
}

// endSignIn makes a cookie worth nothing, for this instance at once.
func (au *authenticator) endSignIn(ctx context.Context, cookie string) error {
	hash := boxoffice.HashAPIKey(cookie)
	if err := au.opts.SignIns.CloseSignIn(ctx, hash); err != nil {
		return err
	}
	au.signIns.Store(string(hash), knownSignIn{}) // asked never: so it is asked for again
	return nil
}

// signInCookieOf is the cookie of a browser that is signed in; nil: it has none.
func signInCookieOf(r *http.Request) *http.Cookie {
	for _, name := range [...]string{hostCookie + signInCookie, signInCookie} {
		if cookie, err := r.Cookie(name); err == nil {
			return cookie
		}
	}
	return nil
}

func errOtherSite() error {
	return boxoffice.Refuse(boxoffice.CodeForbidden, "This was not sent by a page of this server, and a browser's cookie counts for those only.")
}

// ownPage refuses writes of a browser that another site's page has it send.
// Whoever sends a cookie is a browser, and every browser says where a write is
// from: one that does not say is refused as well, which the check of the
// standard library would let pass for a program.
func ownPage(r *http.Request) error {
	switch {
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		return nil
	case r.Header.Get("Sec-Fetch-Site") == "" && r.Header.Get("Origin") == "", sameOrigin.Check(r) != nil:
		return errOtherSite()
	}
	return nil
}

// signedIn is the organiser that a browser is signed in as, by its cookie. A
// cookie that is worth nothing any more is nobody's and no error: the browser
// sends it with all it asks of this server, and what is public must stay so.
func (a *API) signedIn(x *exchange) (boxoffice.Caller, error) {
	if len(x.r.Header["Cookie"]) == 0 || a.auth.opts.SignIns == nil {
		return anonymous, nil
	}
	cookie := signInCookieOf(x.r)
	if cookie == nil || cookie.Value == "" || len(cookie.Value) > apiKeyBytesMax {
		return anonymous, nil
	}
	if err := ownPage(x.r); err != nil {
		return anonymous, err
	}
	caller, until, err := a.auth.signIn(x, cookie.Value)
	switch code := boxoffice.CodeOf(err); {
	case code == boxoffice.CodeUnauthenticated || code != "" && code != boxoffice.CodeRateLimited && x.endpoint.access == Public:
		return anonymous, nil
	case err != nil:
		return anonymous, err
	}
	x.signedInUntil = until
	return caller, nil
}

// signIn finds who is signed in with a cookie, or remembers having done so.
func (au *authenticator) signIn(x *exchange, cookie string) (boxoffice.Caller, time.Time, error) {
	over := unauthenticated("The session is over: sign in again.")
	hash := boxoffice.HashAPIKey(cookie)
	now := au.opts.Now()
	known, ok := au.signIns.Load(string(hash))
	if !ok || now.Sub(known.asked) > apiKeyCachedFor {
		if !ok { // as with API keys
			if err := x.a.limits.take(x, &anonymous); err != nil {
				return anonymous, time.Time{}, err
			}
		}
		in, err := au.opts.SignIns.SignInByHash(&x.ctx, hash)
		if boxoffice.CodeOf(err) == boxoffice.CodeNotFound {
			return anonymous, time.Time{}, over
		}
		if err != nil {
			return anonymous, time.Time{}, notLookedUp("Who is signed in could not be looked up.", err)
		}
		known = knownSignIn{in, now}
		au.signIns.Store(string(hash), known)
	}
	if !known.ExpiresAt.After(now) {
		return anonymous, time.Time{}, over
	}
	if known.KeyHash == nil {
		return boxoffice.Caller{
			Kind: boxoffice.CallerCustomer, OrganisationID: known.OrganisationID, CustomerID: known.CustomerID, Owner: known.Owner, Scopes: known.Scopes,
		}, known.ExpiresAt, nil
	}
	key, err := au.keyByHash(x, known.KeyHash)
	if err != nil {
		return anonymous, time.Time{}, err
	}
	return callerOf(key), known.ExpiresAt, nil
}
