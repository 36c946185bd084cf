package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"runtime/debug"
	"time"

	"github.com/postledger/postledger"
)

const (
	// requestTimeout bounds a request's work beside reading its body and
	// waiting for the wire.
	requestTimeout = 30 * time.Second
	// answerTimeout is how long an answer may take to be written.
	answerTimeout = 60 * time.Second
)

// ServeHTTP is everything around an operation: id, log, headers, panics, and
// answers where no operation is.
func (s *server) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w := &recorder{ResponseWriter: rw}
	c := &call{requestID: s.requestID(r), w: w, types: s.types, stall: s.Stall, memory: &reservation{budget: s.memory, all: s.BodyMemory}}
	defer c.memory.release()
	ctx := withCall(r.Context(), c)
	c.r = r.WithContext(ctx)
	began := s.Now()
	h := w.Header()
	h.Set("X-Request-Id", c.requestID)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	// A deadline of the request before on this connection is none of this one's.
	_ = http.NewResponseController(rw).SetWriteDeadline(time.Time{})
	defer func() {
		r.Pattern = c.r.Pattern // as ServeMux leaves it, for who counts by route
		if v := recover(); v != nil {
			s.panicked(ctx, c, w, v)
		}
		s.log(ctx, c, w, s.Now().Sub(began))
	}()
	if handler, pattern := s.mux.Handler(c.r); pattern == "" || elsewhere(c.r.URL) {
		s.unmatched(c, handler).write(w, c.requestID)
		return
	}
	s.mux.ServeHTTP(w, c.r)
}

// elsewhere tells of a path with // or a dot segment, such as //v1/messages. The
// mux would redirect to what it thinks is meant, with a page of HTML: nothing is at
// that address, and who joined two parts of a URL wrongly is to learn of it.
func elsewhere(u *url.URL) bool {
	p := u.EscapedPath()
	clean := path.Clean(p)
	return clean != p && clean+"/" != p
}

// unmatched is the refusal where no operation is: the mux knows whether it is
// the path or the method.
func (s *server) unmatched(c *call, handler http.Handler) *Problem {
	probe := &blind{header: http.Header{}}
	handler.ServeHTTP(probe, c.r)
	p := problem(codeRouteUnknown, "")
	if probe.status == http.StatusMethodNotAllowed {
		p = problem(codeMethodNotAllowed, "")
		p.allow = probe.header.Get("Allow")
	}
	c.problem = p
	return p
}

// blind takes an answer that nobody reads.
type blind struct {
	header http.Header
	status int
}

func (b *blind) Header() http.Header         { return b.header }
func (b *blind) Write(p []byte) (int, error) { return len(p), nil }
func (b *blind) WriteHeader(status int)      { b.status = status }

// panicked answers for a fault of ours, unless an answer has begun: then the
// connection is cut, so that nobody takes half of it for the whole.
func (s *server) panicked(ctx context.Context, c *call, w *recorder, v any) {
	if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(v)
	}
	s.Log.ErrorContext(ctx, "a request caused a panic", slog.String("request_id", c.requestID),
		slog.String("route", c.pattern()), slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
	if w.status != 0 {
		panic(http.ErrAbortHandler)
	}
	c.problem = problem(codeInternal, "")
	c.problem.write(w, c.requestID)
}

// log writes the request's line: the route and no path, query, body or address.
func (s *server) log(ctx context.Context, c *call, w *recorder, took time.Duration) {
	attrs := []slog.Attr{
		slog.String("request_id", c.requestID), slog.String("route", c.pattern()), slog.Int("status", w.status),
		slog.Int64("bytes", w.bytes), slog.Duration("took", took),
	}
	if !c.key.ID.IsZero() {
		attrs = append(attrs, slog.String("key", c.key.ID.String()))
	}
	if c.problem != nil {
		attrs = append(attrs, slog.String("code", string(c.problem.Code)))
	}
	s.Log.LogAttrs(ctx, slog.LevelInfo, "request", attrs...)
}

// pattern names the route; what matched none has no name of ours.
func (c *call) pattern() string { return c.r.Pattern }

// maxRequestID bounds a caller's own request id.
const maxRequestID = 128

// requestID is the caller's own, if it is printable and short, or a new one.
func (s *server) requestID(r *http.Request) string {
	id := r.Header.Get("X-Request-Id")
	for _, c := range []byte(id) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.' && c != ':' {
			id = ""
			break
		}
	}
	if id == "" || len(id) > maxRequestID {
		var source postledger.IDSource
		return source.Next(s.Now()).String()
	}
	return id
}

// recorder remembers what was answered.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
}

// WriteHeader notes the status and gives the answer its time.
func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
		_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(answerTimeout)) // not supported everywhere
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write counts the bytes.
func (w *recorder) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	n, err := w.ResponseWriter.Write(b)
	w.bytes += int64(n)
	return n, err
}

// Unwrap lets a ResponseController reach the connection.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }
