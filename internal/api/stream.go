package api

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"os"
	"reflect"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/live"
)

// Limits of event streams.
const (
	heartbeatEvery = 15 * time.Second
	heartbeatParts = 15               // of the viewers, who are sent theirs one after the other
	sendMax        = 15 * time.Second // for what is sent; who does not take it is dropped
	unheardMax     = time.Minute      // for the other end to say that it got what was sent; then it has gone without a word
	sendBuffer     = 64 << 10         // what the kernel keeps of it, bytes
	returnPer      = 2000             // viewers who come back each second when a server stops
)

// SnapshotEvent is everything: what the places are like, and the show.
type SnapshotEvent struct {
	Availability
	Status   string `json:"status" enum:"draft,on_sale,paused,cancelled,ended" doc:"What the show is" example:"on_sale"`
	SoldOut  bool   `json:"soldOut" doc:"No place is free" example:"false"`
	SaleOpen bool   `json:"saleOpen" doc:"Whether places can be held now" example:"true"`
}

// ChangesEvent is what has changed: the new state of each place that was
// logged between two versions, or whose hold has ended.
type ChangesEvent struct {
	After   int64         `json:"after" doc:"The version that this follows: that of the event before" example:"41"`
	Version int64         `json:"version" doc:"The version that this leads to. The same as after when a hold has ended and nothing was logged yet; then the event has no id" example:"42"`
	Seats   []WatchedSeat `json:"seats" doc:"Seats and what they are now. Set it, whatever they were: a seat may be named that has not changed"`
	Areas   []WatchedArea `json:"areas" doc:"Areas and what is left in them now"`
}

// WatchedSeat is a seat and what it is now.
type WatchedSeat struct {
	SeatID uuid.UUID            `json:"seatId" format:"uuid" doc:"The seat's id" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6e"`
	Label  string               `json:"label" doc:"What people read: section, row and seat" example:"Stalls-A-7"`
	Status boxoffice.SeatStatus `json:"status" enum:"available,held,booked,blocked" doc:"What it is" example:"held"`
}

// WatchedArea is an area and what is left in it now.
type WatchedArea struct {
	AreaID    uuid.UUID `json:"areaId" format:"uuid" doc:"The area's id" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6e"`
	Available int       `json:"available" doc:"Units that can be held now" example:"312"`
	Capacity  int       `json:"capacity" doc:"Units in all" example:"800"`
}

// ShowEvent is the show itself. It comes when it may have changed.
type ShowEvent struct {
	Version  int64  `json:"version" doc:"The show's version" example:"42"`
	Status   string `json:"status" enum:"draft,on_sale,paused,cancelled,ended" doc:"What the show is" example:"on_sale"`
	SoldOut  bool   `json:"soldOut" doc:"No place is free" example:"false"`
	SaleOpen bool   `json:"saleOpen" doc:"Whether places can be held now" example:"true"`
}

// ResetEvent says that nothing known before is worth anything. A snapshot
// follows.
type ResetEvent struct {
	Version int64 `json:"version" doc:"The version of the snapshot that follows" example:"42"`
}

// StaleEvent says that the database has gone away, or come back.
type StaleEvent struct {
	Stale bool `json:"stale" doc:"true: the database cannot be reached, and changes are missing; false: it is back, and none are" example:"true"`
}

// HeartbeatEvent says that the stream is alive, and what time it is.
type HeartbeatEvent struct {
	ServerTime time.Time `json:"serverTime" doc:"By the database's clock, which holds end by" example:"2026-11-27T20:15:00.123456Z"`
}

// ClosingEvent is the last one of a server that stops.
type ClosingEvent struct {
	RetryMS int64 `json:"retryMs" doc:"Milliseconds to wait before coming back, so that not all viewers do at once" example:"2417"`
}

// eventKind is one kind of event of a stream, for the OpenAPI document.
type eventKind struct {
	name string
	data reflect.Type
	says string
}

