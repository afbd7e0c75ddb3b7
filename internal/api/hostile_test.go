package api

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

// wires is a listener whose connections have the clock of a synctest bubble.
type wires chan net.Conn

func (l wires) Accept() (net.Conn, error) {
	if c, ok := <-l; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (l wires) Close() error   { return nil }
func (l wires) Addr() net.Addr { return &net.TCPAddr{} }

// The server waits for the rest of a body before it sends even a refusal, so a
// client that never sends it would keep its connection for ever.
func TestAClientThatNeverSendsItsBodyIsCutOff(t *testing.T) {
	t.Parallel()
	for _, head := range []string{
		"POST /healthz", "GET /healthz", "POST /nothing", "POST /api/v1/sessions", "POST " + specimenPath,
		"POST " + specimenPath + " HTTP/1.1\r\nX-Mock-User-Id: " + exampleID + "\r\nIdempotency-Key: " + goodKey,
		"GET " + specimenPath,
	} {
		if !strings.Contains(head, " HTTP/1.1") {
			head += " HTTP/1.1"
		}
		synctest.Test(t, func(t *testing.T) {
			d := newDoor(t, Options{})
			server, listener := d.Server(), make(wires, 1)
			go server.Serve(listener)
			client, conn := net.Pipe()
			listener <- conn
			fmt.Fprintf(client, "%s\r\nHost: x\r\nContent-Length: 100\r\n\r\n", head)
			client.SetReadDeadline(time.Now().Add(time.Hour))
			if _, err := io.ReadAll(client); err != nil {
				t.Errorf("%s: %v", head, err)
			}
			client.Close()
			close(listener)
			server.Close()
		})
	}
}

func TestAClientThatDoesNotTakeItsAnswerIsCutOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDoor(t, Options{InFlightMax: 1})
		d.Mount("GET /large", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Write(bytes.Repeat([]byte("x"), 1<<20))
		}))
		server, listener := d.Server(), make(wires, 1)
		go server.Serve(listener)
		client, conn := net.Pipe()
		listener <- conn
		io.WriteString(client, "GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
		time.Sleep(time.Hour) // of the bubble's clock
		if n, _ := io.Copy(io.Discard, client); n >= 1<<20 {
			t.Error("the answer waited for an hour")
		}
		client.Close()
		close(listener)
		server.Close()
	})
}

func TestACustomerCannotBearANameOfOurOwn(t *testing.T) {
	t.Parallel()
	d := newDoor(t, Options{Auth: AuthOptions{Secret: customerSecret}})
	for _, c := range []jwt.MapClaims{
		{"iss": nil, "sub": "system"}, {"iss": nil, "sub": "key:rlk_abcdef"}, {"iss": "key:rlk_abcdef"}, {"iss": nil, "sub": "guest:" + exampleID},
	} {
		w := d.ask("POST", specimenPath, `{"name":"Ada"}`, "Authorization: Bearer "+signed(t, jwt.SigningMethodHS256, customerSecret, good(c)))
		if w.Code != 401 {
			t.Errorf("%v: %d", c, w.Code)
		}
	}
}

func TestATokenIsForgottenWhenItsKeyIsWithdrawn(t *testing.T) {
	t.Parallel()
	public, private, _ := ed25519.GenerateKey(rand.Reader)
	now, withdrawn := time.Now(), false
	d := newDoor(t, Options{Auth: AuthOptions{
		Now: func() time.Time { return now },
		JWKS: func(*jwt.Token) (any, error) {
			if withdrawn {
				return nil, jwt.ErrTokenUnverifiable
			}
			return public, nil
		},
	}})
	token := "Authorization: Bearer " + signed(t, jwt.SigningMethodEdDSA, private, good(nil))
	if w := d.ask("GET", specimenPath, "", token); w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	withdrawn = true
	now = now.Add(tokenKnownFor + 1)
	d.wantRefused(d.ask("GET", specimenPath, "", token), boxoffice.CodeUnauthenticated)
}

// provider is an identity provider that publishes one key.
func provider(t *testing.T) (url string, key ed25519.PrivateKey, asked *atomic.Int32) {
	public, key, _ := ed25519.GenerateKey(rand.Reader)
	asked = new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		fmt.Fprintf(w, `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"one","alg":"EdDSA","use":"sig","x":%q},`+
			`{"kty":"oct","kid":"secret","k":"c2VjcmV0"}]}`, base64.RawURLEncoding.EncodeToString(public))
	}))
	t.Cleanup(server.Close)
	return server.URL, key, asked
}

