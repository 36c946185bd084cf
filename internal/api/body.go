package api

import (
	"bufio"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"
)

// decodeJSON reads the request's body into v.
func (c *call) decodeJSON(v any) error {
	body, err := c.jsonBody(c.route.maxBody)
	if err != nil {
		return err
	}
	return newDecoder(c.types, body).whole(v)
}

// noBody refuses a body that says something; an empty object says nothing.
func (c *call) noBody() error {
	if c.r.ContentLength == 0 {
		return nil
	}
	body := bufio.NewReader(c.body(defaultBody))
	if _, err := body.Peek(1); errors.Is(err, io.EOF) {
		return nil
	}
	return newDecoder(c.types, body).whole(new(struct{}))
}

// jsonBody is the body of a request that has JSON, bounded.
func (c *call) jsonBody(limit int64) (io.Reader, error) {
	media, err := c.media()
	if err != nil {
		return nil, err
	}
	if media != "application/json" {
		return nil, problem(codeMediaType, "the Content-Type must be application/json")
	}
	return c.body(limit), nil
}

// media is the body's type. A body that is encoded would escape the limits.
func (c *call) media() (string, error) {
	if e := c.r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return "", problem(codeMediaType, "the body must not be encoded")
	}
	media, params, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if err != nil {
		return "", problem(codeMediaType, "there is no valid Content-Type")
	}
	if charset := params["charset"]; charset != "" && !strings.EqualFold(charset, "utf-8") {
		return "", problem(codeMediaType, "the charset must be UTF-8")
	}
	return media, nil
}

// body is the request's body, bounded in size, in memory, and in how long it
// may stall.
func (c *call) body(limit int64) io.Reader {
	return &reserving{r: c.stream(http.MaxBytesReader(c.w, c.r.Body, limit)), mem: c.memory, free: bodyStep}
}

// stream bounds the stalls only: what reads it has limits of its own.
func (c *call) stream(body io.Reader) io.Reader {
	return &stalling{r: body, rc: http.NewResponseController(c.w), limit: c.stall}
}

// stalling moves the connection's read deadline along while a body comes: a
// large upload may take its time, and one that stops does not hold anything.
type stalling struct {
	r     io.Reader
	rc    *http.ResponseController
	limit time.Duration
	next  time.Time
}

func (s *stalling) Read(b []byte) (int, error) {
	if now := time.Now(); now.After(s.next) {
		// Not supported by every ResponseWriter; then the server's own apply.
		_ = s.rc.SetReadDeadline(now.Add(s.limit))
		s.next = now.Add(s.limit / 10)
	}
	n, err := s.r.Read(b)
	if errors.Is(err, io.EOF) {
		// net/http goes on reading, to see the connection end. A deadline that
		// passes then would end a request that waits for the wire.
		_ = s.rc.SetReadDeadline(time.Time{})
	}
	return n, err
}

// readProblem is the refusal of a body that could not be read.
func readProblem(err error) *Problem {
	tooLarge := new(http.MaxBytesError)
	var p *Problem
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &tooLarge):
		p = problem(codeRequestTooLarge, "")
		p.Limit = &tooLarge.Limit
		return p
	case errors.Is(err, os.ErrDeadlineExceeded):
		return problem(codeRequestTimeout, "")
	}
	p = field("", ruleJSON, "the body could not be read to its end")
	p.cause = err
	return p
}