// showEvents are the events of a show's stream, in the order of the docs.
var showEvents = []eventKind{
	{"snapshot", reflect.TypeFor[SnapshotEvent](), "All places, and the show."},
	{"changes", reflect.TypeFor[ChangesEvent](), "Places that were logged between two versions, or whose hold has ended."},
	{"show", reflect.TypeFor[ShowEvent](), "The show itself may have changed, or whether anything is left."},
	{"reset", reflect.TypeFor[ResetEvent](), "Forget what you know. A snapshot follows."},
	{"stale", reflect.TypeFor[StaleEvent](), "The database has gone away, or come back."},
	{"heartbeat", reflect.TypeFor[HeartbeatEvent](), "The stream is alive."},
	{"closing", reflect.TypeFor[ClosingEvent](), "The server stops."},
}

type streamInput struct {
	ShowID      uuid.UUID `path:"showId" format:"uuid" doc:"The show" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d60"`
	LastEventID string    `header:"Last-Event-ID" maxLength:"64" doc:"The id of the last event that was received: what comes after it is sent, without gap or repeat. Browsers send it by themselves" example:"42"`
	Last        string    `query:"lastEventId" maxLength:"64" doc:"The same, for clients that cannot set headers; the header counts" example:"42"`
}

// after is the version that the viewer says to know.
func (in *streamInput) after() int64 {
	text := cmp.Or(in.LastEventID, in.Last)
	if text == "" {
		return live.FromNowhere
	}
	version, err := strconv.ParseInt(text, 10, 64)
	if err != nil || version < 0 {
		return live.FromUnknown
	}
	return version
}

const streamNote = `Server-sent events: the map of a show, and then each change of it within a second.

` + "`snapshot`" + ` comes first, and whenever it is shorter than the changes would be. ` + "`changes`" + ` follow: each says after which version it comes, so that nothing can be missing unseen. A seat is available from the instant its hold ends; such a change has no id, and is repeated by the one that is logged later: set what you are told, and never toggle. ` + "`show`" + ` comes when the show itself may have changed: its status, whether anything is left, or its terms, such as prices, which are read elsewhere. Events with other names may come one day; ignore them.

With ` + "`Last-Event-ID`" + ` what comes after that version is sent, on any instance, also when the server was started in between. If that is too much, or the id is not known, ` + "`reset`" + ` comes and a snapshot after it. ` + "`closing`" + ` is the last event of a server that stops. ` + "`retry`" + ` fields spread viewers over time when they come back. A viewer who does not read is dropped.`

func (s *seatmap) registerStream(a *API) {
	register(a, Operation{
		ID: "watchShow", Method: http.MethodGet, Path: "/shows/{showId}/stream", Tag: "Seats",
		Summary: "Watch a show", Description: streamNote,
		Access: Public, Stream: true, Status: http.StatusOK, Media: eventStream,
		Codes: []boxoffice.Code{boxoffice.CodeNotFound},
	}, s.watch)
	a.describeEvents("/shows/{showId}/stream", showEvents, "The show's version, for Last-Event-ID.")
}

// describeEvents describes what a stream sends as Huma does, and as generators
// of clients understand it. id says what the events' ids are; "": they have
// none.
func (a *API) describeEvents(path string, kinds []eventKind, id string) {
	number := func(text string, example int) *huma.Schema {
		return &huma.Schema{Type: huma.TypeInteger, Description: text, Examples: []any{example}}
	}
	items := &huma.Schema{}
	for _, e := range kinds {
		data := *a.OpenAPI().Components.Schemas.Schema(e.data, true, e.name)
		data.Description = e.says
		event := &huma.Schema{
			Title: "Event " + e.name, Type: huma.TypeObject, Required: []string{"event", "data"},
			Properties: map[string]*huma.Schema{
				"event": {Type: huma.TypeString, Description: "The event's name.", Examples: []any{e.name}, Extensions: map[string]any{"const": e.name}},
				"data":  &data,
				"retry": number("Milliseconds to wait before coming back when the stream ends.", 2417),
			},
		}
		if id != "" {
			event.Properties["id"] = number(id, 42)
		}
		items.OneOf = append(items.OneOf, event)
	}
	a.OpenAPI().Paths[path].Get.Responses["200"].Content[eventStream].Schema = &huma.Schema{
		Type: huma.TypeArray, Title: "Server Sent Events", Items: items,
		Description: "Each object is one event, in the text form of server-sent events.",
	}
}

