package api

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strconv"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/store"
)

func (a *API) registerQueue() {
	write := []boxoffice.Scope{boxoffice.ScopeCatalogueWrite}
	version := map[string]string{"Show-Version": "The show's version after this; for ?minVersion= on map reads."}
	register(a, Operation{
		ID: "joinQueue", Method: http.MethodPost, Path: "/shows/{showId}/queue", Tag: "Queue",
		Summary: "Join the waiting room",
		Description: "One entry a customer and show: joining again answers the entry that is there. Who joins before the sale opens, or later within the same few seconds, has no `position` until they are drawn. " +
			"Who missed their turn comes back by joining again until `returnUntil`, once, and is called next; who had their turn, or left, starts again at the end.\n\n" +
			"Then open the stream with `streamToken`, or read the entry now and then. Nothing is lost by sleeping before one's turn.",
		Status: http.StatusCreated, Headers: map[string]string{"Location": "The entry", "Retry-After": lookAgainDoc},
		Codes: []boxoffice.Code{boxoffice.CodeNotFound, boxoffice.CodeShowNotOnSale, boxoffice.CodeConflict, boxoffice.CodeLockTimeout},
	}, a.joinQueue)
	register(a, Operation{
		ID: "readQueueEntry", Method: http.MethodGet, Path: "/queue/{entryId}", Tag: "Queue",
		Summary:     "Read a queue entry",
		Description: "With the token of the admission, when it is the customer's turn. Other customers' entries are not found.",
		Headers:     map[string]string{"Retry-After": lookAgainDoc},
		Codes:       []boxoffice.Code{boxoffice.CodeNotFound},
	}, a.readQueueEntry)
	register(a, Operation{
		ID: "leaveQueue", Method: http.MethodDelete, Path: "/queue/{entryId}", Tag: "Queue",
		Summary:     "Leave the waiting room",
		Description: "A turn that was not used is passed on; what is held stays held. Leaving again changes nothing and succeeds.",
		Codes:       []boxoffice.Code{boxoffice.CodeNotFound},
	}, a.leaveQueue)
	register(a, Operation{
		ID: "streamQueueEntry", Method: http.MethodGet, Path: "/queue/{entryId}/stream", Tag: "Queue",
		Summary: "Watch a queue entry", Description: queueStreamNote,
		Access: Open, Stream: true, Status: http.StatusOK, Media: eventStream,
		Codes: []boxoffice.Code{boxoffice.CodeNotFound},
	}, a.streamQueueEntry)
	a.describeEvents("/queue/{entryId}/stream", queueEvents, "")
	register(a, Operation{
		ID: "readQueue", Method: http.MethodGet, Path: "/shows/{showId}/queue", Tag: "Queue", Access: Public,
		Summary:     "Read a waiting room",
		Description: "Whether it is open, how many wait, how fast they are let in, and the draw that is being joined or was made last.",
		Codes:       []boxoffice.Code{boxoffice.CodeNotFound},
	}, a.readQueue)
	register(a, Operation{
		ID: "listQueueDraws", Method: http.MethodGet, Path: "/shows/{showId}/queue/draws", Tag: "Queue", Access: Public,
		Summary: "List the draws of a waiting room",
		Description: "In turn. The hash of a draw's key is told from its beginning, the key when it is drawn: who has noted the hash can see that the key was chosen before, and run the order again. " +
			"`rowlock draw --file` does that with this answer.",
		Codes: []boxoffice.Code{boxoffice.CodeNotFound},
	}, a.listQueueDraws)
	for _, set := range []struct {
		id, verb, summary, description string
		set                            boxoffice.SetQueue
	}{
		{"openQueue", "open", "Open the waiting room", "From now on who wants to hold places needs a turn; staff does not. Before the sale opens, people can join, and are drawn when it does.", boxoffice.SetQueue{Open: true}},
		{"closeQueue", "close", "Close the waiting room", "Places can be held without a turn. Who waits is told so; when it is opened again, they are where they were.", boxoffice.SetQueue{Ended: boxoffice.QueueByHand}},
	} {
		register(a, Operation{
			ID: set.id, Method: http.MethodPost, Path: "/shows/{showId}/queue/" + set.verb, Tag: "Organisers", Scopes: write,
			Summary: set.summary, Description: set.description + " Asking for what is already so changes nothing and succeeds.",
			Codes:   []boxoffice.Code{boxoffice.CodeNotFound, boxoffice.CodeConflict, boxoffice.CodeLockTimeout},
			Headers: version, Status: http.StatusOK,
		}, func(ctx context.Context, call *Call, in *showInput) (*queueSetOutput, error) {
			done, err := a.opts.Store.SetQueue(ctx, call.Caller.Actor(), &call.Key, call.Caller.OrganisationID, in.ShowID, set.set)
			if err != nil {
				return nil, err
			}
			finishWrite(call, done.Version, done.Replayed)
			return &queueSetOutput{QueueSet{in.ShowID, set.set.Open, done.Version}}, nil
		})
	}
	register(a, Operation{
		ID: "drawQueue", Method: http.MethodPost, Path: "/shows/{showId}/queue/draw", Tag: "Organisers", Scopes: write,
		Summary:     "Tell what the beacon said",
		Description: "Draws those who joined before the sale by a public value from the source that `queue.beacon` named before. It is taken from the opening of the sale on, for a minute; then they are drawn from the entries themselves.",
		Codes:       []boxoffice.Code{boxoffice.CodeNotFound, boxoffice.CodeConflict},
	}, a.drawQueue)
}

