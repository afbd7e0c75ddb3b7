package store

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/sql/queries"
)

var (
	sqlWaitlistShowOf   = queries.Must("waitlist_show_of")
	sqlWaitlistRead     = queries.Must("waitlist_read")
	sqlWaitlistList     = queries.Must("waitlist_list")
	sqlWaitlistPosition = queries.Must("waitlist_position")
	sqlWaitlistLook     = queries.Must("waitlist_look")
	sqlWaitlistShows    = queries.Must("waitlist_shows")
	sqlWaitlistPurge    = queries.Must("waitlist_buyers_purge")
)

// WaitlistView is an entry of a waitlist as a client sees it, at one instant.
type WaitlistView struct {
	boxoffice.WaitlistEntry // Status is the reader's
	OrganisationID          uuid.UUID
	ShowID                  uuid.UUID
	Buyer                   *boxoffice.Buyer // nil: forgotten
	OfferEnds               time.Time        // zero: no offer
	Position                int              // among those who wait, from 1; 0: it does not wait
	// Why it has no offer, while it waits; Free is how many places of its
	// categories there were when that was last seen, at SeenAt.
	Why         boxoffice.WaitlistReason
	Free        int
	SeenAt      time.Time
	ShowVersion int64
	Now         time.Time // the clock that Status was judged by
}

// JoinRequest is a party that wants to wait.
type JoinRequest struct {
	ShowID     uuid.UUID
	CustomerID string
	PartySize  int
	Categories []string // the best first; nil: any
	Buyer      boxoffice.Buyer
}

// JoinWaitlist puts a party on a show's waitlist; see [boxoffice.JoinWaitlist].
// The answer is the entry as it joined, also when it is that of an earlier
// request with the same key.
func (s *Store) JoinWaitlist(ctx context.Context, actor boxoffice.Actor, key *boxoffice.IdempotencyKey, req JoinRequest) (*WaitlistView, bool, error) {
	if _, err := s.termsOf(ctx, req.ShowID); err != nil {
		return nil, false, err
	}
	out, err := s.do(ctx, req.ShowID, &laneCommand{Command: boxoffice.Command{Key: key, Actor: actor, Do: &boxoffice.JoinWaitlist{
		ID: NewID(), CustomerID: req.CustomerID, PartySize: req.PartySize, Categories: req.Categories, Buyer: &req.Buyer,
	}}})
	if err != nil {
		return nil, false, err
	}
	v, err := s.waitlistEntry(ctx, out.Receipt.ID)
	if err != nil {
		return nil, false, err
	}
	v.Status, v.OfferedAt, v.ClosedAt, v.ReservationID, v.OfferEnds = boxoffice.WaitlistWaiting, time.Time{}, time.Time{}, uuid.Nil, time.Time{}
	v.Position, v.Why, v.Free, v.SeenAt = out.Receipt.Count, boxoffice.WaitlistReason(out.Receipt.Why), out.Receipt.Free, out.Receipt.At
	v.ShowVersion, v.Now = out.Receipt.Version, out.Receipt.At
	return v, out.Replayed, nil
}

// LeaveWaitlist takes an entry off its waitlist; see [boxoffice.LeaveWaitlist].
// It returns the show's version.
func (s *Store) LeaveWaitlist(ctx context.Context, actor boxoffice.Actor, key *boxoffice.IdempotencyKey, id uuid.UUID) (version int64, replayed bool, err error) {
	var show uuid.UUID
	if err := s.pool.QueryRow(ctx, sqlWaitlistShowOf, id).Scan(&show); errors.Is(err, pgx.ErrNoRows) {
		return 0, false, errNoEntry()
	} else if err != nil {
		return 0, false, coded(err)
	}
	out, err := s.do(ctx, show, &laneCommand{Command: boxoffice.Command{Key: key, Actor: actor, Do: &boxoffice.LeaveWaitlist{ID: id}}})
	if err != nil {
		return 0, false, err
	}
	return out.Receipt.Version, out.Replayed, nil
}

func errNoEntry() error {
	return boxoffice.Refuse(boxoffice.CodeNotFound, "There is no such entry.")
}

// OfferWaitlist has the waitlist of a show served; see [boxoffice.OfferWaitlist].
func (s *Store) OfferWaitlist(ctx context.Context, show uuid.UUID) error {
	_, err := s.do(ctx, show, &laneCommand{Command: boxoffice.Command{
		Actor: boxoffice.Actor{Staff: true, Name: "system"}, Do: &boxoffice.OfferWaitlist{},
	}})
	return err
}

// UnservedShows lists shows on sale where somebody waits though something is
// free, at most limit.
func (s *Store) UnservedShows(ctx context.Context, limit int) ([]uuid.UUID, error) {
	rows, err := s.pool.Query(ctx, sqlWaitlistShows, limit)
	return collect(rows, err, scanID)
}

// PurgeWaitlistBuyers forgets who waited for shows that are long over, at most
// limit. Their entries stay, without a name.
func (s *Store) PurgeWaitlistBuyers(ctx context.Context, limit int) (n int64, err error) {
	tag, err := s.pool.Exec(ctx, sqlWaitlistPurge, limit)
	return tag.RowsAffected(), coded(err)
}

