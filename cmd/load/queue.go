package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"time"
)

// queueEntry is a place in a waiting room.
type queueEntry struct {
	EntryID, Status, Reason string
	Position                int64
	Open                    bool
	Admission               *struct{ Token string }
	ReturnUntil             *time.Time
}

// queueUp waits in the show's waiting room until it is the buyer's turn, or
// nobody needs one any more.
func (b *buyer) queueUp(selling context.Context) error {
	began := time.Now()
	defer func() { b.due = time.Now() }()
	join := request{step: stepQueue, method: http.MethodPost, path: "/shows/" + b.hall.show.ShowID + "/queue"}
	for r := join; ; {
		a, err := b.ask(r)
		if err != nil {
			return err
		}
		var e queueEntry
		switch {
		case a.status == http.StatusOK, a.status == http.StatusCreated:
			if err := a.decode(&e); err != nil {
				return err
			}
			b.stands(&e)
		case a.code == "CONFLICT": // it has closed meanwhile
			var refused struct{ Reason string }
			if err := a.decode(&refused); err != nil {
				return err
			}
			e.Reason = refused.Reason
		case a.code == "SHOW_NOT_ON_SALE":
			return errRefused{closed}
		default:
			return &unexpected{r.method + " " + r.path, a}
		}
		switch {
		case e.Status == "admitted" && e.Admission != nil:
			b.turn = e.Admission.Token
			b.meter.letIn(time.Since(began))
			return nil
		case e.Reason == "sold_out":
			return errRefused{soldOut}
		case e.Reason == "cancelled", e.Reason == "ended", e.Reason == "after_sales":
			return errRefused{closed}
		case !e.Open && e.Reason != "before_sales" && e.Reason != "paused":
			b.turn = ""
			return nil
		case e.Status == "expired" && e.ReturnUntil != nil:
			r = join
			continue
		case e.Status != "waiting":
			return errRefused{missed}
		}
		next := time.Now().Add(cmp.Or(a.retryAfter, 2*time.Second))
		switch {
		case next.Sub(began) > b.QueuePatience:
			return errRefused{impatient}
		case !until(selling, next):
			return errRefused{interrupted}
		}
		r = request{step: stepQueue, method: http.MethodGet, path: "/queue/" + e.EntryID}
	}
}

// stands notes where the buyer stands. A position only falls.
func (b *buyer) stands(e *queueEntry) {
	if b.queued != e.EntryID {
		b.queued, b.position = e.EntryID, 0
	}
	if e.Position == 0 {
		return
	}
	if b.position > 0 && e.Position > b.position && b.rose == "" {
		b.rose = fmt.Sprintf("entry %s was number %d, and then number %d", e.EntryID, b.position, e.Position)
	}
	b.position = e.Position
}

// queued is what became of those who waited; nobody examined: there was no
// waiting room.
func queued(records []record) check {
	c := check{Rule: ruleQueue, Broken: []string{}}
	for i := range records {
		if records[i].queued != "" {
			c.Examined++
		}
		if records[i].rose != "" {
			c.Broken = append(c.Broken, records[i].rose)
		}
	}
	return c
}
