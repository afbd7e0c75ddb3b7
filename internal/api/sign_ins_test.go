package api_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/api"
	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/pgtest"
)

var tokenSecret = []byte("the secret of the identity provider")

// instance is one more instance of the service on the same database, which
// remembers nothing yet, by a clock of its own.
func (s *site) instance(now func() time.Time, edit ...func(*api.AuthOptions)) *site {
	auth := api.AuthOptions{Mock: true, Secret: tokenSecret, Keys: s.store, SignIns: s.store, SessionSecret: []byte("a secret of at least thirty-two bytes"), Now: now}
	for _, f := range edit {
		f(&auth)
	}
	return &site{t: s.t, store: s.store, logged: s.logged, API: api.New(api.Options{Log: slog.New(slog.DiscardHandler), Store: s.store, Auth: auth, Limit: api.LimitOptions{PerSecond: 1000}})}
}

// key makes an API key of the default organisation.
func (s *site) key(scopes ...boxoffice.Scope) (string, boxoffice.APIKey) {
	s.t.Helper()
	secret, key, err := s.store.CreateAPIKey(s.t.Context(), boxoffice.DefaultOrganisationID, "test", scopes, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return secret, key
}

// signIn signs a browser in with the credentials of these headers, and returns
// its cookie.
func (s *site) signIn(headers ...string) *http.Cookie {
	s.t.Helper()
	r := s.must("POST", "/organiser/session", "", append([]string{"Idempotency-Key", ""}, headers...)...)
	cookies := r.Result().Cookies()
	if r.Code != 201 || len(cookies) != 1 {
		s.t.Fatalf("%d %s, cookies %v", r.Code, r.Body, cookies)
	}
	return cookies[0]
}

// by are the headers of a browser's request: its cookie and nothing else that
// says who sends it, from a page of the server.
func by(cookie *http.Cookie, more ...string) []string {
	return append([]string{"X-API-Key", "", "Cookie", cookie.Name + "=" + cookie.Value, "Sec-Fetch-Site", "same-origin"}, more...)
}

const venueBody = `{"name":"Haus","city":"Wien","country":"AT","timeZone":"Europe/Vienna"}`

func (s *site) wantCode(r reply, code boxoffice.Code) {
	s.t.Helper()
	if r.text("code") != string(code) {
		s.t.Errorf("got %d %s, want %s", r.Code, r.Body, code)
	}
}

func TestABrowserIsSignedInByACookieThatScriptsCannotReadAndOthersCannotUse(t *testing.T) {
	t.Parallel()
	s := open(t)
	secret, key := s.key(boxoffice.ScopeCatalogueWrite, boxoffice.ScopeSalesRead)
	r := s.must("POST", "/organiser/session", "", "X-API-Key", secret, "Idempotency-Key", "")
	plain := r.Result().Cookies()[0]
	if !plain.HttpOnly || plain.SameSite != http.SameSiteStrictMode || plain.Path != "/" || plain.Domain != "" || plain.Secure || plain.MaxAge != 12*60*60 {
		t.Errorf("%+v", plain)
	}
	if strings.Contains(plain.Value, secret) || len(plain.Value) < 52 || r.text("name") != "key:"+key.Prefix || len(r.list("scopes")) != 2 {
		t.Errorf("%s %s", plain.Value, r.Body)
	}
	if again := s.signIn("X-API-Key", secret); again.Value == plain.Value {
		t.Error("two sessions have the same cookie")
	}
	for _, https := range [][]string{{"Origin", "https://example.com"}, {"X-Forwarded-Proto", "https"}} {
		if c := s.signIn(append(https, "X-API-Key", secret)...); !c.Secure || c.Name != "__Host-"+plain.Name {
			t.Errorf("by %v: %+v", https, c)
		} else if r := s.must("GET", "/organiser/session", "", by(c)...); r.text("name") != "key:"+key.Prefix {
			t.Errorf("%s", r.Body)
		}
	}
	if r := s.must("GET", "/organiser/session", "", by(plain)...); r.text("expiresAt") == "" || r.text("name") != "key:"+key.Prefix {
		t.Errorf("%s", r.Body)
	}
	s.must("GET", "/changes", "", by(plain)...)
	s.wantCode(s.ask("GET", "/shows/"+uuid.NewString()+"/admissions", "", by(plain)...), boxoffice.CodeNotFound) // sales:read will do
	s.wantCode(s.ask("DELETE", "/customers/ada/personal-data", "", by(plain)...), boxoffice.CodeForbidden)       // and is not admin
}

func TestWritesByCookieMustComeFromAPageOfThisServer(t *testing.T) {
	t.Parallel()
	s := open(t)
	cookie := s.signIn()
	for name, headers := range map[string][]string{
		"says nothing":             {"Sec-Fetch-Site", ""},
		"another site":             {"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"},
		"a neighbour":              {"Sec-Fetch-Site", "same-site", "Origin", "http://other.example.com"},
		"an old browser elsewhere": {"Sec-Fetch-Site", "", "Origin", "https://evil.example"},
		"a page of nowhere":        {"Sec-Fetch-Site", "", "Origin", "null"},
	} {
		r := s.ask("POST", "/venues", venueBody, by(cookie, headers...)...)
		if r.Code != 403 {
			t.Errorf("%s: %d %s", name, r.Code, r.Body)
		}
		s.wantCode(r, boxoffice.CodeForbidden)
		s.wantCode(s.ask("DELETE", "/organiser/session", "", by(cookie, headers...)...), boxoffice.CodeForbidden)
	}
	if r := s.must("GET", "/venues", ""); len(r.list("venues")) != 0 {
		t.Errorf("a refused write was done: %s", r.Body)
	}
	s.must("POST", "/venues", venueBody, by(cookie)...)
	s.must("POST", "/venues", venueBody, by(cookie, "Sec-Fetch-Site", "", "Origin", "http://example.com")...)
	// Who reads may come from anywhere: the answer is for the page that asks, and
	// browsers keep it from others.
	s.must("GET", "/changes", "", by(cookie, "Sec-Fetch-Site", "")...)
	s.wantCode(s.ask("POST", "/organiser/session", "", "Sec-Fetch-Site", "cross-site", "Idempotency-Key", ""), boxoffice.CodeForbidden)
}

func TestThereIsNoWriteThatAnotherSitesPageCanMakeWithTheCookie(t *testing.T) {
	t.Parallel()
	s := open(t)
	cookie := s.signIn()
	parameter := regexp.MustCompile(`\{[^}]+\}`)
	seen := 0
	for path, item := range s.OpenAPI().Paths {
		for method, op := range map[string]*huma.Operation{"POST": item.Post, "PUT": item.Put, "PATCH": item.Patch, "DELETE": item.Delete} {
			if op == nil || op.OperationID == "createSession" || op.OperationID == "receivePaymentEvent" { // they do not look at who calls
				continue
			}
			seen++
			r := s.ask(method, parameter.ReplaceAllString(path, uuid.NewString()), "{}", by(cookie, "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example")...)
			if r.Code != 403 || !strings.Contains(r.text("detail"), "a page of this server") {
				t.Errorf("%s %s: %d %s", method, path, r.Code, r.Body)
			}
		}
	}
	if seen < 40 {
		t.Errorf("%d writes: where are the others?", seen)
	}
}

func TestCredentialsThatARequestNamesWinOverTheCookie(t *testing.T) {
	t.Parallel()
	s := open(t)
	cookie := s.signIn()
	sales, _ := s.key(boxoffice.ScopeSalesRead)
	s.wantCode(s.ask("POST", "/venues", venueBody, by(cookie, "X-API-Key", sales)...), boxoffice.CodeForbidden)
	s.wantCode(s.ask("POST", "/venues", venueBody, by(cookie, "X-API-Key", "nonsense")...), boxoffice.CodeUnauthenticated)
	s.wantCode(s.ask("POST", "/venues", venueBody, by(cookie, "Authorization", "Bearer nonsense")...), boxoffice.CodeUnauthenticated)
	s.wantCode(s.ask("POST", "/venues", venueBody, by(cookie, "X-Mock-User-Id", uuid.NewString())...), boxoffice.CodeForbidden)
	guest := s.must("POST", "/sessions", "", by(cookie, "Idempotency-Key", "")...).text("token")
	s.wantCode(s.ask("GET", "/changes", "", by(cookie, "Authorization", "Bearer "+guest)...), boxoffice.CodeForbidden)
	// And where others are named, where a write is from does not matter.
	s.must("POST", "/venues", venueBody, "Cookie", cookie.Name+"="+cookie.Value, "Sec-Fetch-Site", "cross-site")
}

func TestWhoSignsOutIsSignedOutOnEveryInstance(t *testing.T) {
	t.Parallel()
	s := open(t)
	now := time.Now()
	other := s.instance(func() time.Time { return now })
	cookie := s.signIn()
	s.must("GET", "/changes", "", by(cookie)...)
	other.must("GET", "/changes", "", by(cookie)...)
	out := s.must("DELETE", "/organiser/session", "", by(cookie, "Idempotency-Key", "")...)
	if gone := out.Result().Cookies(); out.Code != 204 || len(gone) != 1 || gone[0].Name != cookie.Name || gone[0].MaxAge >= 0 {
		t.Errorf("%d %v", out.Code, gone)
	}
	s.wantCode(s.ask("GET", "/changes", "", by(cookie)...), boxoffice.CodeUnauthenticated)
	now = now.Add(31 * time.Second)
	other.wantCode(other.ask("GET", "/changes", "", by(cookie)...), boxoffice.CodeUnauthenticated)
	s.must("DELETE", "/organiser/session", "", by(cookie, "Idempotency-Key", "")...)                    // again
	s.must("DELETE", "/organiser/session", "", "X-API-Key", "", "Idempotency-Key", "", "Cookie", "a=b") // and by nobody
}

func TestSigningInAgainEndsTheSessionThatTheBrowserHad(t *testing.T) {
	t.Parallel()
	s := open(t)
	first := s.signIn()
	s.must("GET", "/changes", "", by(first)...)
	second := s.signIn("Cookie", first.Name+"="+first.Value, "Sec-Fetch-Site", "same-origin")
	s.must("GET", "/changes", "", by(second)...)
	s.wantCode(s.ask("GET", "/changes", "", by(first)...), boxoffice.CodeUnauthenticated)
	// A cookie that another has planted here is not taken over.
	third := s.signIn("Cookie", first.Name+"=planted", "Sec-Fetch-Site", "same-origin")
	if third.Value == "planted" {
		t.Error("the session has a name that somebody else chose")
	}
	s.wantCode(s.ask("GET", "/changes", "", by(&http.Cookie{Name: first.Name, Value: "planted"})...), boxoffice.CodeUnauthenticated)
}

func TestWhoTriesKeysOutAtTheSignInIsTurnedAway(t *testing.T) {
	t.Parallel()
	s := open(t)
	secret, _ := s.key(boxoffice.ScopeSalesRead)
	limited := func() *site { // to ten unknown requests, or one to sign in, in a long time
		auth := api.AuthOptions{Keys: s.store, SignIns: s.store}
		return &site{t: t, store: s.store, logged: s.logged, API: api.New(api.Options{
			Log: slog.New(slog.DiscardHandler), Store: s.store, Auth: auth, Limit: api.LimitOptions{PerSecond: 0.001},
		})}
	}
	limited().signIn("X-API-Key", secret)
	guessed := limited()
	for _, key := range []string{"guess", "another guess", secret} {
		r := guessed.ask("POST", "/organiser/session", "", "X-API-Key", key, "Idempotency-Key", "")
		guessed.wantCode(r, boxoffice.CodeRateLimited)
		if r.Header().Get("Retry-After") == "" || len(r.Result().Cookies()) != 0 {
			t.Errorf("%v", r.Header())
		}
	}
}

func TestASessionEndsWithItsKey(t *testing.T) {
	t.Parallel()
	s := open(t)
	now := time.Now()
	other := s.instance(func() time.Time { return now })
	secret, key := s.key(boxoffice.ScopeSalesRead)
	cookie := other.signIn("X-API-Key", secret)
	other.must("GET", "/changes", "", by(cookie)...)
	if _, err := s.store.RevokeAPIKey(t.Context(), boxoffice.DefaultOrganisationID, key.ID); err != nil {
		t.Fatal(err)
	}
	now = now.Add(31 * time.Second) // an instance may remember for half a minute
	other.wantCode(other.ask("GET", "/changes", "", by(cookie)...), boxoffice.CodeUnauthenticated)
	other.wantCode(other.ask("GET", "/changes", "", "X-API-Key", secret), boxoffice.CodeUnauthenticated)
	s.wantCode(s.ask("GET", "/changes", "", by(cookie)...), boxoffice.CodeUnauthenticated)
	other.wantCode(other.ask("POST", "/organiser/session", "", "X-API-Key", secret, "Idempotency-Key", ""), boxoffice.CodeUnauthenticated)
}

func TestASessionIsOverAfterTwelveHoursAndNothingProlongsIt(t *testing.T) {
	t.Parallel()
	s := open(t)
	now := time.Now()
	other := s.instance(func() time.Time { return now })
	cookie := other.signIn()
	other.wantCode(other.ask("POST", "/organiser/session", "", by(cookie, "Idempotency-Key", "")...), boxoffice.CodeUnauthenticated)
	now = now.Add(12*time.Hour - time.Minute)
	other.must("GET", "/changes", "", by(cookie)...) // looked up again, by the database's clock
	now = now.Add(time.Minute)
	other.wantCode(other.ask("GET", "/changes", "", by(cookie)...), boxoffice.CodeUnauthenticated)
	// By the database's clock too: one that was opened long ago.
	hash := boxoffice.HashAPIKey("opened long ago")
	in := boxoffice.SignIn{OrganisationID: boxoffice.DefaultOrganisationID, KeyHash: boxoffice.HashAPIKey(organiser), ExpiresAt: time.Now().Add(-time.Second)}
	if err := s.store.OpenSignIn(t.Context(), hash, in); err != nil {
		t.Fatal(err)
	}
	if _, err := s.store.SignInByHash(t.Context(), hash); boxoffice.CodeOf(err) != boxoffice.CodeNotFound {
		t.Errorf("found: %v", err)
	}
	if n, err := s.store.PurgeSessions(t.Context(), 10); n != 1 || err != nil {
		t.Errorf("%d were purged, %v", n, err)
	}
}

func TestASessionIsOfItsOrganisationOnly(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s := openOn(t, db)
	theirs := uuid.New()
	if _, err := db.Pool("").Exec(t.Context(), `insert into organisations (organisation_id, name) values ($1, 'Others')`, theirs); err != nil {
		t.Fatal(err)
	}
	secret, _, err := s.store.CreateAPIKey(t.Context(), theirs, "theirs", []boxoffice.Scope{boxoffice.ScopeAdmin}, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, hall := s.hall()
	show := s.show(s.event("Hamlet"), s.plan(hall, "section,row,seat,category\nS,A,1,Front\nS,B,1,Back\n"))
	cookie := s.signIn("X-API-Key", secret)
	for _, path := range []string{"/shows/" + show + "/admissions", "/halls/" + hall + "/plans"} {
		s.wantCode(s.ask("GET", path, "", by(cookie)...), boxoffice.CodeNotFound)
	}
	s.wantCode(s.ask("POST", "/shows/"+show+"/pause", "", by(cookie)...), boxoffice.CodeNotFound)
	if r := s.must("GET", "/changes", "", by(cookie)...); len(r.list("changes")) != 0 {
		t.Errorf("%s", r.Body)
	}
}

func TestATokenWithScopesSignsInForAsLongAsItLives(t *testing.T) {
	t.Parallel()
	s := open(t)
	now := time.Now()
	other := s.instance(func() time.Time { return now })
	token := func(life time.Duration, scope string) string {
		text, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
			"iss": "https://id.example", "sub": "ada", "scope": scope, "exp": now.Add(life).Unix(),
		}).SignedString(tokenSecret)
		if err != nil {
			t.Fatal(err)
		}
		return "Bearer " + text
	}
	in := func(life time.Duration, scope string) *http.Cookie {
		return other.signIn("X-API-Key", "", "Authorization", token(life, scope))
	}
	cookie := in(time.Hour, "sales:read openid")
	r := other.must("GET", "/organiser/session", "", by(cookie)...)
	if r.text("name") != "https://id.example|ada" || len(r.list("scopes")) != 1 || r.list("scopes")[0] != "sales:read" || cookie.MaxAge > 3600 {
		t.Errorf("%s, %d seconds", r.Body, cookie.MaxAge)
	}
	other.must("GET", "/changes", "", by(cookie)...)
	other.wantCode(other.ask("POST", "/venues", venueBody, by(cookie)...), boxoffice.CodeForbidden)
	if long := in(48*time.Hour, "sales:read"); long.MaxAge != 12*60*60 {
		t.Errorf("%d seconds", long.MaxAge)
	}
	other.wantCode(other.ask("POST", "/organiser/session", "", "X-API-Key", "", "Authorization", token(time.Hour, "openid"), "Idempotency-Key", ""), boxoffice.CodeForbidden)
	now = now.Add(time.Hour)
	other.wantCode(other.ask("GET", "/changes", "", by(cookie)...), boxoffice.CodeUnauthenticated)
}