// QueueEntry is a customer's place in a waiting room.
type QueueEntry struct {
	EntryID              uuid.UUID       `json:"entryId" format:"uuid" doc:"The entry" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d80"`
	ShowID               uuid.UUID       `json:"showId" format:"uuid" doc:"The show" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d60"`
	Status               string          `json:"status" enum:"waiting,admitted,expired,left" doc:"admitted: the customer may hold places; expired: they did not when it was their turn, or have had it" example:"waiting"`
	Position             int64           `json:"position,omitempty" doc:"How many turns until it is theirs, their own included; missing until they are drawn, and when they do not wait. It only falls" example:"1204"`
	EstimatedWaitSeconds int64           `json:"estimatedWaitSeconds,omitempty" doc:"About how long that takes" example:"121"`
	Waiting              int64           `json:"waiting" doc:"Entries of the show that have not been called" example:"48210"`
	Open                 bool            `json:"open" doc:"Whether a turn is needed to hold places" example:"true"`
	Reason               string          `json:"reason,omitempty" doc:"Why the waiting room does not move, or is closed: before_sales, paused, sold_out, closed, calm, cancelled, ended, after_sales" example:"before_sales"`
	Admission            *QueueAdmission `json:"admission,omitempty" doc:"The turn, while it is theirs"`
	ReturnUntil          *time.Time      `json:"returnUntil,omitempty" doc:"Until when who missed the turn may come back, by joining again" example:"2026-11-27T20:12:00.123456Z"`
	Number               int64           `json:"number" doc:"The entry's number in the order of joining, by which the draw can be run again" example:"31337"`
	Draw                 int             `json:"draw" doc:"The draw that it is in" example:"1"`
	KeyHash              string          `json:"keyHash" doc:"SHA-256 of the key of that draw, in hex; note it before the draw" example:"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"`
	JoinedAt             time.Time       `json:"joinedAt" doc:"When the customer joined" example:"2026-11-27T19:40:00.123456Z"`
	StreamToken          string          `json:"streamToken" doc:"For GET /queue/{entryId}/stream; empty for staff: it is the customer's" example:"pQ3x…"`
	ServerTime           time.Time       `json:"serverTime" doc:"The clock that status was judged by" example:"2026-11-27T20:00:00.123456Z"`
}

// QueueAdmission is a customer's turn.
type QueueAdmission struct {
	Token      string    `json:"token" doc:"Send it as X-Queue-Token with POST /reservations" example:"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.e30.…"`
	AdmittedAt time.Time `json:"admittedAt" doc:"When it began" example:"2026-11-27T20:00:00.123456Z"`
	ExpiresAt  time.Time `json:"expiresAt" doc:"When it is over, unless something is held before; once something was, until when the customer may hold again" example:"2026-11-27T20:02:00.123456Z"`
	Used       bool      `json:"used" doc:"Something was held with it" example:"false"`
}

type joinQueueInput struct {
	ShowID uuid.UUID `path:"showId" format:"uuid" doc:"The show" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d60"`
}

type queueEntryInput struct {
	EntryID uuid.UUID `path:"entryId" format:"uuid" doc:"The entry" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d80"`
}

