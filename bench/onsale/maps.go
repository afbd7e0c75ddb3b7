package onsale

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/valyala/fasthttp"
)

const (
	mapSeats   = 300
	mapReaders = 64
	takesGzip  = "Accept-Encoding: gzip\r\n"

	mapUnchanged = "seat map, unchanged"
	mapNothing   = "/healthz, which looks nothing up" // what server and client cost at least
)

// Reading is a kind of read, and what came of it.
type Reading struct {
	Name string
	Load
	Bytes int // of a body
}

// Maps reads the map of a show of 300 seats in each form, as fast as the
// machine can: unchanged since the reader saw it last, and whole.
func (h *House) Maps(ctx context.Context, during time.Duration) (list []Reading, err error) {
	shows, err := h.shows(ctx, 1, mapSeats)
	if err != nil {
		return nil, err
	}
	err = h.behind(ctx, Rowlock, "", func(s *service) error {
		callers, hangUp, err := h.callers(ctx, s, mapReaders)
		if err != nil {
			return err
		}
		defer hangUp()
		seats, availability := shows[0].path("seats"), shows[0].path("availability")
		for _, kind := range []struct{ name, path, headers, answer string }{
			{mapUnchanged, seats, takesGzip, "304"},
			{"availability, unchanged", availability, takesGzip, "304"},
			{"availability, compressed", availability, takesGzip, "200"},
			{"seat map, compressed", seats, takesGzip, "200"},
			{"seat map, plain", seats, "", "200"},
			{mapNothing, "/healthz", "", "200"},
		} {
			first, err := callers[0].get(kind.path, kind.headers)
			if err != nil {
				return err
			}
			r := Reading{Name: kind.name, Bytes: len(first.Body())}
			if kind.answer == "304" {
				kind.headers += "If-None-Match: " + string(first.Header.Peek("ETag")) + "\r\n"
				r.Bytes = 0
			}
			r.Load = press(ctx, callers, math.MaxInt, during, []string{kind.answer}, func(c *caller, _ int) (*fasthttp.Response, error) { return c.get(kind.path, kind.headers) })
			if err := r.err(); err != nil {
				return fmt.Errorf("%s: %w", r.Name, err)
			}
			list = append(list, r)
		}
		return nil
	})
	return list, err
}
