package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/pgtest"
	"github.com/rowlock/rowlock/internal/store"
)

func TestADrawIsRunAgainFromWhatWasPublished(t *testing.T) {
	t.Parallel()
	key := []byte("a key of thirty-two bytes in all")
	sum := sha256.Sum256(key)
	file := func(hash string) string {
		return fmt.Sprintf(`{"showId":"x","draws":[{"draw":1,"first":0,"entries":50,"keyHash":%q,"key":%q,"publicValue":"7f3a","publicFrom":"beacon"},
			{"draw":2,"first":50,"entries":3,"keyHash":"not drawn yet"}]}`, hash, hex.EncodeToString(key))
	}
	run := func(input string, args ...string) (code int, out, said string) {
		var stdout, stderr bytes.Buffer
		code = rowlock(append([]string{"draw"}, args...), strings.NewReader(input), &stdout, &stderr)
		return code, stdout.String(), stderr.String()
	}
	code, out, said := run(file(hex.EncodeToString(sum[:])), "--file=-")
	if lines := strings.Split(strings.TrimSpace(out), "\n"); code != 0 || len(lines) != 50 || !strings.Contains(said, "draw 2 is not drawn yet") {
		t.Errorf("%d\n%s\n%s", code, out, said)
	}
	want := fmt.Sprintf("31\t%d\n", boxoffice.NewDraw(key, "7f3a", 50).At(30)+1)
	if code, only, _ := run(file(hex.EncodeToString(sum[:])), "--file=-", "--number=31"); code != 0 || only != want || !strings.Contains(out, want) {
		t.Errorf("%d %q, want %q", code, only, want)
	}
	if code, out, _ := run(file(hex.EncodeToString(sum[:]))+file(hex.EncodeToString(sum[:])), "--file=-"); code != 0 || strings.Count(out, "\n") != 100 {
		t.Errorf("two pages: %d\n%s", code, out)
	}
	if code, out, said := run(file(hex.EncodeToString(sum[:])), "--file=-", "--number=52"); code != 1 || out != "" || !strings.Contains(said, "number 52 has no place") {
		t.Errorf("%d %q %s", code, out, said)
	}
	if code, _, said := run(file("another"), "--file=-"); code != 1 || !strings.Contains(said, "WRONG") {
		t.Errorf("%d %s", code, said)
	}
	for _, args := range [][]string{{}, {"--file=-", "--show=" + uuid.NewString()}, {"--show=x"}} {
		if code, _, said := run("", args...); code != 2 {
			t.Errorf("%v: %d %s", args, code, said)
		}
	}
}

func TestADrawIsHeldAgainstItsDatabase(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s := fixture.On(t, db)
	soon, ago := time.Now().Add(time.Hour), time.Now().Add(-time.Hour)
	show := fixture.Show(t, s, fixture.Options{Edit: func(n *store.NewShow) { n.SalesStartAt = &soon }})
	amend := func(a store.ShowAmendment) {
		t.Helper()
		if _, err := s.AmendShow(t.Context(), fixture.Staff, new(fixture.Key()), boxoffice.DefaultOrganisationID, show.ID, a); err != nil {
			t.Fatal(err)
		}
	}
	amend(store.ShowAmendment{Queue: &boxoffice.QueueChange{RatePerMinute: new(1_000_000)}})
	if _, err := s.SetQueue(t.Context(), fixture.Staff, new(fixture.Key()), boxoffice.DefaultOrganisationID, show.ID, boxoffice.SetQueue{Open: true}); err != nil {
		t.Fatal(err)
	}
	const people = 40
	for i := range people {
		if _, _, err := s.JoinQueue(t.Context(), fixture.Key(), fmt.Sprint("customer ", i), show.ID); err != nil {
			t.Fatal(err)
		}
	}
	amend(store.ShowAmendment{SalesStartAt: new(&ago)})
	for called := 0; called < people; {
		n, err := s.CallQueue(t.Context(), show.ID)
		if err != nil {
			t.Fatal(err)
		}
		called += n
	}
	run := func() (said string, err error) {
		var out, stderr bytes.Buffer
		cmd := drawVerb()
		cmd.SetOut(&out)
		cmd.SetErr(&stderr)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs([]string{"--show=" + show.ID.String(), "--database-url=" + db.URL(store.RoleApp), "--database-lane-url=" + db.URL(store.RoleLane)})
		err = cmd.ExecuteContext(context.WithoutCancel(t.Context()))
		return stderr.String(), err
	}
	if said, err := run(); err != nil || !strings.Contains(said, "40 were called, in this order") {
		t.Errorf("%v\n%s", err, said)
	}
	for _, harm := range []string{
		"update queue_admissions set position = 100 - position",
		"update queue_entries set entry_id = gen_random_uuid() where number = 7",
	} {
		if _, err := db.Pool("").Exec(t.Context(), harm); err != nil {
			t.Fatal(err)
		}
		if said, err := run(); err == nil || !strings.Contains(said, "WRONG") {
			t.Errorf("after %s: %v\n%s", harm, err, said)
		}
		if _, err := db.Pool("").Exec(t.Context(), "update queue_admissions set position = 100 - position where position > 50"); err != nil {
			t.Fatal(err)
		}
	}
}