func TestGuestsAndStrangersCannotSignIn(t *testing.T) {
	t.Parallel()
	s := open(t)
	guest := s.must("POST", "/sessions", "", "X-API-Key", "", "Idempotency-Key", "").text("token")
	for code, headers := range map[boxoffice.Code][][]string{
		boxoffice.CodeForbidden:       {{"Authorization", "Bearer " + guest}, {"X-Mock-User-Id", uuid.NewString()}},
		boxoffice.CodeUnauthenticated: {{}, {"Cookie", "rowlock-organiser=guess", "Sec-Fetch-Site", "same-origin"}, {"X-API-Key", "guess"}},
	} {
		for _, h := range headers {
			r := s.ask("POST", "/organiser/session", "", append([]string{"X-API-Key", "", "Idempotency-Key", ""}, h...)...)
			s.wantCode(r, code)
			if len(r.Result().Cookies()) != 0 {
				t.Errorf("%v: %v", h, r.Result().Cookies())
			}
		}
	}
	// A session stands for a key or a token, not for what both may do together.
	r := s.ask("POST", "/organiser/session", "", "X-Mock-User-Id", uuid.NewString(), "Idempotency-Key", "")
	s.wantCode(r, boxoffice.CodeForbidden)
	closed := s.instance(time.Now, func(o *api.AuthOptions) { o.SignIns = nil })
	closed.wantCode(closed.ask("POST", "/organiser/session", "", "Idempotency-Key", ""), boxoffice.CodeForbidden)
}

