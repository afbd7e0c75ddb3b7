package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/pgtest"
	"github.com/rowlock/rowlock/internal/store"
	"github.com/rowlock/rowlock/sql/queries"
)

// pooled starts PgBouncer in transaction mode before a database, with fewer
// connections than who comes through it, and returns the URL that the docs say
// to use.
func pooled(t *testing.T, db *pgtest.DB) (address string) {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		t.Skip("pgbouncer is not installed (Debian: apt install pgbouncer)")
	}
	said, err := exec.Command(program, "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	var major, minor int
	if _, err := fmt.Sscanf(string(said), "PgBouncer %d.%d", &major, &minor); err != nil {
		t.Fatalf("%s: %v", said, err)
	}
	u, err := url.Parse(db.URL(store.RoleApp))
	if err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	_, port, _ := net.SplitHostPort(free.Addr().String())
	password, _ := u.User.Password()

	dir := t.TempDir()
	settings := "[databases]\n* = host=" + u.Hostname() + " port=" + u.Port() + "\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = " + port +
		"\nunix_socket_dir =\npool_mode = transaction\ndefault_pool_size = 2\nauth_type = trust\nauth_file = " + filepath.Join(dir, "users") + "\n"
	if os.Geteuid() == 0 { // it will not be root
		settings += "user = nobody\n"
		if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	query := u.Query()
	if major == 1 && minor < 21 { // it knows no prepared statements
		query.Set("default_query_exec_mode", "cache_describe")
	} else {
		settings += "max_prepared_statements = 200\n"
	}
	for name, text := range map[string]string{"ini": settings, "users": `"` + store.RoleApp + `" "` + password + `"` + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), program, filepath.Join(dir, "ini"))
	var log lockedBuffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Wait()
		if t.Failed() {
			t.Logf("log of %s\n%s", bytes.TrimSpace(said), log.String())
		}
	})
	u.Host, u.RawQuery = "127.0.0.1:"+port, query.Encode()
	until(t, "PgBouncer answers", func() bool {
		conn, err := pgx.Connect(t.Context(), u.String())
		if err == nil {
			conn.Close(t.Context())
		}
		return err == nil
	})
	return u.String()
}

func TestRequestsThroughPgBouncer(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	address := pooled(t, db)
	const buyers = 8
	direct := fixture.On(t, db)
	made := fixture.Show(t, direct, fixture.Options{Seats: 2 * buyers})
	const key = "the key of the box office"
	if err := direct.EnsureAPIKey(t.Context(), key, "box office", []boxoffice.Scope{boxoffice.ScopeAdmin}); err != nil {
		t.Fatal(err)
	}
	p := start(t, with(production(db), "ENV", "development", "AUTH_MODE", "mock", "DATABASE_URL", address, "DATABASE_DIRECT_URL", db.URL(store.RoleApp)), "serve").ready()
	ask := func(who, method, path, body string, want int) (answer map[string]any) {
		header := map[string]string{"Content-Type": "application/json", "X-Mock-User-Id": who, "Idempotency-Key": strings.ReplaceAll(uuid.NewString(), "-", "")}
		if who == "" {
			header["X-API-Key"] = key
			delete(header, "X-Mock-User-Id")
		}
		code, text := p.send(method, "/api/v1"+path, body, header)
		if code != want {
			t.Errorf("%s %s: %d %s, want %d", method, path, code, text, want)
		}
		if err := json.NewDecoder(strings.NewReader(text)).Decode(&answer); err != nil && err != io.EOF {
			t.Errorf("%s %s: %s: %v", method, path, text, err)
		}
		return answer
	}
	show := "/shows/" + made.ID.String()
	place := func(seat int) string {
		return fmt.Sprintf(`{"showId":"%s","seats":[{"seatId":"%s"}]}`, made.ID, made.Seats[seat].ID)
	}
	super := db.Pool("")
	var began time.Time
	if err := super.QueryRow(t.Context(), `select clock_timestamp()`).Scan(&began); err != nil {
		t.Fatal(err)
	}

	// Each organiser imports a plan; none of them keeps the connection.
	var group sync.WaitGroup
	for i := range buyers {
		group.Go(func() {
			csv := fmt.Sprintf("section,row,seat,category\nStalls,A,1,Front\nStalls,A,%d,Back\n", i+2)
			code, text := p.send("POST", "/api/v1/halls/"+made.HallID.String()+"/plans?format=csv", csv, map[string]string{
				"Content-Type": "text/csv", "X-API-Key": key, "Idempotency-Key": strings.ReplaceAll(uuid.NewString(), "-", ""),
			})
			if code != 201 {
				t.Errorf("a plan: %d %s", code, text)
			}
		})
	}
	group.Wait()

	// Each buyer holds, looks, adds a seat, keeps both for longer and gives them
	// back, until connections have made their plans anew, twice; then they buy.
	for i := range buyers {
		group.Go(func() {
			who := uuid.NewString()
			for over := false; !over && !t.Failed(); {
				if err := super.QueryRow(t.Context(), `select clock_timestamp() > $1::timestamptz + interval '11 seconds'`, began).Scan(&over); err != nil {
					t.Error(err)
					return
				}
				r := ask(who, "POST", "/reservations", place(2*i), 201)
				hold := fmt.Sprint("/reservations/", r["reservationId"])
				ask(who, "GET", hold, "", 200)
				ask(who, "PATCH", hold, `{"add":{"seats":[{"label":"`+made.Seats[2*i+1].Label+`"}]}}`, 200)
				ask(who, "POST", hold+"/extend", "", 200)
				ask("", "POST", show+"/seats/block", `{"reason":"r","seats":[{"label":"`+made.Seats[2*i].Label+`"}]}`, 409)
				ask("", "GET", "/reservations?showId="+made.ID.String(), "", 200)
				if over {
					ask("", "POST", hold+"/confirm", `{"paymentMethod":"comp"}`, 201)
				} else {
					ask(who, "DELETE", hold, "", 204)
				}
			}
		})
	}
	group.Wait()
	for _, seat := range ask("", "GET", show+"/seats", "", 200)["seats"].([]any) {
		if seat := seat.(map[string]any); seat["status"] != "booked" {
			t.Errorf("%v is %v", seat["label"], seat["status"])
		}
	}
	if _, page := p.get("/metrics"); !strings.Contains(page, "\nrowlock_listening 1\n") {
		t.Error("it does not hear of other instances' changes")
	}
	p.terminate()
	p.wait()
}

// What makes plans anew is run between statements of others on the same
// connection, which they have prepared.
func TestPlansAreMadeAnewThroughPgBouncer(t *testing.T) {
	t.Parallel()
	address := pooled(t, pgtest.New(t))
	var conns []*pgx.Conn
	for range 5 {
		conn, err := pgx.Connect(t.Context(), address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(t.Context())
		conns = append(conns, conn)
	}
	for range 20 {
		for i, conn := range conns {
			var lag float64
			if err := conn.QueryRow(t.Context(), queries.All()["service_replica_lag"]).Scan(&lag); err != nil {
				t.Fatal(err)
			}
			var same int
			if err := conn.QueryRow(t.Context(), `select $1::int`, i).Scan(&same); err != nil || same != i {
				t.Fatal(same, err)
			}
			if _, err := conn.Exec(t.Context(), queries.All()["service_replan"]); err != nil {
				t.Fatal(err)
			}
		}
	}
}
