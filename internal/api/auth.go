package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"
	"golang.org/x/time/rate"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/recent"
)

// AuthOptions say whose word is taken for who a caller is.
type AuthOptions struct {
	// Mock accepts X-Mock-User-Id: anybody may be anybody. For development.
	Mock bool
	// Secret verifies customers' tokens signed with HS256; nil: none are.
	Secret []byte
	// JWKS finds the public key of customers' tokens signed otherwise, see
	// [JWKS]; nil: none are taken.
	JWKS jwt.Keyfunc
	// Issuer and Audience, when not empty, must be those of customers' tokens.
	Issuer, Audience string
	// SessionSecret signs and verifies guests' tokens; nil: there are no guests.
	SessionSecret []byte
	// SessionLife is how long a guest's token lives; 0 means 30 days.
	SessionLife time.Duration
	// Keys finds API keys; nil: there are none.
	Keys APIKeys
	// SignIns keeps the browsers that organisers are signed in with; nil: there
	// are none.
	SignIns SignIns
	// Now is the clock for tokens and cached keys; default time.Now.
	Now func() time.Time
}

// APIKeys finds an API key by boxoffice.HashAPIKey of it. One that does not
// exist is NOT_FOUND; any other error means that nobody knows.
type APIKeys interface {
	APIKeyByHash(ctx context.Context, hash []byte) (boxoffice.APIKey, error)
}

// JWKS fetches the public keys of an identity provider and refreshes them in
// the background until ctx ends. A provider that is away at first is not an
// error: its tokens are refused until it is back.
//
// A token with a key id that is not known makes it ask the provider again, but
// strangers can make such tokens up: it asks for one of them at a time and not
// more often than jwksUnknownEvery, and refuses the others at once.
func JWKS(ctx context.Context, url string) (jwt.Keyfunc, error) {
	k, err := keyfunc.NewDefaultOverrideCtx(ctx, []string{url}, keyfunc.Override{
		RefreshInterval: tokenKnownFor, HTTPTimeout: jwksTimeout, RateLimitWaitMax: jwksTimeout,
		RefreshUnknownKID: rate.NewLimiter(rate.Every(jwksUnknownEvery), 1),
	})
	if err != nil {
		return nil, fmt.Errorf("reading the keys at %s: %w", url, err)
	}
	return k.Keyfunc, nil
}

const (
	guestIssuer     = "rowlock-guest"
	guestPrefix     = "guest:"
	actorKeyPrefix  = "key:"   // of an API key in the change log, see boxoffice.Caller.Actor
	actorSystem     = "system" // expiry in the change log
	tokenBytesMax   = 8 << 10
	tokenLeeway     = 30 * time.Second // between the clocks of two machines
	tokenKnownFor   = 5 * time.Minute  // then its key is asked for again: the provider may have withdrawn it
	apiKeyBytesMax  = 256
	apiKeyCachedFor = 30 * time.Second // and so long a revoked key may still work
	credentialsMax  = 10_000           // cached tokens, and keys, a generation

	jwksTimeout      = 5 * time.Second
	jwksUnknownEvery = 30 * time.Second
)

// asymmetric are the algorithms taken from an identity provider's public keys.
// HS256 is never among them: a public key must not be taken for a secret.
var asymmetric = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}

type authenticator struct {
	opts    AuthOptions
	parser  *jwt.Parser
	tokens  *recent.Map[string, knownToken]
	keys    *recent.Map[string, knownKey]
	signIns *recent.Map[string, knownSignIn]
}

type knownToken struct {
	caller boxoffice.Caller
	until  time.Time
}

type knownKey struct {
	key   boxoffice.APIKey
	asked time.Time
}

