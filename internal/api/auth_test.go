package api

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

var (
	customerSecret = []byte("the secret of the identity provider")
	guestSecret    = []byte("the secret that this server keeps to itself")
)

func signed(t *testing.T, method jwt.SigningMethod, key any, c jwt.MapClaims) string {
	t.Helper()
	s, err := jwt.NewWithClaims(method, c).SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// good are claims that every configuration below accepts.
func good(more jwt.MapClaims) jwt.MapClaims {
	c := jwt.MapClaims{"iss": "https://id.example", "sub": "ada", "aud": []string{"rowlock", "other"}, "exp": time.Now().Add(time.Hour).Unix()}
	for k, v := range more {
		if v == nil {
			delete(c, k)
		} else {
			c[k] = v
		}
	}
	return c
}

// tokenDoor takes tokens of one issuer, by secret and by public key.
func tokenDoor(t *testing.T, rsaKey *rsa.PublicKey, ed ed25519.PublicKey) *door {
	return newDoor(t, Options{Auth: AuthOptions{
		Secret: customerSecret, SessionSecret: guestSecret, Issuer: "https://id.example", Audience: "rowlock",
		JWKS: func(token *jwt.Token) (any, error) {
			if token.Method == jwt.SigningMethodEdDSA {
				return ed, nil
			}
			return rsaKey, nil
		},
	}})
}

func TestTokensThatNobodyWeTrustHasSignedAreRefused(t *testing.T) {
	t.Parallel()
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	edPublic, edPrivate, _ := ed25519.GenerateKey(rand.Reader)
	_, stranger, _ := ed25519.GenerateKey(rand.Reader)
	publicDER, _ := x509.MarshalPKIXPublicKey(&rsaKey.PublicKey)
	publicPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: publicDER})
	d := tokenDoor(t, &rsaKey.PublicKey, edPublic)

	for name, token := range map[string]string{
		"HS256": signed(t, jwt.SigningMethodHS256, customerSecret, good(nil)),
		"RS256": signed(t, jwt.SigningMethodRS256, rsaKey, good(nil)),
		"EdDSA": signed(t, jwt.SigningMethodEdDSA, edPrivate, good(nil)),
	} {
		for range 2 { // the second time from memory
			if w := d.ask("POST", specimenPath, `{"name":"Ada"}`, "X-Mock-User-Id:", "Authorization: Bearer "+token); w.Code != 201 {
				t.Fatalf("a good %s token is refused: %s", name, w.Body)
			}
			c := d.handled[len(d.handled)-1].Caller
			if c.Kind != boxoffice.CallerCustomer || c.CustomerID != "ada" || c.Owner != "customer|https://id.example|ada" || len(c.Scopes) != 0 {
				t.Errorf("%s: caller %+v", name, c)
			}
		}
	}
	reached := len(d.handled)

	valid := signed(t, jwt.SigningMethodHS256, customerSecret, good(nil))
	parts := strings.Split(valid, ".")
	b64 := base64.RawURLEncoding.EncodeToString
	root, _ := json.Marshal(good(jwt.MapClaims{"sub": "root"}))
	for name, token := range map[string]string{
		"alg none":                       signed(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, good(nil)),
		"alg None":                       b64([]byte(`{"alg":"None"}`)) + "." + parts[1] + ".",
		"signature cut off":              parts[0] + "." + parts[1] + ".",
		"other claims":                   parts[0] + "." + b64(root) + "." + parts[2],
		"public key as secret":           signed(t, jwt.SigningMethodHS256, publicPEM, good(nil)),
		"public key in DER as secret":    signed(t, jwt.SigningMethodHS256, publicDER, good(nil)),
		"Ed25519 key as secret":          signed(t, jwt.SigningMethodHS256, []byte(edPublic), good(nil)),
		"empty secret":                   signed(t, jwt.SigningMethodHS256, []byte{}, good(nil)),
		"HS512":                          signed(t, jwt.SigningMethodHS512, customerSecret, good(nil)),
		"a stranger's key":               signed(t, jwt.SigningMethodEdDSA, stranger, good(nil)),
		"a key that it brings along":     b64([]byte(`{"alg":"EdDSA","jwk":{"kty":"OKP","crv":"Ed25519","x":"`+b64(stranger.Public().(ed25519.PublicKey))+`"}}`)) + "." + strings.SplitN(signed(t, jwt.SigningMethodEdDSA, stranger, good(nil)), ".", 2)[1],
		"expired":                        signed(t, jwt.SigningMethodHS256, customerSecret, good(jwt.MapClaims{"exp": time.Now().Add(-time.Minute).Unix()})),
		"never expires":                  signed(t, jwt.SigningMethodHS256, customerSecret, good(jwt.MapClaims{"exp": nil})),
		"not yet":                        signed(t, jwt.SigningMethodHS256, customerSecret, good(jwt.MapClaims{"nbf": time.Now().Add(time.Hour).Unix()})),
		"other issuer":                   signed(t, jwt.SigningMethodHS256, customerSecret, good(jwt.MapClaims{"iss": "https://evil.example"})),
		"no issuer":                      signed(t, jwt.SigningMethodHS256, customerSecret, good(jwt.MapClaims{"iss": nil})),
		"other audience":                 signed(t, jwt.SigningMethodHS256, customerSecret, good(jwt.MapClaims{"aud": "other"})),
		"no audience":                    signed(t, jwt.SigningMethodHS256, customerSecret, good(jwt.MapClaims{"aud": nil})),
		"no subject":                     signed(t, jwt.SigningMethodHS256, customerSecret, good(jwt.MapClaims{"sub": nil})),
		"subject is no text":             signed(t, jwt.SigningMethodHS256, customerSecret, good(jwt.MapClaims{"sub": 7})),
		"subject too long":               signed(t, jwt.SigningMethodHS256, customerSecret, good(jwt.MapClaims{"sub": strings.Repeat("ž", 129)})),
		"subject with U+0000":            signed(t, jwt.SigningMethodHS256, customerSecret, good(jwt.MapClaims{"sub": "a\x00"})),
		"subject is a guest":             signed(t, jwt.SigningMethodHS256, customerSecret, good(jwt.MapClaims{"sub": "guest:9b2e7d1c-53a4-4f0e-8b7a-2d4c6e8f0a1b"})),
		"guest by the provider's secret": signed(t, jwt.SigningMethodHS256, customerSecret, good(jwt.MapClaims{"iss": guestIssuer, "sub": "guest:x"})),
		"guest by a public key":          signed(t, jwt.SigningMethodRS256, rsaKey, good(jwt.MapClaims{"iss": guestIssuer, "sub": "guest:x"})),
		"customer by the guests' secret": signed(t, jwt.SigningMethodHS256, guestSecret, good(nil)),
		"nothing":                        "",
		"nonsense":                       "nonsense",
		"dots":                           "..",
		"huge":                           strings.Repeat("a", 9000),
	} {
		w := d.ask("POST", specimenPath, `{"name":"Ada"}`, "X-Mock-User-Id:", "Authorization: Bearer "+token)
		if w.Code != 401 || !strings.HasPrefix(w.Header().Get("WWW-Authenticate"), "Bearer") {
			t.Errorf("%s: status %d", name, w.Code)
		}
		d.wantRefused(w, boxoffice.CodeUnauthenticated)
	}
	d.wantRefused(d.ask("POST", specimenPath, `{"name":"Ada"}`, "Authorization: Basic YTpi"), boxoffice.CodeUnauthenticated)
	if len(d.handled) != reached {
		t.Error("a handler was reached")
	}
	d.wantRefused(d.ask("GET", specimenPath, "", "Authorization: Bearer nonsense"), boxoffice.CodeUnauthenticated) // public, and yet
}