// ReadWaitlistEntry returns an entry, also after its end. A zero organisation
// reads all organisations', and customerID "" anybody's; otherwise those of
// others are NOT_FOUND.
func (s *Store) ReadWaitlistEntry(ctx context.Context, organisation uuid.UUID, customerID string, id uuid.UUID) (*WaitlistView, error) {
	v, err := s.waitlistEntry(ctx, id)
	switch {
	case err != nil:
		return nil, err
	case customerID != "" && v.CustomerID != customerID, organisation != uuid.Nil && v.OrganisationID != organisation:
		return nil, errNoEntry()
	}
	return v, s.explainWaiting(ctx, v.ShowID, []*WaitlistView{v})
}

// waitlistEntry reads an entry as it is written down.
func (s *Store) waitlistEntry(ctx context.Context, id uuid.UUID) (*WaitlistView, error) {
	rows, err := s.pool.Query(ctx, sqlWaitlistRead, id)
	list, err := collect(rows, err, scanWaitlistView)
	if err == nil && len(list) == 0 {
		err = errNoEntry()
	}
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// WaitlistFilter says which entries of a show to list.
type WaitlistFilter struct {
	OrganisationID uuid.UUID
	ShowID         uuid.UUID
	Status         boxoffice.WaitlistStatus // as a reader sees it; "": any
	After          int64                    // No of the last entry of the page before
	Limit          int                      // 1…
}

// ListWaitlist returns a page of a show's waitlist, the earliest first, and
// how many wait in all.
func (s *Store) ListWaitlist(ctx context.Context, f WaitlistFilter) (list []*WaitlistView, waiting int, err error) {
	t, err := s.termsOf(ctx, f.ShowID)
	if err != nil {
		return nil, 0, err
	}
	if t.OrganisationID != f.OrganisationID {
		return nil, 0, boxoffice.Refuse(boxoffice.CodeNotFound, "There is no such show.")
	}
	if err := s.pool.QueryRow(ctx, sqlWaitlistPosition, f.ShowID, int64(1)<<62).Scan(&waiting); err != nil {
		return nil, 0, coded(err)
	}
	rows, err := s.pool.Query(ctx, sqlWaitlistList, f.OrganisationID, f.ShowID, textOrNil(string(f.Status)), f.After, f.Limit)
	if list, err = collect(rows, err, scanWaitlistView); err != nil {
		return nil, 0, err
	}
	return list, waiting, s.explainWaiting(ctx, f.ShowID, list)
}

// explainWaiting says of entries of a show what they are by the clock, and of
// those who wait where they stand and why. Entries come in order, and none of
// those who wait is left out between two others that do.
func (s *Store) explainWaiting(ctx context.Context, show uuid.UUID, list []*WaitlistView) error {
	if len(list) == 0 {
		return nil
	}
	t, err := s.freshTerms(ctx, show)
	if err != nil {
		return err
	}
	var look *boxoffice.WaitlistLook
	var places map[string]int
	position := 0
	for _, v := range list {
		waits := v.Status == boxoffice.WaitlistWaiting
		v.Status = v.StatusAt(v.Now, v.OfferEnds, t)
		if !waits {
			continue
		}
		if position == 0 {
			if err := s.pool.QueryRow(ctx, sqlWaitlistPosition, show, v.No).Scan(&position); err != nil {
				return coded(err)
			}
			if look, err = s.waitlistLook(ctx, show); err != nil {
				return err
			}
			if places, err = s.placesOf(ctx, t, list); err != nil {
				return err
			}
		} else {
			position++
		}
		if v.Status != boxoffice.WaitlistWaiting {
			continue // it is closed
		}
		v.Position = position
		v.Why, v.Free = v.WaitlistEntry.Why(t, v.Now, look, places[v.CustomerID])
		v.SeenAt = v.JoinedAt
		if look != nil && look.At.After(v.SeenAt) {
			v.SeenAt = look.At
		}
	}
	return nil
}

func (s *Store) waitlistLook(ctx context.Context, show uuid.UUID) (*boxoffice.WaitlistLook, error) {
	l := &boxoffice.WaitlistLook{}
	err := s.pool.QueryRow(ctx, sqlWaitlistLook, show).Scan(&l.At, &l.Categories, &l.Found, &l.Remaining)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return l, coded(err)
}

// placesOf is how many places those who wait have, if the show limits that.
func (s *Store) placesOf(ctx context.Context, t *boxoffice.Terms, list []*WaitlistView) (map[string]int, error) {
	if t.MaxPlacesPerCustomer == 0 {
		return nil, nil
	}
	customers := make([]string, len(list))
	nows := make([]time.Time, len(list))
	for i, v := range list {
		customers[i], nows[i] = v.CustomerID, v.Now
	}
	rows, err := s.pool.Query(ctx, sqlReservationsPlaces, repeat(t.ShowID, len(list)), nows, customers)
	if err != nil {
		return nil, coded(err)
	}
	places := map[string]int{}
	var show uuid.UUID
	var customer string
	var n int
	_, err = pgx.ForEachRow(rows, []any{&show, &customer, &n}, func() error {
		places[customer] = n
		return nil
	})
	return places, coded(err)
}

func scanWaitlistView(row pgx.Row) (*WaitlistView, error) {
	v := &WaitlistView{}
	var name, email, phone, locale *string
	var ends *time.Time
	show, e, err := scanEntry(row, &v.OrganisationID, &name, &email, &phone, &locale, &ends, &v.ShowVersion, &v.Now)
	v.WaitlistEntry, v.ShowID, v.OfferEnds = *e, show, orZero(ends)
	if name != nil {
		v.Buyer = &boxoffice.Buyer{Name: *name, Email: orZero(email), Phone: orZero(phone), Locale: orZero(locale)}
	}
	return v, err
}