func TestACookieThatIsWorthNothingLeavesPublicReadsPublic(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, value := range []string{"rowlock-organiser=guess", "rowlock-organiser=", "rowlock-organiser=" + strings.Repeat("x", 300), "other=1"} {
		s.must("GET", "/shows", "", "X-API-Key", "", "Cookie", value)
		s.wantCode(s.ask("GET", "/changes", "", "X-API-Key", "", "Cookie", value), boxoffice.CodeUnauthenticated)
	}
	away := s.instance(time.Now, func(o *api.AuthOptions) { o.SignIns = noSignIns{} })
	away.must("GET", "/shows", "", "X-API-Key", "", "Cookie", "rowlock-organiser=guess")
	away.wantCode(away.ask("GET", "/changes", "", "X-API-Key", "", "Cookie", "rowlock-organiser=guess"), boxoffice.CodeUnavailable)
}

// noSignIns is a database that is away.
type noSignIns struct{}

var errAway = errors.New("connection refused")

func (noSignIns) OpenSignIn(context.Context, []byte, boxoffice.SignIn) error { return errAway }
func (noSignIns) SignInByHash(context.Context, []byte) (boxoffice.SignIn, error) {
	return boxoffice.SignIn{}, errAway
}
func (noSignIns) CloseSignIn(context.Context, []byte) error { return errAway }