const eventStream = "text/event-stream"

// noID is the id of an event after which a client has none.
const noID = -1

// appendEvent writes an event. id 0: it has none; noID: it takes the last away.
func appendEvent(b *bytes.Buffer, name string, id int64, data any) {
	b.WriteString("event: ")
	b.WriteString(name)
	switch {
	case id == noID:
		b.WriteString("\nid: ")
	case id > 0:
		b.WriteString("\nid: ")
		b.Write(strconv.AppendInt(b.AvailableBuffer(), id, 10))
	}
	b.WriteString("\ndata: ")
	b.Write(mustJSON(data)) // with a line end
	b.WriteByte('\n')
}

// encodeNews writes what viewers of a show are told. What has the id comes
// last: a stream that is cut before it begins again before it. One that is cut
// between a reset and its snapshot begins with a snapshot.
func encodeNews(n *live.News) []byte {
	var b bytes.Buffer
	v := n.View
	if n.Reset {
		appendEvent(&b, "reset", noID, ResetEvent{v.Version}) // a stream that is cut now begins with a snapshot
	}
	if n.Stale {
		appendEvent(&b, "stale", 0, StaleEvent{v.Stale})
	}
	if n.Snapshot {
		appendEvent(&b, "snapshot", v.Version, SnapshotEvent{availabilityOf(v), string(v.ShowStatus), v.SoldOut(), v.SaleOpen})
		return b.Bytes()
	}
	if n.Show {
		appendEvent(&b, "show", 0, ShowEvent{v.Version, string(v.ShowStatus), v.SoldOut(), v.SaleOpen})
	}
	changes := ChangesEvent{After: n.After, Version: v.Version, Seats: []WatchedSeat{}, Areas: []WatchedArea{}}
	for _, i := range n.Seats {
		seat := &v.Terms.Plan.Seats[i]
		changes.Seats = append(changes.Seats, WatchedSeat{seat.ID, seat.Label, v.Status(i)})
	}
	for _, i := range n.Areas {
		area := &v.Areas[i]
		changes.Areas = append(changes.Areas, WatchedArea{area.ID, area.Available, area.Capacity})
	}
	switch {
	case n.After != v.Version:
		appendEvent(&b, "changes", v.Version, changes)
	case len(changes.Seats)+len(changes.Areas) > 0:
		appendEvent(&b, "changes", 0, changes)
	}
	return b.Bytes()
}

// watch begins a show's stream.
func (s *seatmap) watch(ctx context.Context, call *Call, in *streamInput) (*struct{}, error) {
	viewer, view, err := s.maps.Watch(ctx, in.ShowID, in.after())
	if err == nil {
		if err = visible(call, view.Terms); err != nil {
			viewer.Leave()
		}
	}
	if err != nil {
		return nil, err
	}
	st := &stream{viewer: viewer}
	st.leave = viewer.Leave
	return nil, call.x.flow(ctx, &st.sender, func(head []byte, gone <-chan struct{}) { st.run(st.greet(head, in, view), gone) })
}

