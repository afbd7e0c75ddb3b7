package store_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/pgtest"
	"github.com/rowlock/rowlock/internal/store"
)

// copied makes a copy of the database as it is, which hears of nothing that
// comes later: a replica that is for ever behind, and does not know it.
func copied(t *testing.T, db *pgtest.DB) (url string) {
	t.Helper()
	elsewhere := strings.Replace(db.URL(""), "/"+db.Name, "/postgres", 1)
	admin := connect(t, elsewhere)
	name := db.Name + "_copy"
	for _, sql := range []string{
		"select pg_terminate_backend(pid) from pg_stat_activity where datname = '" + db.Name + "'",
		"create database " + name + " template " + db.Name,
	} {
		if _, err := admin.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		ctx := context.Background()
		conn, err := pgx.Connect(ctx, elsewhere)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close(ctx)
		if _, err := conn.Exec(ctx, "drop database "+name+" with (force)"); err != nil {
			t.Error(err)
		}
	})
	return strings.Replace(db.URL(store.RoleApp), "/"+db.Name, "/"+name, 1)
}

func TestNobodyGoesBackInVersionsByAReplica(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	var show fixture.Made
	if !t.Run("before", func(t *testing.T) { show = fixture.Show(t, fixture.On(t, db), fixture.Options{Seats: 12}) }) {
		t.FailNow()
	}
	replica := copied(t, db)
	s := fixture.On(t, db, func(c *store.Config) { c.ReplicaURL = replica })
	for !s.ReplicaIsUseful() {
	}
	hold := func(i int) int64 {
		t.Helper()
		r, _, err := s.PlaceReservation(t.Context(), fixture.Staff, new(fixture.Key()), store.PlaceRequest{ShowID: show.ID, CustomerID: "guest:a", Seats: []store.SeatRef{{ID: show.Seats[i].ID}}})
		if err != nil {
			t.Fatal(err)
		}
		return r.ShowVersion
	}
	version := hold(3)
	m, err := s.ReadSeatMap(t.Context(), show.ID)
	if err != nil || m.Version != version || string(m.States) != "aaahaaaaaaaa" {
		t.Errorf("%+v, %v", m, err)
	}
	if got, err := s.ReadShow(t.Context(), show.ID, boxoffice.DefaultOrganisationID, false); err != nil || got.Version != version {
		t.Errorf("%+v, %v", got, err)
	}
	later := fixture.Show(t, s, fixture.Options{Seats: 2}) // of which the replica has not heard
	if m, err := s.ReadSeatMap(t.Context(), later.ID); err != nil || len(m.States) != 2 {
		t.Errorf("%+v, %v", m, err)
	}
	filter := store.ShowFilter{Organisation: boxoffice.DefaultOrganisationID, Page: store.Page{Limit: 50}}
	if list, err := s.Shows(t.Context(), filter); err != nil || len(list) != 1 {
		t.Errorf("the public's list is the replica's: %d shows, %v", len(list), err)
	}
	filter.Drafts = true
	if list, err := s.Shows(t.Context(), filter); err != nil || len(list) != 2 {
		t.Errorf("an organiser's list is the primary's: %d shows, %v", len(list), err)
	}
}

func TestAReplicaThatIsAwayIsNotMissed(t *testing.T) {
	t.Parallel()
	s := fixture.Open(t, func(c *store.Config) { c.ReplicaURL = "postgres://nobody@127.0.0.1:1/none" })
	show := fixture.Show(t, s, fixture.Options{})
	if m, err := s.ReadSeatMap(t.Context(), show.ID); err != nil || len(m.States) != 10 {
		t.Errorf("%+v, %v", m, err)
	}
	s.TrustReplica() // as if it had been there a moment ago
	filter := store.ShowFilter{Organisation: boxoffice.DefaultOrganisationID, Page: store.Page{Limit: 50}}
	if list, err := s.Shows(t.Context(), filter); err != nil || len(list) != 1 || list[0].ShowID == uuid.Nil {
		t.Errorf("%d shows, %v", len(list), err)
	}
	if s.ReplicaIsUseful() {
		t.Error("it is asked again")
	}
}

func TestAReplicaThatDoesNotAnswerIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	s := fixture.Open(t, func(c *store.Config) { c.ReplicaURL = "postgres://nobody@" + mute.Addr().String() + "/none" })
	show := fixture.Show(t, s, fixture.Options{})
	for range 2 {
		s.TrustReplica() // as if it had answered a moment ago
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if m, err := s.ReadSeatMap(ctx, show.ID); err != nil || len(m.States) != 10 {
			t.Errorf("%+v, %v", m, err)
		}
		if list, err := s.Shows(ctx, store.ShowFilter{Organisation: boxoffice.DefaultOrganisationID, Page: store.Page{Limit: 50}}); err != nil || len(list) != 1 {
			t.Errorf("%d shows, %v", len(list), err)
		}
	}
}