type queueEntryOutput struct {
	Location string `header:"Location" doc:"The entry"`
	Body     QueueEntry
}

type readQueueEntryOutput struct{ Body QueueEntry }

func (a *API) queueEntryBody(v *store.QueueView) QueueEntry {
	e := QueueEntry{
		EntryID: v.EntryID, ShowID: v.ShowID, Status: string(v.Status), Position: v.Position, EstimatedWaitSeconds: int64(v.Wait / time.Second),
		Waiting: v.Waiting, Open: v.Open, Reason: v.State, Number: v.Number, Draw: v.Round, KeyHash: v.KeyHash,
		JoinedAt: v.JoinedAt.UTC(), StreamToken: a.queue.streamToken(v.EntryID), ServerTime: v.Now.UTC(),
	}
	if v.Turn > 0 {
		e.Admission = &QueueAdmission{a.queue.token(v), v.AdmittedAt.UTC(), turnEnds(v).UTC(), !v.SessionEndsAt.IsZero()}
	}
	if !v.ReturnUntil.IsZero() {
		e.ReturnUntil = inUTC(&v.ReturnUntil)
	}
	return e
}

// turnEnds is when an admission is over as things are.
func turnEnds(v *store.QueueView) time.Time {
	if v.SessionEndsAt.IsZero() {
		return v.LapsesAt
	}
	return v.SessionEndsAt
}

func (a *API) joinQueue(ctx context.Context, call *Call, in *joinQueueInput) (*queueEntryOutput, error) {
	v, replayed, err := a.opts.Store.JoinQueue(ctx, call.Key, call.Caller.CustomerID, in.ShowID)
	if err != nil {
		return nil, err
	}
	if replayed {
		call.Replayed()
	}
	lookAgain(call, &v)
	return &queueEntryOutput{basePath + "/queue/" + v.EntryID.String(), a.queueEntryBody(&v)}, nil
}

// queueCustomer is whose entries the caller may see: with reservations:staff
// everybody's of the organisation.
func queueCustomer(call *Call) (organisation uuid.UUID, customer string, err error) {
	switch c := &call.Caller; {
	case c.Has(boxoffice.ScopeReservationsStaff):
		return c.OrganisationID, "", nil
	case c.CustomerID == "":
		return uuid.Nil, "", boxoffice.Refuse(boxoffice.CodeNotFound, "There is no such queue entry.")
	default:
		return uuid.Nil, c.CustomerID, nil
	}
}

func (a *API) readQueueEntry(ctx context.Context, call *Call, in *queueEntryInput) (*readQueueEntryOutput, error) {
	organisation, customer, err := queueCustomer(call)
	if err != nil {
		return nil, err
	}
	v, err := a.opts.Store.QueueEntry(ctx, organisation, customer, in.EntryID)
	if err != nil {
		return nil, err
	}
	body := a.queueEntryBody(&v)
	if v.CustomerID != call.Caller.CustomerID { // staff, who needs no turn
		body.StreamToken = ""
		if body.Admission != nil {
			body.Admission.Token = ""
		}
	}
	lookAgain(call, &v)
	return &readQueueEntryOutput{body}, nil
}

const lookAgainDoc = "While the entry waits: seconds until who reads it now and then should do so again."

// lookAgain tells those who have no stream when to read their entry again: soon
// when their turn is near, in time for it when it is not, and never all the
// time.
func lookAgain(call *Call, v *store.QueueView) {
	if v.Status != boxoffice.QueueWaiting {
		return
	}
	wait := 15 * time.Second // before the sale, or in a pause
	switch {
	case v.State != "":
	case v.Position == 0:
		wait = boxoffice.QueueRoundTime // until they are drawn
	default:
		wait = min(30*time.Second, max(2*time.Second, v.Wait/2))
	}
	call.Header()["Retry-After"] = []string{strconv.Itoa(int(wait / time.Second))}
}

func (a *API) leaveQueue(ctx context.Context, call *Call, in *queueEntryInput) (*struct{}, error) {
	organisation, customer, err := queueCustomer(call)
	if err != nil {
		return nil, err
	}
	replayed, err := a.opts.Store.LeaveQueue(ctx, call.Key, organisation, customer, in.EntryID)
	if err == nil && replayed {
		call.Replayed()
	}
	return nil, err
}