func TestOperatorsPagesTakeABrowserThatIsSignedIn(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.MountOps("/riverui/", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "jobs") }))
	ops, _ := s.key(boxoffice.ScopeOps)
	sales, _ := s.key(boxoffice.ScopeSalesRead)
	send := func(method string, cookie *http.Cookie, headers ...string) int {
		r := httptest.NewRequest(method, "/riverui/jobs", nil)
		r.AddCookie(cookie)
		for pair := range slices.Chunk(headers, 2) {
			r.Header.Set(pair[0], pair[1])
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w.Code
	}
	cookie := s.signIn("X-API-Key", ops)
	for name, c := range map[string]struct{ got, want int }{
		"read":                    {send("GET", cookie), 200},
		"write from here":         {send("POST", cookie, "Sec-Fetch-Site", "same-origin"), 200},
		"write from elsewhere":    {send("POST", cookie, "Sec-Fetch-Site", "cross-site"), 403},
		"write from who knows":    {send("POST", cookie), 403},
		"other scope":             {send("GET", s.signIn("X-API-Key", sales)), 403},
		"key of another":          {send("GET", cookie, "X-API-Key", sales), 403},
		"signed out or never was": {send("GET", &http.Cookie{Name: cookie.Name, Value: "guess"}), 401},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, want %d", name, c.got, c.want)
		}
	}
}
