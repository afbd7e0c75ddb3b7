package onsale

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"
	"github.com/valyala/fasthttp"
)

// answerMax is how long a caller waits for one answer. It only has to turn a
// hang into an error: a strategy that is slow is to be seen as slow.
const answerMax = 50 * time.Second

// caller is a customer with a connection of their own, who asks one thing at a
// time. Client and server share the machine's cores here, so the client must
// be cheap: net/http would spend more on a request than the server does. This
// one writes bytes that are mostly made in advance, and reads with fasthttp's
// parser into memory that it has already.
type caller struct {
	conn    net.Conn
	r       *bufio.Reader
	headers []byte // of every request: who asks
	out     []byte
	body    []byte // for who asks, to make requests in
	resp    fasthttp.Response
}

// callers opens n connections to the server, each for a customer of its own.
// hangUp ends them all.
func (h *House) callers(ctx context.Context, s *service, n int) (callers []*caller, hangUp func(), err error) {
	tokens, err := h.customers(n)
	if err != nil {
		return nil, nil, err
	}
	callers = make([]*caller, 0, n)
	hangUp = func() {
		for _, c := range callers {
			c.conn.Close()
		}
	}
	for _, token := range tokens {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.addr)
		if err != nil {
			hangUp()
			return nil, nil, err
		}
		callers = append(callers, &caller{conn: conn, r: bufio.NewReader(conn), headers: []byte(" HTTP/1.1\r\nHost: " + s.addr + "\r\nAuthorization: Bearer " + token + "\r\n")})
	}
	return callers, hangUp, nil
}

// post asks for a hold, with a key of its own. The answer is valid until the next
// request.
func (c *caller) post(body []byte) (*fasthttp.Response, error) {
	c.out = append(c.out[:0], "POST "...)
	c.out = append(c.out, placePath...)
	c.out = append(c.out, c.headers...)
	c.out = append(c.out, "Content-Type: application/json\r\nIdempotency-Key: "...)
	c.out = appendKey(c.out)
	c.out = append(c.out, "\r\nContent-Length: "...)
	c.out = strconv.AppendInt(c.out, int64(len(body)), 10)
	c.out = append(c.out, "\r\n\r\n"...)
	c.out = append(c.out, body...)
	return c.send()
}

// release gives back the hold at a path.
func (c *caller) release(path string) (*fasthttp.Response, error) {
	c.out = append(c.out[:0], "DELETE "...)
	c.out = append(c.out, path...)
	c.out = append(c.out, c.headers...)
	c.out = append(c.out, "Idempotency-Key: "...)
	c.out = appendKey(c.out)
	c.out = append(c.out, "\r\n\r\n"...)
	return c.send()
}

// get reads. headers are further ones, each with its CRLF.
func (c *caller) get(path, headers string) (*fasthttp.Response, error) {
	c.out = append(c.out[:0], "GET "...)
	c.out = append(c.out, path...)
	c.out = append(c.out, c.headers...)
	c.out = append(c.out, headers...)
	c.out = append(c.out, "\r\n"...)
	return c.send()
}

func (c *caller) send() (*fasthttp.Response, error) {
	if err := c.conn.SetDeadline(time.Now().Add(answerMax)); err != nil {
		return nil, err
	}
	if _, err := c.conn.Write(c.out); err != nil {
		return nil, err
	}
	c.resp.Reset()
	if err := c.resp.Read(c.r); err != nil {
		return nil, fmt.Errorf("no answer: %w", err)
	}
	return &c.resp, nil
}

// appendKey appends a new Idempotency-Key: a UUID version 4 without hyphens.
func appendKey(b []byte) []byte {
	var key [16]byte
	rand.Read(key[:])
	key[6], key[8] = 0x40|key[6]&0x0f, 0x80|key[8]&0x3f
	return hex.AppendEncode(b, key[:])
}

// customers makes tokens for n customers, as their identity provider would.
func (h *House) customers(n int) ([]string, error) {
	tokens := make([]string, n)
	until := time.Now().Add(time.Hour).Unix()
	for i := range tokens {
		var err error
		tokens[i], err = jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{"sub": uuid.NewString(), "exp": until}).SignedString([]byte(h.secret))
		if err != nil {
			return nil, err
		}
	}
	return tokens, nil
}
