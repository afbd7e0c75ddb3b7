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
	"os"
	"reflect"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/live"
)

// Limits of event streams.
const (
	heartbeatEvery = 15 * time.Second
	sendMax        = 15 * time.Second // for what is sent; who does not take it is dropped
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

// showEvents are the events of a show's stream, in the order of the docs.
var showEvents = []struct {
	name string
	data reflect.Type
	says string
}{
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
	content := a.OpenAPI().Paths["/shows/{showId}/stream"].Get.Responses["200"].Content[eventStream]
	content.Schema = eventsSchema(a.OpenAPI().Components.Schemas)
}

// eventsSchema describes a stream of events as Huma does, and as generators of
// clients understand it.
func eventsSchema(registry huma.Registry) *huma.Schema {
	number := func(text string, example int) *huma.Schema {
		return &huma.Schema{Type: huma.TypeInteger, Description: text, Examples: []any{example}}
	}
	items := &huma.Schema{}
	for _, e := range showEvents {
		data := *registry.Schema(e.data, true, e.name)
		data.Description = e.says
		items.OneOf = append(items.OneOf, &huma.Schema{
			Title: "Event " + e.name, Type: huma.TypeObject, Required: []string{"event", "data"},
			Properties: map[string]*huma.Schema{
				"id":    number("The show's version, for Last-Event-ID.", 42),
				"event": {Type: huma.TypeString, Description: "The event's name.", Examples: []any{e.name}, Extensions: map[string]any{"const": e.name}},
				"data":  &data,
				"retry": number("Milliseconds to wait before coming back when the stream ends.", 2417),
			},
		})
	}
	return &huma.Schema{
		Type: huma.TypeArray, Title: "Server Sent Events", Items: items,
		Description: "Each object is one event, in the text form of server-sent events.",
	}
}

const eventStream = "text/event-stream"

// forget is the empty id: a viewer who has it comes back with none.
const forget = -1

// appendEvent writes an event. id 0: it has none.
func appendEvent(b *bytes.Buffer, name string, id int64, data any) {
	b.WriteString("event: ")
	b.WriteString(name)
	switch {
	case id > 0:
		b.WriteString("\nid: ")
		b.Write(strconv.AppendInt(b.AvailableBuffer(), id, 10))
	case id == forget:
		b.WriteString("\nid: ")
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
		appendEvent(&b, "reset", forget, ResetEvent{v.Version})
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

// watch begins a stream. The connection is taken from the HTTP server, and with
// it goes what the server keeps for each request: a viewer costs a goroutine
// and a socket. docs/live.md has the figures.
func (s *seatmap) watch(ctx context.Context, call *Call, in *streamInput) (*struct{}, error) {
	x, a := call.x, call.x.a
	viewer, view, err := s.maps.Watch(ctx, in.ShowID, in.after())
	if err == nil {
		if err = visible(call, view.Terms); err != nil {
			viewer.Leave()
		}
	}
	if err != nil {
		return nil, err
	}
	h := x.Header()
	h["Content-Type"] = []string{eventStream}
	h["Cache-Control"] = []string{"no-store, no-transform"}
	h["X-Accel-Buffering"] = []string{"no"} // nginx would collect events
	if x.r.Method == http.MethodHead {
		viewer.Leave()
		x.WriteHeader(http.StatusOK)
		return nil, nil
	}
	st := &stream{a: a, viewer: viewer}
	control := http.NewResponseController(x)
	conn, _, err := control.Hijack()
	if errors.Is(err, http.ErrNotSupported) { // not a connection of HTTP/1.1
		x.WriteHeader(http.StatusOK)
		st.run(&flushed{x, control}, nil, ctx.Done())
		return nil, nil
	}
	if err != nil {
		viewer.Leave()
		return nil, err
	}
	x.status, x.taken = http.StatusOK, true
	var head bytes.Buffer
	head.WriteString("HTTP/1.1 200 OK\r\nConnection: close\r\nDate: " + time.Now().UTC().Format(http.TimeFormat) + "\r\n")
	_ = h.Write(&head) // a buffer takes everything
	head.WriteString("\r\n")
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(sendBuffer)
	}
	_ = conn.SetReadDeadline(time.Time{})
	go func() {
		defer a.streams.leave()
		defer conn.Close()
		st.run(conn, head.Bytes(), nil)
	}()
	return nil, nil
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

// stream is one viewer's.
type stream struct {
	a      *API
	viewer *live.Viewer
	to     line
	until  time.Time // when sending must be done
}

// run sends until the viewer leaves, is too slow, or the server stops. gone,
// if any, says that the viewer has left.
func (st *stream) run(to line, head []byte, gone <-chan struct{}) {
	st.to = to
	defer st.viewer.Leave()
	beat := time.NewTimer(heartbeatEvery/2 + rand.N(heartbeatEvery/2))
	defer beat.Stop()
	err := st.send(st.greet(head))
	for err == nil {
		frame, more := st.viewer.Next()
		if frame != nil {
			err = st.send(frame)
			continue
		}
		select {
		case <-more:
		case <-beat.C:
			beat.Reset(heartbeatEvery - heartbeatEvery/10 + rand.N(heartbeatEvery/10))
			err = st.send(st.heartbeat(nil))
		case <-gone:
			err = net.ErrClosed
		case <-st.a.closing:
			_ = st.send(st.closing())
			st.a.metrics.StreamsEnded.WithLabelValues("closing").Inc()
			return
		}
	}
	why := "left"
	if errors.Is(err, os.ErrDeadlineExceeded) {
		why = "slow"
	}
	st.a.metrics.StreamsEnded.WithLabelValues(why).Inc()
}

// send writes within the time for it. The deadline is moved on only now and
// then: to move it costs as much as a small write.
func (st *stream) send(b []byte) error {
	if now := time.Now(); st.until.Sub(now) < st.a.sendMax*2/3 {
		st.until = now.Add(st.a.sendMax)
		if err := st.to.SetWriteDeadline(st.until); err != nil {
			return err
		}
	}
	_, err := st.to.Write(b)
	return err
}

// greet is what a stream begins with: when to come back if it breaks, and the
// time.
func (st *stream) greet(head []byte) []byte {
	head = append(head, "retry: "...)
	head = strconv.AppendInt(head, st.a.comeBack(), 10)
	return st.heartbeat(append(head, '\n'))
}

func (st *stream) heartbeat(b []byte) []byte {
	b = append(b, "event: heartbeat\ndata: {\"serverTime\":\""...)
	b = st.viewer.Now().UTC().AppendFormat(b, time.RFC3339Nano)
	return append(b, "\"}\n\n"...)
}

func (st *stream) closing() []byte {
	wait := strconv.FormatInt(st.a.comeBack(), 10)
	return []byte("retry: " + wait + "\nevent: closing\ndata: {\"retryMs\":" + wait + "}\n\n")
}

// comeBack is in how many milliseconds a viewer should come back, so that all
// of them together come no faster than another server can take them.
func (a *API) comeBack() int64 {
	spread := time.Second + time.Duration(a.streams.open.Load())*time.Second/returnPer
	return (500*time.Millisecond + rand.N(spread)).Milliseconds()
}
