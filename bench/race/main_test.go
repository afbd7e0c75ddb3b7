package main

import (
	"context"
	"testing"
	"time"

	"github.com/rowlock/rowlock/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// A race is run by hand, so nobody would notice that the schema has moved on.
func TestStatementsFitTheSchema(t *testing.T) {
	t.Parallel()
	conn, err := pgtest.New(t).Pool("").Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	if _, err := conn.Conn().Prepare(t.Context(), "", sqlCount); err != nil {
		t.Error(err)
	}
}

func TestTheCrowdWantsTheBestSeatsThatAreLeft(t *testing.T) {
	t.Parallel()
	c := new(crowd)
	for range 10_000 {
		nos := c.want(nil)
		if len(nos) == 0 || nos[0] >= front || len(nos) == 2 && nos[1] != nos[0]+1 || len(nos) > 2 {
			t.Fatalf("%v", nos)
		}
	}
	for i := range c.sold[:seats-1] {
		c.sold[i].Store(true)
	}
	if nos := c.want(nil); len(nos) != 1 || nos[0] != seats-1 {
		t.Errorf("the last seat: %v", nos)
	}
	c.sold[seats-1].Store(true)
	if nos := c.want(nil); nos != nil {
		t.Errorf("of a full house: %v", nos)
	}
	if waits := c.caller(context.Background(), nil, "late", time.Now().Add(time.Hour)); waits != nil {
		t.Errorf("%v", waits)
	}
}