// WaitingRoom is a show's waiting room.
type WaitingRoom struct {
	ShowID       uuid.UUID       `json:"showId" format:"uuid" doc:"The show" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d60"`
	Open         bool            `json:"open" doc:"Whether a turn is needed to hold places" example:"true"`
	Joinable     bool            `json:"joinable" doc:"Whether it can be joined: when it is open, and before the sale if it may open by itself" example:"true"`
	Reason       string          `json:"reason,omitempty" doc:"Why it does not move, or is closed: before_sales, paused, sold_out, closed, calm, cancelled, ended, after_sales, draft" example:"before_sales"`
	Joined       int64           `json:"joined" doc:"Entries so far" example:"100000"`
	Head         int64           `json:"head" doc:"Who is in the order up to this place has been called" example:"51790"`
	Waiting      int64           `json:"waiting" doc:"Entries that have not been called" example:"48210"`
	SalesStartAt *time.Time      `json:"salesStartAt,omitempty" doc:"When the sale opens, and who has joined is drawn" example:"2026-11-27T20:00:00Z"`
	Settings     boxoffice.Queue `json:"settings" doc:"As PATCH /shows/{showId} sets them in queue"`
	Draw         *QueueDraw      `json:"draw,omitempty" doc:"The draw that is being joined, or was made last"`
	ServerTime   time.Time       `json:"serverTime" doc:"When it was so, database clock" example:"2026-11-27T20:00:00.123456Z"`
}

// QueueDraw is a draw: the order of those who joined together.
type QueueDraw struct {
	Draw        int        `json:"draw" doc:"From 1; who is in a draw comes before everybody in the next" example:"1"`
	First       int64      `json:"first" doc:"Entries before it: its numbers, and its places in the order, are first + 1 to first + entries" example:"0"`
	Entries     int64      `json:"entries" doc:"How many have joined" example:"100000"`
	KeyHash     string     `json:"keyHash" doc:"SHA-256 of the key, in hex: told from the beginning" example:"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"`
	Beacon      string     `json:"beacon,omitempty" doc:"Where the public value is to come from, named before" example:"drand quicknet round 4242"`
	OpenedAt    time.Time  `json:"openedAt" doc:"When the first of them joined" example:"2026-11-27T19:00:00Z"`
	ClosesAt    *time.Time `json:"closesAt,omitempty" doc:"When it closes; missing: when the sale opens" example:"2026-11-27T20:00:03Z"`
	ClosedAt    *time.Time `json:"closedAt,omitempty" doc:"When it did" example:"2026-11-27T20:00:00.012345Z"`
	DrawnAt     *time.Time `json:"drawnAt,omitempty" doc:"When it was drawn" example:"2026-11-27T20:00:00.012345Z"`
	Key         string     `json:"key,omitempty" doc:"The key, in hex: told when it is drawn" example:"2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"`
	PublicValue string     `json:"publicValue,omitempty" doc:"What appeared when it was closed" example:"fcde2b2edba56bf408601fb721fe9b5c338d10ee429ea04fae5511b68fbf8fb9"`
	PublicFrom  string     `json:"publicFrom,omitempty" enum:"entries,beacon" doc:"entries: the digest of all who joined; beacon: from the source that was named" example:"entries"`
}

func queueDraw(r *boxoffice.QueueRound) QueueDraw {
	d := QueueDraw{
		Draw: r.Round, First: r.First, Entries: r.Entries, KeyHash: r.KeyHash(), Beacon: r.Beacon, OpenedAt: r.OpenedAt.UTC(),
		ClosesAt: timeOrNil(r.ClosesAt), ClosedAt: timeOrNil(r.ClosedAt), DrawnAt: timeOrNil(r.DrawnAt),
	}
	if r.Drawn() {
		d.Key, d.PublicValue, d.PublicFrom = hex.EncodeToString(r.Key), r.PublicValue, r.PublicFrom
	}
	return d
}

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return inUTC(&t)
}

type readQueueOutput struct {
	CacheControl string `header:"Cache-Control" doc:"How long it may be kept"`
	Body         WaitingRoom
}

// queueAge is how long what is told of a waiting room may be kept: a hundred
// thousand people look at it.
const queueAge = "public, max-age=1"

