package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/postledger/postledger/client"
)

const acceptedText = `{"id":"01890a5d-ac96-774b-bcce-b302099a8057"}`

func message() *client.Message {
	return &client.Message{To: client.To("mira@example.net"), Subject: "Receipt", Text: "Thank you."}
}

// script answers one request after the other and notes the keys they had.
type script struct {
	mu    sync.Mutex
	steps []http.HandlerFunc
	keys  []string
	at    []time.Time
}

func (s *script) serve(w http.ResponseWriter, r *http.Request) {
	var m client.Message
	json.NewDecoder(r.Body).Decode(&m)
	s.mu.Lock()
	n := len(s.keys)
	s.keys, s.at = append(s.keys, m.Key), append(s.at, time.Now())
	step := s.steps[min(n, len(s.steps)-1)]
	s.mu.Unlock()
	step(w, r)
}

func (s *script) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.keys)
}

func accepts(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusAccepted, acceptedText) }

func status(code int, text string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		refuse(w, code, text)
	}
}

// cut ends the connection without an answer, or within one.
func cut(begun string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		io.WriteString(conn, begun)
		if tcp, ok := conn.(*net.TCPConn); ok && begun == "" {
			tcp.SetLinger(0) // a reset
		}
		conn.Close()
	}
}

const (
	head     = "HTTP/1.1 202 Accepted\r\nContent-Type: application/json\r\n"
	sized    = head + "Content-Length: 200\r\n\r\n" + `{"id":"01890a5d-`
	chunked  = head + "Transfer-Encoding: chunked\r\n\r\n" + "5\r\n{\"id\"\r\n"
	halfHead = "HTTP/1.1 202 Acc"
)

func TestSendRepeats(t *testing.T) {
	t.Parallel()
	busy := `{"code":"idempotency_in_progress"}`
	tests := map[string]struct {
		steps []http.HandlerFunc
		tries int
		want  error // nil: accepted in the end
	}{
		"nothing wrong":                       {[]http.HandlerFunc{accepts}, 1, nil},
		"503 and then 202":                    {[]http.HandlerFunc{status(503, `{"code":"overloaded"}`), accepts}, 2, nil},
		"503 of a proxy":                      {[]http.HandlerFunc{status(503, `<h1>busy</h1>`), accepts}, 2, nil},
		"503, fate unknown":                   {[]http.HandlerFunc{status(503, `{"code":"mail_unavailable","fate":"unknown"}`), accepts}, 2, nil},
		"502 and 504 of a proxy":              {[]http.HandlerFunc{status(502, ``), status(504, ``), accepts}, 3, nil},
		"429":                                 {[]http.HandlerFunc{status(429, `{"code":"rate_exceeded"}`), accepts}, 2, nil},
		"409 in progress":                     {[]http.HandlerFunc{status(409, busy), status(409, busy), accepts}, 3, nil},
		"reset before an answer":              {[]http.HandlerFunc{cut(""), accepts}, 2, nil},
		"cut in the status line":              {[]http.HandlerFunc{cut(halfHead), accepts}, 2, nil},
		"cut in the body":                     {[]http.HandlerFunc{cut(sized), accepts}, 2, nil},
		"cut between chunks":                  {[]http.HandlerFunc{cut(chunked), accepts}, 2, nil},
		"503 for ever":                        {[]http.HandlerFunc{status(503, `{"code":"overloaded"}`)}, 6, client.ErrOverloaded},
		"409 for ever":                        {[]http.HandlerFunc{status(409, busy)}, 6, client.ErrIdempotencyInProgress},
		"400":                                 {[]http.HandlerFunc{status(400, `{"code":"bad_input"}`)}, 1, client.ErrBadInput},
		"401":                                 {[]http.HandlerFunc{status(401, `{"code":"unauthorized"}`)}, 1, client.ErrUnauthorized},
		"408":                                 {[]http.HandlerFunc{status(408, `{"code":"request_timeout"}`)}, 1, client.ErrRequestTimeout},
		"409 of another kind":                 {[]http.HandlerFunc{status(409, `{"code":"backlog_full"}`)}, 1, client.ErrBacklogFull},
		"410":                                 {[]http.HandlerFunc{status(410, `{"code":"message_gone"}`)}, 1, client.ErrMessageGone},
		"422":                                 {[]http.HandlerFunc{status(422, `{"code":"idempotency_mismatch"}`)}, 1, client.ErrIdempotencyMismatch},
		"500":                                 {[]http.HandlerFunc{status(500, `{"code":"internal"}`)}, 1, client.ErrInternal},
		"507":                                 {[]http.HandlerFunc{status(507, `{"code":"attachment_storage_full"}`)}, 1, client.ErrAttachmentStorageFull},
		"429 for good":                        {[]http.HandlerFunc{status(429, `{"code":"quota_exceeded","limit":5}`)}, 1, client.ErrQuotaExceeded},
		"429 that lasts longer than patience": {[]http.HandlerFunc{status(429, `{"code":"quota_exceeded","limit":5}`, "Retry-After", "61")}, 1, client.ErrQuotaExceeded},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &script{steps: test.steps}
			c := serve(t, s.serve)
			got, err := c.Send(t.Context(), message())
			keys := s.seen()
			if len(keys) != test.tries {
				t.Errorf("%d tries, want %d", len(keys), test.tries)
			}
			if keys[0] == "" || slices.ContainsFunc(keys, func(k string) bool { return k != keys[0] }) {
				t.Errorf("keys %q: want one, the same in each try", keys)
			}
			if test.want != nil {
				if !errors.Is(err, test.want) || client.KeyOf(err) != keys[0] {
					t.Errorf("got %v with key %q, want %v with %q", err, client.KeyOf(err), test.want, keys[0])
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.ID.String() != "01890a5d-ac96-774b-bcce-b302099a8057" || got.Key != keys[0] {
				t.Errorf("got %+v, want the id and key %q", got, keys[0])
			}
		})
	}
}