// flow answers with a stream, which run sends until it is over; it then calls
// s.finish. The connection is taken from the HTTP server, and with it goes what
// the server keeps for each request. docs/live.md has the figures.
func (x *exchange) flow(ctx context.Context, s *sender, run func(head []byte, gone <-chan struct{})) error {
	h := x.Header()
	h["Content-Type"] = []string{eventStream}
	h["Cache-Control"] = []string{"no-store, no-transform"}
	h["X-Accel-Buffering"] = []string{"no"} // nginx would collect events
	if x.r.Method == http.MethodHead {
		s.leave()
		x.WriteHeader(http.StatusOK)
		return nil
	}
	s.a, s.from = x.a, x.a.limits.limited(x.r)
	control := http.NewResponseController(x)
	conn, _, err := control.Hijack()
	if errors.Is(err, http.ErrNotSupported) { // not a connection of HTTP/1.1
		x.WriteHeader(http.StatusOK)
		s.to = &flushed{x, control}
		run(nil, ctx.Done())
		return nil
	}
	if err != nil {
		s.leave()
		return err
	}
	x.status, x.taken = http.StatusOK, true
	var head bytes.Buffer
	head.WriteString("HTTP/1.1 200 OK\r\nConnection: close\r\nDate: " + time.Now().UTC().Format(http.TimeFormat) + "\r\n")
	_ = h.Write(&head) // a buffer takes everything
	head.WriteString("\r\n")
	_ = conn.SetDeadline(time.Time{})
	s.to, s.conn = conn, conn
	if tcp, ok := conn.(*net.TCPConn); ok {
		s.reach(tcp)
	}
	go run(head.Bytes(), nil)
	return nil
}

// line is where a stream is sent.
type line interface {
	io.Writer
	SetWriteDeadline(time.Time) error
}

// flushed is a line through the HTTP server.
type flushed struct {
	io.Writer
	*http.ResponseController
}

func (f *flushed) Write(b []byte) (int, error) {
	n, err := f.Writer.Write(b)
	if err == nil {
		err = f.Flush()
	}
	return n, err
}

// sender sends a stream to one viewer.
type sender struct {
	a     *API
	to    line
	leave func()     // of what is watched
	from  netip.Addr // for the count of streams
	conn  io.Closer  // its own connection; nil: that is the HTTP server's

	raw   syscall.RawConn // of conn, to send without waiting; nil: that is not possible
	write func(fd uintptr) bool
	left  []byte // of what write has to send
	err   error
}

// reach prepares a connection.
func (s *sender) reach(tcp *net.TCPConn) {
	_ = tcp.SetWriteBuffer(sendBuffer)
	raw, err := tcp.SyscallConn()
	if err != nil {
		return
	}
	if runtime.GOOS == "linux" {
		const userTimeout = 18 // TCP_USER_TIMEOUT, of tcp(7)
		_ = raw.Control(func(fd uintptr) {
			_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, userTimeout, int(unheardMax.Milliseconds()))
		})
	}
	s.raw, s.write = raw, s.some
}

// send sends within the time for it.
func (s *sender) send(b []byte) (err error) {
	if s.raw != nil {
		b, err = s.try(b)
	}
	if err != nil || len(b) == 0 {
		return err
	}
	if err := s.to.SetWriteDeadline(time.Now().Add(s.a.sendMax)); err != nil {
		return err
	}
	if _, err := s.to.Write(b); err != nil {
		return err
	}
	return s.to.SetWriteDeadline(time.Time{})
}

// try sends without waiting and returns what is left.
func (s *sender) try(b []byte) ([]byte, error) {
	s.left, s.err = b, nil
	if err := s.raw.Write(s.write); err != nil {
		return b, err
	}
	b, s.left = s.left, nil
	return b, s.err
}

// some is what try does with the connection. It says that it is done whatever
// came of it: nobody is to wait.
func (s *sender) some(fd uintptr) bool {
	for len(s.left) > 0 {
		n, err := syscall.Write(int(fd), s.left)
		switch err {
		case nil:
			s.left = s.left[n:]
		case syscall.EINTR:
		case syscall.EAGAIN:
			return true
		default:
			s.err = err
			return true
		}
	}
	return true
}

// retry says when to come back if the stream breaks, which depends on how many
// would.
func (s *sender) retry(b []byte) []byte {
	b = append(b, "retry: "...)
	b = strconv.AppendInt(b, s.a.comeBack(), 10)
	return append(b, '\n')
}