func newAuthenticator(opts AuthOptions) *authenticator {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	opts.SessionLife = cmp.Or(opts.SessionLife, 30*24*time.Hour)
	methods := []string{"HS256"}
	if opts.JWKS != nil {
		methods = append(methods, asymmetric...)
	}
	return &authenticator{
		opts: opts,
		parser: jwt.NewParser(jwt.WithValidMethods(methods), jwt.WithExpirationRequired(),
			jwt.WithLeeway(tokenLeeway), jwt.WithTimeFunc(opts.Now)),
		tokens:  recent.New[string, knownToken](credentialsMax),
		keys:    recent.New[string, knownKey](credentialsMax),
		signIns: recent.New[string, knownSignIn](credentialsMax),
	}
}

var anonymous = boxoffice.Caller{Kind: boxoffice.CallerAnonymous, OrganisationID: boxoffice.DefaultOrganisationID}

// identify finds out who calls. With an error, which is UNAUTHENTICATED or
// UNAVAILABLE, the caller is anonymous.
//
// An API key sent together with a customer's token (or mock user) makes the
// organisation the caller, acting for that customer: a back end that passes on
// who its user is. It has the scopes of both.
//
// A browser's cookie counts only where a request says nothing else of who sends
// it: a script that names a caller means that one, whoever is signed in.
func (a *API) identify(x *exchange) (boxoffice.Caller, error) {
	if x.endpoint.access == Open {
		return anonymous, nil
	}
	customer, err := a.auth.customer(x.r.Header)
	if err != nil {
		return anonymous, err
	}
	given := x.r.Header.Get("X-Api-Key")
	switch {
	case given == "" && customer.Anonymous():
		return a.signedIn(x)
	case given == "":
		return customer, nil
	}
	key, err := a.auth.key(x, given)
	if err != nil {
		return anonymous, err
	}
	caller := callerOf(key)
	caller.CustomerID = customer.CustomerID
	// What a token grants it grants at its own organisation.
	if customer.OrganisationID == key.OrganisationID {
		caller.Scopes = slices.Concat(key.Scopes, customer.Scopes)
	}
	return caller, nil
}

// callerOf is who calls with an API key alone.
func callerOf(key *boxoffice.APIKey) boxoffice.Caller {
	return boxoffice.Caller{
		Kind: boxoffice.CallerAPIKey, OrganisationID: key.OrganisationID, Owner: "organisation|" + key.OrganisationID.String(),
		KeyPrefix: key.Prefix, Scopes: key.Scopes,
	}
}

func unauthenticated(detail string) error {
	return boxoffice.Refuse(boxoffice.CodeUnauthenticated, "%s", detail)
}

// customer reads the bearer token or, in development, the mock user.
func (au *authenticator) customer(h http.Header) (boxoffice.Caller, error) {
	if header := h.Get("Authorization"); header != "" {
		scheme, token, _ := strings.Cut(header, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return anonymous, unauthenticated("Authorization must be Bearer and a token.")
		}
		return au.bearer(strings.TrimSpace(token))
	}
	if user := h.Get("X-Mock-User-Id"); user != "" && au.opts.Mock {
		id, err := uuid.Parse(user)
		if err != nil {
			return anonymous, unauthenticated("X-Mock-User-Id must be a UUID.")
		}
		return boxoffice.Caller{
			Kind: boxoffice.CallerMock, OrganisationID: boxoffice.DefaultOrganisationID,
			CustomerID: id.String(), Owner: "mock|" + id.String(),
		}, nil
	}
	return anonymous, nil
}

// bearer verifies a token. One that was verified before is remembered for a
// while: a signature with a public key costs ten times the rest of a request.
func (au *authenticator) bearer(token string) (boxoffice.Caller, error) {
	if len(token) > tokenBytesMax {
		return anonymous, unauthenticated("The bearer token is too long.")
	}
	if known, ok := au.tokens.Load(token); ok && known.until.After(au.opts.Now()) {
		return known.caller, nil
	}
	var c claims
	_, err := au.parser.ParseWithClaims(token, &c, au.verificationKey)
	switch {
	case errors.Is(err, jwt.ErrTokenExpired):
		return anonymous, unauthenticated("The bearer token has expired.")
	case err != nil:
		return anonymous, unauthenticated("The bearer token is not valid.")
	}
	caller, err := au.vouched(&c)
	if err != nil {
		return anonymous, err
	}
	until := au.opts.Now().Add(tokenKnownFor)
	if c.ExpiresAt.Before(until) {
		until = c.ExpiresAt.Time
	}
	au.tokens.Store(strings.Clone(token), knownToken{caller, until})
	return caller, nil
}