func TestSendKeepsTheCallersKeyAndMessage(t *testing.T) {
	t.Parallel()
	s := &script{steps: []http.HandlerFunc{cut(""), accepts}}
	m := message()
	m.Key = "receipt-4711"
	got, err := serve(t, s.serve).Send(t.Context(), m)
	if err != nil || got.Key != "receipt-4711" || !slices.Equal(s.seen(), []string{"receipt-4711", "receipt-4711"}) {
		t.Errorf("got %+v, %v after keys %q", got, err, s.seen())
	}
	m.Key = ""
	if _, err := serve(t, s.serve).Send(t.Context(), m); err != nil || m.Key != "" {
		t.Errorf("got %v, and the message has key %q: want it unchanged", err, m.Key)
	}
}

func TestNoAnswerSaysUnderWhichKeyToRepeat(t *testing.T) {
	t.Parallel()
	s := &script{steps: []http.HandlerFunc{cut("")}}
	_, err := serve(t, s.serve, quick(3)).Send(t.Context(), message())
	var none *client.NoAnswerError
	if !errors.As(err, &none) || none.Tries != 3 || none.Key != s.seen()[0] {
		t.Fatalf("got %v, want a NoAnswerError after 3 tries with key %q", err, s.seen()[0])
	}
	if strings.Contains(err.Error(), testKey) || strings.Contains(err.Error(), "http://") {
		t.Errorf("the error shows more than it should: %v", err)
	}
}

// A refused connection has sent nothing, so also what is not repeatable is
// tried again: the server may be starting.
func TestRefusedConnection(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + l.Addr().String()
	l.Close()
	_, err = dial(t, url, testKey, quick(4)).CreateApp(t.Context(), "shop")
	var none *client.NoAnswerError
	if !errors.As(err, &none) || none.Tries != 4 {
		t.Errorf("got %v, want no answer in 4 tries", err)
	}
}

// What is not harmless twice is tried again only when nothing of it was done.
func TestWhatIsNotRepeatable(t *testing.T) {
	t.Parallel()
	made := func(w http.ResponseWriter, _ *http.Request) { answer(w, 201, `{"name":"shop"}`) }
	tests := map[string]struct {
		first http.HandlerFunc
		tries int
	}{
		"a reset":           {cut(""), 1},
		"half an answer":    {cut(sized), 1},
		"503 of a proxy":    {status(503, `busy`), 1},
		"502":               {status(502, `{"code":"internal"}`), 1},
		"fate unknown":      {status(503, `{"code":"mail_unavailable","fate":"unknown"}`), 1},
		"503, nothing done": {status(503, `{"code":"mail_unavailable"}`), 2},
		"429":               {status(429, `{"code":"rate_exceeded"}`), 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &script{steps: []http.HandlerFunc{test.first, made}}
			_, err := serve(t, s.serve).CreateApp(t.Context(), "shop")
			if n := len(s.seen()); n != test.tries || (err == nil) != (n == 2) {
				t.Errorf("got %v in %d tries, want %d", err, n, test.tries)
			}
		})
	}
}