func (a *API) readQueue(ctx context.Context, _ *Call, in *showInput) (*readQueueOutput, error) {
	st, err := a.opts.Store.QueueState(ctx, in.ShowID)
	if err != nil {
		return nil, err
	}
	t, h := &st.Terms, &st.Head
	w := WaitingRoom{
		ShowID: in.ShowID, Open: t.QueueOpen, Joinable: t.Joinable(st.Now) == nil, Reason: t.QueueState(st.Now), Joined: h.Joined, Head: h.Head,
		Waiting: h.Joined - h.Head, SalesStartAt: inUTC(t.SalesStartAt), Settings: t.Queue, ServerTime: st.Now.UTC(),
	}
	if h.Rounds > 0 {
		r, err := a.opts.Store.QueueRound(ctx, in.ShowID)
		if err != nil {
			return nil, err
		}
		if r != nil {
			d := queueDraw(r)
			w.Draw = &d
		}
	}
	return &readQueueOutput{queueAge, w}, nil
}

type listQueueDrawsInput struct {
	ShowID uuid.UUID `path:"showId" format:"uuid" doc:"The show" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d60"`
	From   int       `query:"from" minimum:"1" default:"1" doc:"The first to list" example:"1"`
	Limit  int       `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"Draws a page" example:"50"`
}

type listQueueDrawsOutput struct {
	CacheControl string `header:"Cache-Control" doc:"How long it may be kept"`
	Body         struct {
		ShowID   uuid.UUID   `json:"showId" format:"uuid" doc:"The show" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d60"`
		Draws    []QueueDraw `json:"draws" doc:"The page"`
		NextFrom int         `json:"nextFrom,omitempty" doc:"Send it as from for the next page; missing on the last" example:"51"`
	}
}

func (a *API) listQueueDraws(ctx context.Context, _ *Call, in *listQueueDrawsInput) (*listQueueDrawsOutput, error) {
	if _, err := a.opts.Store.QueueState(ctx, in.ShowID); err != nil {
		return nil, err
	}
	rounds, err := a.opts.Store.QueueRounds(ctx, in.ShowID, in.From, in.Limit+1)
	if err != nil {
		return nil, err
	}
	out := &listQueueDrawsOutput{CacheControl: queueAge}
	out.Body.ShowID, out.Body.Draws = in.ShowID, []QueueDraw{}
	for i := range rounds {
		if i == in.Limit {
			out.Body.NextFrom = rounds[i].Round
			break
		}
		out.Body.Draws = append(out.Body.Draws, queueDraw(&rounds[i]))
	}
	return out, nil
}

// QueueSet is what came of opening or closing a waiting room.
type QueueSet struct {
	ShowID  uuid.UUID `json:"showId" format:"uuid" doc:"The show" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d60"`
	Open    bool      `json:"open" doc:"Whether a turn is needed to hold places" example:"true"`
	Version int64     `json:"version" doc:"The show's version after this" example:"43"`
}

type queueSetOutput struct{ Body QueueSet }

type drawQueueInput struct {
	ShowID uuid.UUID `path:"showId" format:"uuid" doc:"The show" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d60"`
	Body   struct {
		PublicValue string `json:"publicValue" minLength:"1" maxLength:"500" doc:"What the beacon said, letter by letter" example:"7f3a…"`
	}
}

func (a *API) drawQueue(ctx context.Context, call *Call, in *drawQueueInput) (*struct{}, error) {
	replayed, err := a.opts.Store.DrawQueue(ctx, call.Key, call.Caller.OrganisationID, in.ShowID, in.Body.PublicValue)
	if err == nil && replayed {
		call.Replayed()
	}
	return nil, err
}