// verificationKey picks the one key that may have signed a token, by who it
// claims to come from and how it is signed. The claims are not verified yet,
// but choosing wrongly only makes the signature wrong.
func (au *authenticator) verificationKey(t *jwt.Token) (any, error) {
	hmac := t.Method == jwt.SigningMethodHS256
	switch {
	case t.Claims.(*claims).Issuer == guestIssuer:
		if hmac && len(au.opts.SessionSecret) > 0 {
			return au.opts.SessionSecret, nil
		}
	case hmac:
		if len(au.opts.Secret) > 0 {
			return au.opts.Secret, nil
		}
	case au.opts.JWKS != nil:
		return au.opts.JWKS(t)
	}
	return nil, jwt.ErrTokenUnverifiable
}

// vouched is the caller that verified claims speak of.
func (au *authenticator) vouched(c *claims) (boxoffice.Caller, error) {
	caller := boxoffice.Caller{OrganisationID: boxoffice.DefaultOrganisationID, CustomerID: c.Subject}
	if c.Issuer == guestIssuer {
		caller.Kind, caller.Owner = boxoffice.CallerGuest, guestIssuer+"|"+c.Subject
		return caller, nil
	}
	if au.opts.Issuer != "" && c.Issuer != au.opts.Issuer || au.opts.Audience != "" && !slices.Contains(c.Audience, au.opts.Audience) {
		return anonymous, unauthenticated("The bearer token was not issued for this service.")
	}
	// Where any issuer is taken, two of them may give the same subject.
	if au.opts.Issuer == "" && c.Issuer != "" {
		caller.CustomerID = c.Issuer + "|" + c.Subject
	}
	// A provider's subject is its own affair, except that it must not be a
	// guest of ours, nor somebody else in the change log.
	if strings.HasPrefix(c.Subject, guestPrefix) || strings.HasPrefix(caller.CustomerID, actorKeyPrefix) || caller.CustomerID == actorSystem {
		return anonymous, unauthenticated("The bearer token's sub is a name that this server gives itself.")
	}
	if c.Subject == "" || utf8.RuneCountInString(caller.CustomerID) > boxoffice.CustomerIDMax ||
		strings.ContainsRune(caller.CustomerID, 0) || strings.ContainsRune(caller.CustomerID, utf8.RuneError) {
		return anonymous, unauthenticated(fmt.Sprintf("The bearer token's iss and sub must name a customer in at most %d characters.", boxoffice.CustomerIDMax))
	}
	caller.Kind, caller.Owner = boxoffice.CallerCustomer, "customer|"+c.Issuer+"|"+c.Subject
	caller.Scopes = c.Scope
	return caller, nil
}

// claims are what we read of a token.
type claims struct {
	jwt.RegisteredClaims
	Scope scopeClaim `json:"scope,omitempty"`
}

// scopeClaim takes the scopes from a text with spaces between them, as in RFC
// 8693, or from an array. Those that are not ours are somebody else's.
type scopeClaim []boxoffice.Scope

func (s *scopeClaim) UnmarshalJSON(data []byte) error {
	var list []string
	if err := json.Unmarshal(data, &list); err != nil {
		var text string
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
		list = strings.Fields(text)
	}
	for _, name := range list {
		if scope := boxoffice.Scope(name); scope.Valid() {
			*s = append(*s, scope)
		}
	}
	return nil
}

// key looks an API key up, or remembers having done so.
func (au *authenticator) key(x *exchange, given string) (*boxoffice.APIKey, error) {
	if len(given) > apiKeyBytesMax {
		return nil, errBadKey()
	}
	return au.keyByHash(x, boxoffice.HashAPIKey(given))
}

