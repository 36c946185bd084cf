package client_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/postledger/postledger/client"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Whatever comes back, it is an answer of ours or an error that can be shown.
func FuzzAnswer(f *testing.F) {
	f.Add(202, "application/json", "", []byte(acceptedText))
	f.Add(202, "application/json; charset=utf-8", "", []byte(`{"id":null,"counts":{"sent":1}}`))
	f.Add(400, "application/problem+json", "", []byte(`{"code":"bad_input","errors":[{"field":"to[0]"}],"more_errors":-3}`))
	f.Add(429, "application/problem+json", "120", []byte(`{"code":"quota_exceeded","limit":5,"used":"x"}`))
	f.Add(503, "text/html", "Fri, 31 Dec 9999 23:59:59 GMT", []byte("<h1>\xff\x00</h1>"))
	f.Fuzz(func(t *testing.T, status int, media, retryAfter string, body []byte) {
		status = 200 + int(uint(status-200)%400)
		c := dial(t, "http://nowhere", testKey, quick(1), client.WithHTTPClient(&http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			return &http.Response{
				StatusCode: status, Request: r, Body: io.NopCloser(bytes.NewReader(body)),
				Header: http.Header{"Content-Type": {media}, "Retry-After": {retryAfter}},
			}, nil
		})}))
		got, err := c.Send(t.Context(), message())
		if err == nil {
			if status/100 != 2 || !json.Valid(body) || got.Key == "" {
				t.Errorf("accepted: %d %q %+v", status, body, got)
			}
			return
		}
		var e *client.Error
		if !errors.As(err, &e) {
			// A redirect without a place is net/http's to refuse.
			if status/100 != 3 {
				t.Fatalf("got %v", err)
			}
			return
		}
		if e.Status != status || e.RetryAfter < 0 || !utf8.ValidString(e.Error()) {
			t.Errorf("got %+v", e)
		}
		if e.Code == "" && strings.ContainsAny(e.Error(), "\r\n\x00") {
			t.Errorf("the error has more than one line: %q", e.Error())
		}
	})
}