func TestOfSeveralIssuersEachHasItsOwnCustomers(t *testing.T) {
	t.Parallel()
	d := newDoor(t, Options{Auth: AuthOptions{Secret: customerSecret}})
	for iss, want := range map[any]string{nil: "ada", "https://id.example": "https://id.example|ada"} {
		d.ask("GET", specimenPath, "", "Authorization: Bearer "+signed(t, jwt.SigningMethodHS256, customerSecret, good(jwt.MapClaims{"iss": iss})))
		if got := d.handled[len(d.handled)-1].Caller.CustomerID; got != want {
			t.Errorf("iss %v: customer %q, want %q", iss, got, want)
		}
	}
}

func TestTheScopeClaimGrantsScopesAsTextOrArray(t *testing.T) {
	t.Parallel()
	d := newDoor(t, Options{Auth: AuthOptions{Secret: customerSecret}})
	for name, scope := range map[string]any{"text": "openid catalogue:write  unheard:of", "array": []string{"catalogue:write", "openid"}} {
		token := signed(t, jwt.SigningMethodHS256, customerSecret, good(jwt.MapClaims{"scope": scope}))
		if w := d.ask("DELETE", specimenPath, "", "Authorization: Bearer "+token); w.Code != 204 {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
		if got := d.handled[len(d.handled)-1].Caller.Scopes; !slices.Equal(got, []boxoffice.Scope{boxoffice.ScopeCatalogueWrite}) {
			t.Errorf("%s: scopes %v", name, got)
		}
	}
	w := d.ask("DELETE", specimenPath, "", "Authorization: Bearer "+signed(t, jwt.SigningMethodHS256, customerSecret, good(jwt.MapClaims{"scope": "sales:read"})))
	if p := d.wantRefused(w, boxoffice.CodeForbidden); !strings.Contains(p.Detail, "catalogue:write") {
		t.Errorf("the scope is not named: %s", p.Detail)
	}
}

func TestGuestsGetATokenThatLivesAsLongAsItSays(t *testing.T) {
	t.Parallel()
	now := time.Now()
	d := newDoor(t, Options{Auth: AuthOptions{SessionLife: time.Hour, Now: func() time.Time { return now }}})
	become := func() Session {
		w := d.ask("POST", "/api/v1/sessions", "", "Idempotency-Key:", "X-Mock-User-Id:", "Authorization: Bearer expired")
		var s Session
		if err := json.Unmarshal(w.Body.Bytes(), &s); w.Code != 201 || err != nil {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		return s
	}
	first, second := become(), become()
	if first.CustomerID == second.CustomerID || !strings.HasPrefix(first.CustomerID, "guest:") || first.ExpiresAt.Sub(now).Round(time.Minute) != time.Hour {
		t.Errorf("got %+v and %+v", first, second)
	}
	hold := func() *httptest.ResponseRecorder {
		return d.ask("POST", specimenPath, `{"name":"Ada"}`, "X-Mock-User-Id:", "Authorization: bearer "+first.Token)
	}
	if w := hold(); w.Code != 201 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	c := d.handled[0].Caller
	if c.Kind != boxoffice.CallerGuest || c.CustomerID != first.CustomerID || len(c.Scopes) != 0 {
		t.Errorf("caller %+v", c)
	}
	now = now.Add(time.Hour + tokenLeeway + time.Second)
	d.wantRefused(hold(), boxoffice.CodeUnauthenticated)
}

func TestMockUsersExistOnlyWhereTheyAreAllowed(t *testing.T) {
	t.Parallel()
	d := newDoor(t, Options{})
	for _, id := range []string{"7", "", "guest:x"} {
		if w := d.ask("POST", specimenPath, `{"name":"Ada"}`, "X-Mock-User-Id:"+id); w.Code != 401 {
			t.Errorf("%q: %d", id, w.Code)
		}
	}
	strict := newDoor(t, Options{})
	strict.auth.opts.Mock = false
	strict.wantRefused(strict.ask("POST", specimenPath, `{"name":"Ada"}`), boxoffice.CodeUnauthenticated)
}

func TestAnAPIKeyActsForItsOrganisationAndMayBringACustomer(t *testing.T) {
	t.Parallel()
	d := newDoor(t, Options{})
	if w := d.ask("DELETE", specimenPath, "", "X-API-Key: admin-key", "X-Mock-User-Id:"); w.Code != 204 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	alone := d.handled[0].Caller
	if alone.Kind != boxoffice.CallerAPIKey || alone.CustomerID != "" || alone.Owner != "organisation|"+boxoffice.DefaultOrganisationID.String() {
		t.Errorf("caller %+v", alone)
	}
	d.ask("DELETE", specimenPath, "", "X-API-Key: admin-key")
	if both := d.handled[1].Caller; both.CustomerID != "0197a1f0-0000-7000-8000-000000000001" || both.Owner != alone.Owner || !both.Has(boxoffice.ScopeRefunds) {
		t.Errorf("caller %+v", both)
	}
	d.wantRefused(d.ask("DELETE", specimenPath, "", "X-API-Key: sales-key"), boxoffice.CodeForbidden)
	d.wantRefused(d.ask("DELETE", specimenPath, "", "X-API-Key: unknown"), boxoffice.CodeUnauthenticated)
	d.wantRefused(d.ask("DELETE", specimenPath, "", "X-API-Key: admin-key", "Authorization: Bearer nonsense"), boxoffice.CodeUnauthenticated)
	d.wantRefused(d.ask("GET", specimenPath, "", "X-API-Key: unknown"), boxoffice.CodeUnauthenticated)
}

// countingKeys counts how often the database is asked.
type countingKeys struct {
	key   boxoffice.APIKey
	err   error
	asked int
}

func (k *countingKeys) APIKeyByHash(context.Context, []byte) (boxoffice.APIKey, error) {
	k.asked++
	return k.key, k.err
}

func TestKeysAreRememberedForAWhile(t *testing.T) {
	t.Parallel()
	now := time.Now()
	soon := now.Add(10 * time.Second)
	keys := &countingKeys{key: boxoffice.APIKey{Scopes: []boxoffice.Scope{boxoffice.ScopeAdmin}, ExpiresAt: &soon}}
	d := newDoor(t, Options{Auth: AuthOptions{Keys: keys, Now: func() time.Time { return now }}})
	drop := func() int { return d.ask("DELETE", specimenPath, "", "X-API-Key: k").Code }
	if drop() != 204 || drop() != 204 || keys.asked != 1 {
		t.Errorf("the database was asked %d times", keys.asked)
	}
	now = soon
	if code := drop(); code != 401 {
		t.Errorf("an expired key: %d", code)
	}
	keys.key.ExpiresAt = nil
	now = now.Add(apiKeyCachedFor)
	if drop() != 204 || keys.asked != 2 {
		t.Errorf("asked %d times", keys.asked)
	}
	revoked := now
	keys.key.RevokedAt = &revoked
	now = now.Add(apiKeyCachedFor + 1)
	if code := drop(); code != 401 {
		t.Errorf("a revoked key: %d", code)
	}
}

func TestADatabaseThatIsAwayIsNotABadKey(t *testing.T) {
	t.Parallel()
	d := newDoor(t, Options{Auth: AuthOptions{Keys: &countingKeys{err: errors.New("connection refused")}}})
	d.wantRefused(d.ask("DELETE", specimenPath, "", "X-API-Key: k"), boxoffice.CodeUnavailable)
}

func TestStrangersWhoTryKeysOutAreLimitedBeforeTheDatabaseIsAsked(t *testing.T) {
	t.Parallel()
	keys := &countingKeys{err: boxoffice.Refuse(boxoffice.CodeNotFound, "")}
	d := newDoor(t, Options{Auth: AuthOptions{Keys: keys}, Limit: LimitOptions{PerSecond: 1}})
	for range 20 {
		d.ask("GET", specimenPath, "", "X-API-Key: guess")
	}
	if keys.asked > 2 {
		t.Errorf("the database was asked %d times", keys.asked)
	}
}

func TestTheRateLimitIsPerCallerAndRefills(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDoor(t, Options{Limit: LimitOptions{PerSecond: 2}})
		read := func(user string) *httptest.ResponseRecorder {
			return d.ask("GET", specimenPath, "", "X-Mock-User-Id:"+user)
		}
		const ada, bob = "0197a1f0-0000-7000-8000-00000000000a", "0197a1f0-0000-7000-8000-00000000000b"
		for i := range 4 {
			if w := read(ada); w.Code != 200 || w.Header()["RateLimit-Policy"][0] != `"default";q=4;w=2` {
				t.Fatalf("request %d: %d %v", i, w.Code, w.Header())
			}
		}
		w := read(ada)
		d.wantRefused(w, boxoffice.CodeRateLimited)
		if w.Header().Get("Retry-After") != "1" || w.Header()["RateLimit"][0] != `"default";r=0;t=2` {
			t.Errorf("headers %v", w.Header())
		}
		if read(bob).Code != 200 || read("").Code != 200 {
			t.Error("one caller's limit is another's")
		}
		time.Sleep(500 * time.Millisecond) // of the bubble's clock
		if read(ada).Code != 200 || read(ada).Code != 429 {
			t.Error("the bucket does not refill at its rate")
		}
	})
}