// QueueFields change the settings of a waiting room.
type QueueFields struct {
	Mode             *boxoffice.QueueMode `json:"mode,omitempty" enum:"off,automatic" doc:"off: it opens by hand only; automatic: people may join before the sale, and it opens by itself above threshold" example:"automatic"`
	Threshold        *int                 `json:"threshold,omitempty" minimum:"1" maximum:"10000000" doc:"Arrivals within ten seconds, or people who have joined before the sale, above which it opens by itself" example:"10000"`
	RatePerMinute    *int                 `json:"ratePerMinute,omitempty" minimum:"1" maximum:"1000000" doc:"How many people are let in a minute" example:"600"`
	AdmissionSeconds *int                 `json:"admissionSeconds,omitempty" minimum:"1" maximum:"3600" doc:"How long somebody whose turn it is has to hold something, seconds" example:"120"`
	SessionSeconds   *int                 `json:"sessionSeconds,omitempty" minimum:"1" maximum:"86400" doc:"How long somebody may hold again, seconds from their first hold" example:"600"`
	ReturnSeconds    *int                 `json:"returnSeconds,omitempty" minimum:"0" maximum:"86400" doc:"How long somebody who missed their turn may come back, once, seconds" example:"600"`
	SizeMax          *int                 `json:"sizeMax,omitempty" minimum:"0" maximum:"100000000" doc:"How many people may wait; 0: any number" example:"0"`
	Beacon           *string              `json:"beacon,omitempty" maxLength:"500" doc:"Source of the public value of the draw, named before it; empty: the entries themselves" example:"drand quicknet round 4242"`
}

func (f *QueueFields) change() *boxoffice.QueueChange {
	if f == nil {
		return nil
	}
	c := boxoffice.QueueChange(*f)
	return &c
}

// queueSigner signs what people in waiting rooms show: when it is their turn,
// and to watch their entry. Its key is made from the secret of guests' tokens,
// so that all instances have the same, and neither is good for the other.
type queueSigner struct {
	key    []byte
	parser *jwt.Parser
}

const queueIssuer = "rowlock-queue"

func newQueueSigner(secret []byte) *queueSigner {
	if len(secret) == 0 { // production has one
		secret = make([]byte, 32)
		rand.Read(secret)
	}
	return &queueSigner{
		key: mac(secret, "rowlock waiting rooms"),
		// What is too old the lane says, by the database's clock.
		parser: jwt.NewParser(jwt.WithValidMethods([]string{"HS256"}), jwt.WithoutClaimsValidation()),
	}
}

func mac(key []byte, parts ...string) []byte {
	h := hmac.New(sha256.New, key)
	for _, p := range parts {
		h.Write([]byte(p))
	}
	return h.Sum(nil)
}

// queueClaims are what a queue token says. It is a key to a row of the
// database, which knows the rest.
type queueClaims struct {
	jwt.RegisteredClaims
	Show   uuid.UUID `json:"show"`
	Number int64     `json:"number"`
	Turn   int       `json:"turn"`
}

// token is the queue token of an admission.
func (s *queueSigner) token(v *store.QueueView) string {
	text, err := jwt.NewWithClaims(jwt.SigningMethodHS256, queueClaims{
		jwt.RegisteredClaims{Issuer: queueIssuer, Subject: v.CustomerID, ID: v.EntryID.String(), ExpiresAt: jwt.NewNumericDate(turnEnds(v))},
		v.ShowID, v.Number, v.Turn,
	}).SignedString(s.key)
	if err != nil {
		panic(err) // numbers and short texts under a key of 32 bytes: this cannot happen
	}
	return text
}

// pass reads what was sent as X-Queue-Token; nil when nothing was.
func (s *queueSigner) pass(token string) *boxoffice.Pass {
	if token == "" {
		return nil
	}
	var c queueClaims
	_, err := s.parser.ParseWithClaims(token, &c, func(*jwt.Token) (any, error) { return s.key, nil })
	if err != nil || c.Issuer != queueIssuer {
		return &boxoffice.Pass{Forged: true}
	}
	return &boxoffice.Pass{ShowID: c.Show, Number: c.Number, Turn: c.Turn, CustomerID: c.Subject}
}

// streamToken lets whoever has it watch an entry, and nothing else.
func (s *queueSigner) streamToken(entry uuid.UUID) string {
	return base64.RawURLEncoding.EncodeToString(mac(s.key, "stream", entry.String()))
}

func (s *queueSigner) mayWatch(entry uuid.UUID, token string) bool {
	return hmac.Equal([]byte(s.streamToken(entry)), []byte(token))
}

// withQueueURL says with a refusal for want of a turn where to get one.
func withQueueURL(err error, show uuid.UUID) error {
	switch boxoffice.CodeOf(err) {
	case boxoffice.CodeQueueTokenRequired, boxoffice.CodeQueueTokenExpired, boxoffice.CodeQueueTokenInvalid:
		e := *err.(*boxoffice.Error)
		e.Facts.QueueURL = basePath + "/shows/" + show.String() + "/queue"
		return &e
	}
	return err
}
