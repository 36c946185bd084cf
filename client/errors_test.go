package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/postledger/postledger/client"
)

func refusal(t *testing.T, h http.HandlerFunc) *client.Error {
	t.Helper()
	_, err := serve(t, h, quick(1)).Send(t.Context(), message())
	var e *client.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an *Error", err)
	}
	return e
}

func TestProblemDocument(t *testing.T) {
	t.Parallel()
	e := refusal(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Request-Id", "req-1")
		w.Header().Set("Retry-After", "3600")
		refuse(w, 400, `{"type":"/docs#bad_input","title":"The request is not valid","status":400,"code":"bad_input","request_id":"req-2",
			"detail":"two things","errors":[
			{"field":"to[1].address","rule":"syntax","message":"is not an address"},
			{"field":"subject","rule":"too_long","message":"is longer than 998 bytes"}],"more_errors":7,"unheard_of":[{}]}`)
	})
	if e.Status != 400 || e.Code != client.ErrBadInput || e.Title != "The request is not valid" || e.Detail != "two things" ||
		e.RequestID != "req-1" || e.RetryAfter != time.Hour || e.Key == "" || e.Usage != nil || e.FateUnknown || e.MoreFields != 7 {
		t.Errorf("got %+v", e)
	}
	want := client.Field{Field: "to[1].address", Rule: "syntax", Message: "is not an address"}
	if len(e.Fields) != 2 || e.Fields[0] != want {
		t.Errorf("got fields %+v", e.Fields)
	}
	text := "send message: 400 bad_input: two things; to[1].address is not an address; subject is longer than 998 bytes (request req-1)"
	if e.Error() != text {
		t.Errorf("got  %q\nwant %q", e.Error(), text)
	}
}

func TestManyFieldsAreNotAllShown(t *testing.T) {
	t.Parallel()
	field := `{"field":"f","rule":"r","message":"m"}`
	e := refusal(t, status(400, `{"code":"bad_input","errors":[`+strings.Repeat(field+",", 49)+field+`],"more_errors":5}`))
	if got, want := e.Error(), "send message: 400 bad_input: Bad Request; f m; f m; f m (and 52 more)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	e := refusal(t, status(429, `{"code":"quota_exceeded","limit":1000,"used":998,"requested":5,"resets_at":"2026-03-01T10:00:00Z"}`, "Retry-After", "7200"))
	want := client.Usage{Limit: 1000, Used: 998, Requested: 5, ResetsAt: time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)}
	if e.Usage == nil || *e.Usage != want {
		t.Errorf("got %+v, want %+v", e.Usage, want)
	}
	if !errors.Is(e, client.ErrQuotaExceeded) || errors.Is(e, client.ErrRateExceeded) {
		t.Errorf("got %v", e)
	}
}

func TestFateUnknown(t *testing.T) {
	t.Parallel()
	e := refusal(t, status(503, `{"code":"mail_unavailable","fate":"unknown","message_id":"01890a5d-ac96-774b-bcce-b302099a8057"}`))
	if !e.FateUnknown || e.MessageID.String() != "01890a5d-ac96-774b-bcce-b302099a8057" {
		t.Errorf("got %+v", e)
	}
}

func TestCodes(t *testing.T) {
	t.Parallel()
	for _, code := range client.Codes() {
		err := fmt.Errorf("outer: %w", &client.Error{Code: code})
		for _, other := range client.Codes() {
			if errors.Is(err, other) != (code == other) {
				t.Errorf("errors.Is(%s, %s) is %v", code, other, errors.Is(err, other))
			}
		}
	}
	if errors.Is(&client.Error{}, client.Code("")) {
		t.Error("an error without a code matches the empty code")
	}
}