func TestLimitsKnowWhereARequestComesFrom(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		remote, forwarded string
		trust             bool
		want              string
	}{
		{"192.0.2.7:4711", "", false, "192.0.2.7"},
		{"192.0.2.7:4711", "198.51.100.1", false, "192.0.2.7"},
		{"192.0.2.7:4711", "203.0.113.9, 198.51.100.1", true, "198.51.100.1"},
		{"192.0.2.7:4711", "nonsense", true, "invalid IP"},
		{"[2001:db8:1:2:3:4:5:6]:4711", "", false, "2001:db8:1:2::"},
		{"[::ffff:192.0.2.7]:4711", "", false, "192.0.2.7"},
		{"[::1]:4711", "", false, "::1"},
	} {
		r := &http.Request{RemoteAddr: c.remote, Header: http.Header{}}
		if c.forwarded != "" {
			r.Header.Set("X-Forwarded-For", c.forwarded)
		}
		if got := newLimiter(LimitOptions{TrustProxy: c.trust}).address(r).String(); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
	d := newDoor(t, Options{Limit: LimitOptions{PerSecond: 0.001, SkipLoopback: true}})
	for range 5 {
		r := httptest.NewRequest("GET", specimenPath, nil)
		r.RemoteAddr = "127.0.0.1:4711"
		w := httptest.NewRecorder()
		if d.ServeHTTP(w, r); w.Code != 200 {
			t.Fatalf("loopback is limited: %d", w.Code)
		}
	}
}

// A gateway speaks for everybody who pays, from one address.
func TestWebhooksAreCountedLikeAnOrganisationsKeys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDoor(t, Options{Limit: LimitOptions{PerSecond: 0.001, KeyPerSecond: 10}})
		for range 20 {
			d.wantRefused(d.ask("POST", "/api/v1/webhooks/payments/none", "{}", "X-Mock-User-Id:"), boxoffice.CodeNotFound)
		}
		d.wantRefused(d.ask("POST", "/api/v1/webhooks/payments/none", "{}", "X-Mock-User-Id:"), boxoffice.CodeRateLimited)
	})
}
