package telemetry

import (
	"context"
	"io"
	"log/slog"
)

// RequestIDKey is the context key under which a request's id, a string, is
// found. It is exported and has no setter so that a context type of one's own
// can answer it without another allocation for each request.
type RequestIDKey struct{}

// NewLogger returns a logger that writes to w the lines of level and above,
// as JSON when format is "json" and as text otherwise. A line logged with a
// request's context carries its requestId.
func NewLogger(w io.Writer, level slog.Level, format string) *slog.Logger {
	opts := &slog.HandlerOptions{Level: level}
	var h slog.Handler = slog.NewTextHandler(w, opts)
	if format == "json" {
		h = slog.NewJSONHandler(w, opts)
	}
	return slog.New(requestIDs{h})
}

// requestIDs adds the request's id to each record.
type requestIDs struct{ slog.Handler }

func (h requestIDs) Handle(ctx context.Context, r slog.Record) error {
	if id, _ := ctx.Value(RequestIDKey{}).(string); id != "" {
		r.AddAttrs(slog.String("requestId", id))
	}
	return h.Handler.Handle(ctx, r)
}

func (h requestIDs) WithAttrs(attrs []slog.Attr) slog.Handler {
	return requestIDs{h.Handler.WithAttrs(attrs)}
}

func (h requestIDs) WithGroup(name string) slog.Handler {
	return requestIDs{h.Handler.WithGroup(name)}
}