// What stands between client and server answers in its own way.
func TestForeignRefusals(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ media, body, detail string }{
		"an HTML page":           {"text/html", "<html>\r\n<h1>502\x00 Bad\tGateway</h1>", "<html> <h1>502 Bad Gateway</h1>"},
		"JSON of another kind":   {"application/json", `{"error":"nope"}`, `{"error":"nope"}`},
		"a code of another type": {"application/json", `{"code":17}`, `{"code":17}`},
		"a list":                 {"application/problem+json", `[]`, `[]`},
		"half a document":        {"application/problem+json", `{"code":"bad_in`, `{"code":"bad_in`},
		"our code as HTML":       {"text/html", `{"code":"bad_input"}`, `{"code":"bad_input"}`},
		"nothing":                {"", "", ""},
		"bytes":                  {"application/octet-stream", "\xff\xfe\x80ok", "ok"},
		"a long text":            {"text/plain", strings.Repeat("ä", 5000), strings.Repeat("ä", 100) + "…"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := refusal(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", test.media)
				w.WriteHeader(418)
				io.WriteString(w, test.body)
			})
			if e.Status != 418 || e.Code != "" || e.Detail != test.detail || e.Title != "I'm a teapot" {
				t.Errorf("got %+v", e)
			}
		})
	}
}

// A success that is not ours says nothing of the message: it is neither taken
// for an answer nor repeated.
func TestForeignSuccess(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ media, body string }{
		"an HTML page":        {"text/html", "<h1>Log in to the network</h1>"},
		"JSON without type":   {"", acceptedText},
		"half a JSON":         {"application/json", `{"id":`},
		"JSON of other types": {"application/json", `{"id":17}`},
		"nothing":             {"application/json", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tries := 0
			c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				tries++
				w.Header()["Content-Type"] = []string{test.media}
				w.WriteHeader(202)
				io.WriteString(w, test.body)
			})
			_, err := c.Send(t.Context(), message())
			var e *client.Error
			if !errors.As(err, &e) || e.Status != 202 || e.Code != "" || e.Key == "" || tries != 1 {
				t.Errorf("got %v in %d tries", err, tries)
			}
		})
	}
}

func TestHugeBodiesAreBounded(t *testing.T) {
	t.Parallel()
	var sent int64
	flood := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			block := bytes.Repeat([]byte(" "), 1<<20)
			for sent = 0; sent < 1<<30; {
				n, err := w.Write(block)
				sent += int64(n)
				if err != nil {
					return
				}
			}
		}
	}
	srv := httptest.NewServer(flood(500))
	_, err := dial(t, srv.URL, testKey, quick(1)).Send(t.Context(), message())
	srv.Close() // waits for the handler: sent is ours now
	var e *client.Error
	if !errors.As(err, &e) || e.Status != 500 || sent > 32<<20 {
		t.Errorf("a refusal: got %v after %d bytes", err, sent)
	}
	srv = httptest.NewServer(flood(202))
	_, err = dial(t, srv.URL, testKey, quick(3)).Send(t.Context(), message())
	srv.Close()
	if !errors.As(err, &e) || !strings.Contains(e.Detail, "larger than") || sent > 128<<20 {
		t.Errorf("a success: got %v after %d bytes", err, sent)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the redirect was followed")
	}))
	defer elsewhere.Close()
	for _, code := range []int{301, 302, 307, 308} {
		h := func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, code) }
		for name, c := range map[string]*client.Client{
			"own":   serve(t, h),
			"given": serve(t, h, client.WithHTTPClient(&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return nil }})),
		} {
			_, err := c.Send(t.Context(), message())
			var e *client.Error
			if !errors.As(err, &e) || e.Status != code {
				t.Errorf("%s client: got %v, want %d", name, err, code)
			}
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"":                              0,
		"0":                             0,
		"-5":                            0,
		"soon":                          0,
		"120":                           2 * time.Minute,
		" 120 ":                         2 * time.Minute,
		"1.5":                           0,
		"9223372036854775807":           366 * 24 * time.Hour,
		"99999999999999999999":          0,
		"Sun, 06 Nov 1994 08:49:37 GMT": 0,
		"Fri, 31 Dec 9999 23:59:59 GMT": 366 * 24 * time.Hour,
	} {
		if e := refusal(t, status(429, `{"code":"quota_exceeded"}`, "Retry-After", text)); e.RetryAfter != want {
			t.Errorf("Retry-After %q: got %v, want %v", text, e.RetryAfter, want)
		}
	}
}

func TestNoAnswerError(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("outer: %w", &client.NoAnswerError{Op: "send message", Key: "k", Tries: 2, Err: context.Canceled})
	if got, want := err.Error(), "outer: send message: no answer in 2 tries: context canceled"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if client.KeyOf(err) != "k" || !errors.Is(err, context.Canceled) || client.KeyOf(io.EOF) != "" {
		t.Errorf("got key %q", client.KeyOf(err))
	}
}