func TestMadeUpKeyIDsDoNotReachTheProviderEachTime(t *testing.T) {
	t.Parallel()
	url, key, asked := provider(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	jwks, err := JWKS(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	d := newDoor(t, Options{Auth: AuthOptions{JWKS: jwks}})
	ask := func(kid any, method jwt.SigningMethod, key any) int {
		token := jwt.NewWithClaims(method, good(nil))
		token.Header["kid"] = kid
		text, err := token.SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return d.ask("GET", specimenPath, "", "Authorization: Bearer "+text).Code
	}
	if code := ask("one", jwt.SigningMethodEdDSA, key); code != 200 {
		t.Errorf("the provider's own token: %d", code)
	}
	for i := range 50 {
		if code := ask(uuid.NewString(), jwt.SigningMethodEdDSA, key); code != 401 {
			t.Errorf("made up key id %d: %d", i, code)
		}
	}
	if n := asked.Load(); n > 2 {
		t.Errorf("the provider was asked %d times", n)
	}
	for name, code := range map[string]int{
		"a published secret":      ask("secret", jwt.SigningMethodHS256, []byte("secret")),
		"the key in another role": ask("one", jwt.SigningMethodHS256, []byte(key.Public().(ed25519.PublicKey))),
		"a number for a key id":   ask(7, jwt.SigningMethodEdDSA, key),
	} {
		if code != 401 {
			t.Errorf("%s: %d", name, code)
		}
	}
	if code := ask("one", jwt.SigningMethodEdDSA, key); code != 200 {
		t.Errorf("the provider's own token, afterwards: %d", code)
	}
}

// A back end may send the keys that its users' browsers made.
func TestOneCustomersIdempotencyKeyOpensNothingOfAnothers(t *testing.T) {
	t.Parallel()
	d := newDoor(t, Options{})
	d.ask("POST", specimenPath, `{"name":"Ada"}`, "X-API-Key: admin-key", "X-Mock-User-Id: 0197a1f0-0000-7000-8000-00000000000a")
	d.ask("POST", specimenPath, `{"name":"Ada"}`, "X-API-Key: admin-key", "X-Mock-User-Id: 0197a1f0-0000-7000-8000-00000000000b")
	if ada, bob := d.handled[0].Key, d.handled[1].Key; ada.Owner == bob.Owner && ada.Fingerprint == bob.Fingerprint {
		t.Error("the second customer would be given the first one's answer")
	}
}

func TestWhatATokenGrantsItGrantsAtItsOwnOrganisation(t *testing.T) {
	t.Parallel()
	keys := &countingKeys{key: boxoffice.APIKey{OrganisationID: uuid.MustParse(exampleID), Scopes: []boxoffice.Scope{boxoffice.ScopeSalesRead}}}
	d := newDoor(t, Options{Auth: AuthOptions{Keys: keys, Secret: customerSecret}})
	token := signed(t, jwt.SigningMethodHS256, customerSecret, good(jwt.MapClaims{"scope": "admin"}))
	d.wantRefused(d.ask("DELETE", specimenPath, "", "X-API-Key: k", "Authorization: Bearer "+token), boxoffice.CodeForbidden)
}

func TestAKnownKeyDoesNotWaitBehindStrangersAtItsAddress(t *testing.T) {
	t.Parallel()
	now := time.Now()
	keys := &countingKeys{key: boxoffice.APIKey{Scopes: []boxoffice.Scope{boxoffice.ScopeAdmin}}}
	d := newDoor(t, Options{Auth: AuthOptions{Keys: keys, Now: func() time.Time { return now }}, Limit: LimitOptions{PerSecond: 0.001}})
	drop := func() int { return d.ask("DELETE", specimenPath, "", "X-API-Key: k").Code }
	if code := drop(); code != 204 {
		t.Fatal(code)
	}
	for range 3 {
		d.ask("GET", specimenPath, "")
	}
	now = now.Add(apiKeyCachedFor + 1)
	if code := drop(); code != 204 || keys.asked != 2 {
		t.Errorf("%d, asked %d times", code, keys.asked)
	}
}

func TestAFloodOfValuesAndMistakesStaysSmall(t *testing.T) {
	t.Parallel()
	d := newDoor(t, Options{})
	flood := `{"name":"Ada","seats":[` + strings.Repeat("1,", 300_000) + `1]}`
	if p := d.wantRefused(d.ask("POST", specimenPath, flood), boxoffice.CodeValidation); len(p.Violations) != 1 || !strings.Contains(p.Violations[0].Message, "values") {
		t.Errorf("%d violations: %v", len(p.Violations), p.Violations[0])
	}
	d.fail = boxoffice.Invalid(make([]boxoffice.Violation, 10_000)...)
	if p := d.wantRefused(d.ask("POST", specimenPath, `{"name":"Ada"}`), boxoffice.CodeValidation); len(p.Violations) != violationsShown {
		t.Errorf("%d violations", len(p.Violations))
	}
}

func TestAnyProxysWayOfWritingAnAddressIsRead(t *testing.T) {
	t.Parallel()
	l := newLimiter(LimitOptions{TrustProxy: true})
	for forwarded, want := range map[string]string{
		"198.51.100.1:4711": "198.51.100.1", "[2001:db8:1:2::7]:4711": "2001:db8:1:2::", "203.0.113.9:1, 198.51.100.1:2": "198.51.100.1",
	} {
		r := &http.Request{RemoteAddr: "192.0.2.7:4711", Header: http.Header{"X-Forwarded-For": {forwarded}}}
		if got := l.address(r).String(); got != want {
			t.Errorf("%s: %s", forwarded, got)
		}
	}
}

func TestAskingWhetherItIsReadyCostsNextToNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		d := newDoor(t, Options{Checks: []Check{{"database", func(ctx context.Context) error { asked++; return ctx.Err() }}}})
		gone, leave := context.WithCancel(t.Context())
		leave()
		for range 100 { // of whom the first has hung up
			w := httptest.NewRecorder()
			d.ServeHTTP(w, httptest.NewRequest("GET", "/readyz", nil).WithContext(gone))
			if w.Code != 200 {
				t.Fatal(w.Code)
			}
		}
		if asked != 1 {
			t.Errorf("the database was asked %d times", asked)
		}
		time.Sleep(readyFor)
		if d.ask("GET", "/readyz", ""); asked != 2 {
			t.Error("what was found is told for ever")
		}
	})
}

