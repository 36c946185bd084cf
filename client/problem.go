package client

import (
	"encoding/json"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/postledger/postledger"
)

const (
	// maxProblem bounds what is read of a refusal: 50 problems of a request
	// are some 20 KiB.
	maxProblem = 256 << 10
	// maxForeign bounds what is kept of an answer that is not ours.
	maxForeign = 200
)

// problem is the document of RFC 9457 §3.1 with our members.
type problem struct {
	Code      Code          `json:"code"`
	Title     string        `json:"title"`
	Detail    string        `json:"detail"`
	Errors    []Field       `json:"errors"`
	More      int           `json:"more_errors"`
	RequestID string        `json:"request_id"`
	MessageID postledger.ID `json:"message_id"`
	Fate      string        `json:"fate"`
	Limit     *int64        `json:"limit"`
}

// refusal reads an answer that is not a success.
func refusal(cl *call, resp *http.Response, body []byte) *Error {
	e := &Error{
		Op: cl.op, Key: cl.key, Status: resp.StatusCode, Title: http.StatusText(resp.StatusCode),
		RetryAfter: retryAfter(resp.Header), RequestID: resp.Header.Get("X-Request-ID"),
	}
	var p problem
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	// A document that is not ours may have members of ours with other types;
	// all that counts is whether there is a code.
	ours := media == "application/problem+json" || media == "application/json"
	if !ours || json.Unmarshal(body, &p) != nil || p.Code == "" {
		e.Detail = foreign(body)
		return e
	}
	e.Code, e.Detail, e.Fields, e.MoreFields = p.Code, p.Detail, p.Errors, p.More
	if p.Title != "" {
		e.Title = p.Title
	}
	if e.RequestID == "" {
		e.RequestID = p.RequestID
	}
	e.MessageID, e.FateUnknown = p.MessageID, p.Fate == "unknown"
	if p.Limit != nil {
		e.Usage = &Usage{}
		_ = json.Unmarshal(body, e.Usage) // it has been read once already
	}
	return e
}

// foreign is the beginning of a text on one line.
func foreign(body []byte) string {
	// Fields of the whole would copy it all; twice the length is enough to
	// fill the line unless it is blank for the most part.
	s := strings.ToValidUTF8(string(body[:min(len(body), 4*maxForeign)]), "")
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f && r < 0xa0 }), " ")
	if len(s) > maxForeign {
		s = strings.ToValidUTF8(s[:maxForeign], "") + "…"
	}
	return s
}

// retryAfter reads both forms of RFC 9110 §10.2.3. A date counts from the
// server's own, since the two clocks may differ.
func retryAfter(h http.Header) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if v == "" {
		return 0
	}
	if n, err := strconv.ParseInt(v, 10, 64); err == nil {
		if n < 0 {
			return 0
		}
		return time.Duration(min(n, maxRetryAfter)) * time.Second
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return min(max(0, at.Sub(now)), maxRetryAfter*time.Second)
}

// maxRetryAfter, a year in seconds, keeps the arithmetic from overflowing.
const maxRetryAfter = 366 * 24 * 3600