// errClosing ends a stream because the server stops.
var errClosing = errors.New("the server stops")

// close tells the viewer when to come back, and returns errClosing.
func (s *sender) close() error {
	wait := strconv.FormatInt(s.a.comeBack(), 10)
	_ = s.send([]byte("retry: " + wait + "\nevent: closing\ndata: {\"retryMs\":" + wait + "}\n\n")) // it is the last
	return errClosing
}

// finish is when a stream is over, and why.
func (s *sender) finish(err error) {
	why := "left"
	switch {
	case errors.Is(err, errClosing):
		why = "closing"
	case errors.Is(err, os.ErrDeadlineExceeded):
		why = "slow"
	}
	s.a.metrics.StreamsEnded.WithLabelValues(why).Inc()
	s.leave()
	if s.conn != nil {
		s.conn.Close()
		s.a.streams.leave(s.from)
	}
}

// stream is one viewer's of a show. While it rests it has no goroutine, and
// costs a socket; see [live.Viewer.Rest].
type stream struct {
	sender
	viewer *live.Viewer
}

// run sends what there is, and then lets the stream rest. One that cannot rest
// goes on until the viewer leaves, which gone may tell, or the server stops.
func (st *stream) run(first []byte, gone <-chan struct{}) {
	err := st.send(first)
	var beat <-chan time.Time
	for err == nil {
		frame, more := st.viewer.Next()
		switch {
		case frame != nil:
			err = st.send(frame)
			continue
		case st.raw != nil && st.viewer.Rest(st):
			return // Hear goes on
		case beat == nil:
			beat = time.Tick(heartbeatEvery)
		}
		select {
		case <-more:
		case <-beat:
			err = st.send(st.heartbeat(nil))
		case <-gone:
			err = net.ErrClosed
		case <-st.a.closing:
			err = st.close()
		}
	}
	st.finish(err)
}

// Hear sends a frame, or a heartbeat, to a stream that rests. A viewer who does
// not take all of it at once gets a goroutine to wait for them.
func (st *stream) Hear(frame []byte) bool {
	if frame == nil {
		select {
		case <-st.a.closing:
			go st.run(nil, nil)
			return false
		default:
			frame = st.heartbeat(nil)
		}
	}
	left, err := st.try(frame)
	if err != nil || len(left) > 0 {
		go st.run(left, nil) // which finds the error again
		return false
	}
	return true
}

// greet is what a stream begins with: when to come back if it breaks, the time,
// and for who comes back whether the database is away. They may have been told
// that it is, by another instance.
func (st *stream) greet(head []byte, in *streamInput, view *live.View) []byte {
	b := bytes.NewBuffer(st.heartbeat(head))
	if in.after() != live.FromNowhere {
		appendEvent(b, "stale", 0, StaleEvent{view.Stale})
	}
	return b.Bytes()
}

// heartbeat also says anew when to come back if the stream breaks.
func (st *stream) heartbeat(b []byte) []byte {
	b = append(st.retry(b), "event: heartbeat\ndata: {\"serverTime\":\""...)
	b = st.viewer.Now().UTC().AppendFormat(b, time.RFC3339Nano)
	return append(b, "\"}\n\n"...)
}

// comeBack is in how many milliseconds a viewer should come back, so that all
// of them together come no faster than another server can take them.
func (a *API) comeBack() int64 {
	all := max(a.streams.open.Load(), a.streams.last.Load())
	spread := time.Second + time.Duration(all)*time.Second/returnPer
	return (500*time.Millisecond + rand.N(spread)).Milliseconds()
}

// beat sends heartbeats to the streams that rest, until ctx ends.
func (a *API) beat(ctx context.Context) {
	tick := time.NewTicker(heartbeatEvery / heartbeatParts)
	defer tick.Stop()
	for part := uint32(0); ; part = (part + 1) % heartbeatParts {
		select {
		case <-tick.C:
			a.maps.Beat(part, heartbeatParts)
		case <-ctx.Done():
			return
		}
	}
}
