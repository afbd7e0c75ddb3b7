package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// event is one of a stream.
type event struct {
	name string
	id   *string // nil: it has none; "": what was the last one is forgotten
	data []byte
}

// events is a stream of server-sent events, read as a browser reads it: what is
// cut off in the middle of an event was not said.
type events struct {
	door  string
	body  io.ReadCloser
	lines *bufio.Reader
	retry time.Duration // to wait before coming back, as the server said
}

// listen begins a stream. Nil: there is none now.
func (c *client) listen(ctx context.Context, req request) *events {
	w, door, err := c.call(ctx, req, nil)
	if err != nil {
		if ctx.Err() == nil {
			c.t.ill.Store(door, time.Now())
		}
		return nil
	}
	if w.StatusCode != http.StatusOK {
		c.hear(req, w)
		w.Body.Close()
		return nil
	}
	if kind := w.Header.Get("Content-Type"); kind != "text/event-stream" {
		c.t.found("the stream %s has the type %q", req.path, kind)
	}
	return &events{door: door, body: w.Body, lines: bufio.NewReader(w.Body)}
}

// next waits for an event. The error says that the stream has ended.
func (s *events) next() (e event, err error) {
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			return e, err
		}
		if line == "\n" {
			if e.name == "" {
				continue
			}
			return e, nil
		}
		field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "event":
			e.name = value
		case "id":
			e.id = &value
		case "data":
			e.data = append(e.data, value...)
		case "retry":
			if millis, err := strconv.Atoi(value); err == nil {
				s.retry = time.Duration(millis) * time.Millisecond
			}
		}
	}
}

// says reads what an event says.
func (e *event) says(c *client, path string, into any) {
	if err := json.Unmarshal(e.data, into); err != nil {
		c.t.found("the stream %s said %s, which cannot be read: %v: %s", path, e.name, err, brief(e.data))
	}
}

func (s *events) close() { s.body.Close() }