// Pauses double and are shortened by up to a half; what the server asks for is
// the least.
func TestPauses(t *testing.T) {
	t.Parallel()
	overloaded := status(503, `{"code":"overloaded"}`)
	tests := map[string]struct {
		step      http.HandlerFunc
		low, high []time.Duration
	}{
		"by itself": {
			overloaded,
			[]time.Duration{100e6, 200e6, 400e6, 500e6, 500e6},
			[]time.Duration{200e6, 400e6, 800e6, 1000e6, 1000e6},
		},
		"as asked, in seconds": {
			status(503, `{"code":"overloaded"}`, "Retry-After", "7"),
			[]time.Duration{7e9, 7e9, 7e9, 7e9, 7e9},
			[]time.Duration{8e9, 8e9, 8e9, 8e9, 8e9},
		},
		"as asked, by date": {
			func(w http.ResponseWriter, r *http.Request) {
				// A server whose clock is a year behind.
				now := time.Now().AddDate(-1, 0, 0)
				w.Header().Set("Date", now.UTC().Format(http.TimeFormat))
				w.Header().Set("Retry-After", now.Add(20*time.Second).UTC().Format(http.TimeFormat))
				overloaded(w, r)
			},
			[]time.Duration{20e9, 20e9, 20e9, 20e9, 20e9},
			[]time.Duration{21e9, 21e9, 21e9, 21e9, 21e9},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &script{steps: []http.HandlerFunc{test.step}}
				c := bubble(t, s.serve, client.WithRetry(client.Retry{
					Tries: 6, Base: 200 * time.Millisecond, Most: time.Second, Patience: time.Minute,
				}))
				if _, err := c.Send(t.Context(), message()); !errors.Is(err, client.ErrOverloaded) {
					t.Fatal(err)
				}
				if len(s.at) != 6 {
					t.Fatalf("%d tries, want 6", len(s.at))
				}
				for i := range 5 {
					if d := s.at[i+1].Sub(s.at[i]); d < test.low[i] || d > test.high[i] {
						t.Errorf("pause %d is %v, want %v to %v", i+1, d, test.low[i], test.high[i])
					}
				}
			})
		})
	}
}

// A pause that ends after the context would is not begun: the caller gets the
// refusal at once rather than "deadline exceeded" later.
func TestNoPauseBeyondTheDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{steps: []http.HandlerFunc{status(503, `{"code":"overloaded"}`, "Retry-After", "30")}}
		c := bubble(t, s.serve)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		begun := time.Now()
		_, err := c.Send(ctx, message())
		var e *client.Error
		if !errors.As(err, &e) || e.RetryAfter != 30*time.Second || time.Since(begun) != 0 {
			t.Errorf("got %v after %v, want the refusal at once", err, time.Since(begun))
		}
	})
}

func TestContextEndsAPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{steps: []http.HandlerFunc{status(503, `{"code":"overloaded"}`, "Retry-After", "30")}}
		c := bubble(t, s.serve)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(5*time.Second, cancel)
		begun := time.Now()
		_, err := c.Send(ctx, message())
		if !errors.Is(err, client.ErrOverloaded) || time.Since(begun) != 5*time.Second {
			t.Errorf("got %v after %v, want the refusal after 5s", err, time.Since(begun))
		}
	})
}

func TestContextEndsATry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := bubble(t, func(_ http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		})
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_, err := c.Send(ctx, message())
		var none *client.NoAnswerError
		if !errors.As(err, &none) || none.Tries != 1 || !errors.Is(err, context.DeadlineExceeded) || none.Key == "" {
			t.Errorf("got %v, want no answer in one try, with a key", err)
		}
	})
}

// A server that says nothing for longer than the stall is tried again; one
// that is slow, but moves, is not.
func TestStall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		c := bubble(t, func(w http.ResponseWriter, r *http.Request) {
			tries++
			io.Copy(io.Discard, r.Body)
			if tries == 1 {
				<-r.Context().Done()
				return
			}
			w.Header().Set("Content-Type", "application/json")
			for _, b := range []byte(acceptedText) {
				<-time.After(9 * time.Second)
				w.Write([]byte{b})
				w.(http.Flusher).Flush()
			}
		}, client.WithStall(10*time.Second))
		begun := time.Now()
		got, err := c.Send(t.Context(), message())
		if err != nil || got.ID.IsZero() || tries != 2 {
			t.Fatalf("got %+v, %v in %d tries", got, err, tries)
		}
		if d := time.Since(begun); d < time.Duration(len(acceptedText))*9*time.Second {
			t.Errorf("took %v: the server was not slow", d)
		}
	})
}

func TestStallForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := bubble(t, func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, acceptedText[:5])
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, client.WithStall(10*time.Second), quick(2))
		_, err := c.Send(t.Context(), message())
		var none *client.NoAnswerError
		if !errors.As(err, &none) || none.Tries != 2 || !strings.Contains(err.Error(), "nothing moved") {
			t.Errorf("got %v, want two stalled tries", err)
		}
	})
}