func errBadKey() error { return unauthenticated("The API key is unknown, revoked or expired.") }

func (au *authenticator) keyByHash(x *exchange, hash []byte) (*boxoffice.APIKey, error) {
	if au.opts.Keys == nil {
		return nil, errBadKey()
	}
	now := au.opts.Now()
	known, ok := au.keys.Load(string(hash))
	if !ok || now.Sub(known.asked) > apiKeyCachedFor {
		// Strangers who try keys out must not reach the database any faster
		// than they may ask for anything else. Who was known half a minute ago
		// is no stranger, and must not wait behind those at the same address.
		if !ok {
			if err := x.a.limits.take(x, &anonymous); err != nil {
				return nil, err
			}
		}
		key, err := au.opts.Keys.APIKeyByHash(&x.ctx, hash)
		if boxoffice.CodeOf(err) == boxoffice.CodeNotFound {
			return nil, errBadKey()
		}
		if err != nil {
			return nil, notLookedUp("The API key could not be looked up.", err)
		}
		known = knownKey{key, now}
		au.keys.Store(string(hash), known)
	}
	if !known.key.Usable(now) {
		return nil, errBadKey()
	}
	return &known.key, nil
}

// notLookedUp is what is said when nobody knows whether credentials are good.
func notLookedUp(detail string, err error) error {
	var known *boxoffice.Error
	if errors.As(err, &known) {
		return err
	}
	e := boxoffice.Refuse(boxoffice.CodeUnavailable, "%s", detail)
	e.Facts.Outcome, e.Cause = "none", err
	return e
}

// guest makes a token for somebody new.
func (au *authenticator) guest() (token, customerID string, expires time.Time, err error) {
	id, err := uuid.NewRandom()
	if err != nil {
		return "", "", time.Time{}, err
	}
	now := au.opts.Now()
	customerID, expires = guestPrefix+id.String(), now.Add(au.opts.SessionLife).Truncate(time.Second)
	token, err = jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.RegisteredClaims{
		Issuer: guestIssuer, Subject: customerID,
		IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(expires),
	}).SignedString(au.opts.SessionSecret)
	return token, customerID, expires, err
}

// MountOps mounts a page for operators, such as River UI. It is for organisers
// who are signed in and have the scope ops, and for API keys with it, in
// X-API-Key or as the password of HTTP basic authentication with any user name;
// and since browsers send both the cookie and that password by themselves, it
// refuses writes that another site's page started.
func (a *API) MountOps(pattern string, h http.Handler) {
	h = http.NewCrossOriginProtection().Handler(h)
	ep := &endpoint{access: Identified, scopes: []boxoffice.Scope{boxoffice.ScopeOps}, weight: 1}
	a.Mount(pattern, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := w.(*exchange)
		if err := a.admitOps(x, r, ep); err != nil {
			p := x.problem(err)
			if p.Status == http.StatusUnauthorized {
				p.header.Set("Www-Authenticate", `Basic realm="Rowlock: any name, and an API key as the password", charset="UTF-8"`)
			}
			x.answer(p)
			return
		}
		h.ServeHTTP(w, r)
	}))
}

func (a *API) admitOps(x *exchange, r *http.Request, ep *endpoint) error {
	x.endpoint = ep // for the limit on unknown keys
	defer func() { x.endpoint = nil }()
	given := r.Header.Get("X-Api-Key")
	if _, password, ok := r.BasicAuth(); ok && given == "" {
		given = password
	}
	if given != "" {
		key, err := a.auth.key(x, given)
		if err != nil {
			return err
		}
		x.call.Caller = callerOf(key)
	} else {
		caller, err := a.signedIn(x)
		if err != nil {
			return err
		}
		if caller.Anonymous() {
			return unauthenticated("This page is for organisers who are signed in (at /organiser), or with an API key, and have the scope ops.")
		}
		x.call.Caller = caller
	}
	return authorise(&x.call.Caller, ep)
}