// ends records the deadlines for writing that are set on a connection.
type ends struct {
	*httptest.ResponseRecorder
	set []time.Time
}

func (e *ends) SetReadDeadline(time.Time) error { return nil }
func (e *ends) SetWriteDeadline(t time.Time) error {
	e.set = append(e.set, t)
	return nil
}

func TestStreamsAndDocumentsHaveTimeOfTheirOwn(t *testing.T) {
	t.Parallel()
	d := newDoor(t, Options{})
	register(d.API, Operation{
		ID: "watch", Method: http.MethodGet, Path: "/watch", Tag: "Operations", Summary: "Watch", Description: "For tests.",
		Access: Open, Stream: true, Status: http.StatusNoContent,
	}, func(context.Context, *Call, *struct{}) (*struct{}, error) { return nil, nil })
	ask := func(r *http.Request) []time.Time {
		r.Header = http.Header{"Idempotency-Key": {goodKey}, "X-Mock-User-Id": {exampleID}, "Content-Type": {"text/csv"}}
		e := &ends{ResponseRecorder: httptest.NewRecorder()}
		if d.ServeHTTP(e, r); e.Code/100 != 2 {
			t.Fatalf("%d %s", e.Code, e.Body)
		}
		return e.set
	}
	if set := ask(httptest.NewRequest("GET", "/api/v1/watch", nil)); len(set) != 1 || !set[0].IsZero() {
		t.Errorf("a stream ends at %v", set)
	}
	began := time.Now()
	if set := ask(httptest.NewRequest("POST", "/api/v1/specimens", strings.NewReader("a"))); len(set) != 1 || set[0].Before(began.Add(documentTimeout)) {
		t.Errorf("a document's answer ends at %v", set)
	}
	if set := ask(httptest.NewRequest("GET", specimenPath, nil)); len(set) != 0 {
		t.Errorf("an ordinary answer has %v beside the server's own", set)
	}
}
