package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"
)

// Limits of a try.
const (
	// Timeout bounds a try from the look-up of the name to the last byte kept.
	Timeout = 15 * time.Second
	// KeepResponse is how much of an answer is kept, in bytes.
	KeepResponse = 1024
	// headerMax bounds an answer's header.
	headerMax = 16 << 10
)

// Verdict is what an answer means.
type Verdict string

const (
	// VerdictDelivered: 2xx.
	VerdictDelivered Verdict = "delivered"
	// VerdictGone: 410, nothing more is to be sent to this endpoint.
	VerdictGone Verdict = "gone"
	// VerdictThrottled: 429, 502, 503 or 504, later and slower.
	VerdictThrottled Verdict = "throttled"
	// VerdictRefused: any other answer, redirects among them.
	VerdictRefused Verdict = "refused"
	// VerdictUnreachable: no answer.
	VerdictUnreachable Verdict = "unreachable"
	// VerdictForbidden: the name leads to an address that webhooks do not go to.
	VerdictForbidden Verdict = "forbidden"
)

// Result is what came of a try.
type Result struct {
	Verdict Verdict
	// Code is the answer's status, 0 without one.
	Code int
	// RetryAfter is what the endpoint asked for, 0 when it did not.
	RetryAfter time.Duration
	// Response is the beginning of the answer's body, or why there is none.
	Response string
	Took     time.Duration
}

// Request is one try of one event.
type Request struct {
	URL     string
	ID      string
	Secrets []Secret
	Body    []byte
}

// Sender makes tries. Its connections are kept for the next ones: at most
// PerHost to a host, and Idle in all while nothing is sent.
type Sender struct {
	client  *http.Client
	timeout time.Duration
	now     func() time.Time
	agent   string
	release func()
}

// SenderConfig makes a Sender.
type SenderConfig struct {
	Guard   *Guard
	Version string
	// PerHost bounds connections to one host (default 8), Idle those that wait
	// (default 64).
	PerHost, Idle int
	// Resolver looks names up; the machine's when nil.
	Resolver *net.Resolver
	// TLS replaces the usual configuration, when set: whose roots are trusted.
	TLS *tls.Config
	// Timeout bounds a try (default Timeout).
	Timeout time.Duration
	Now     func() time.Time
}

// NewSender makes a sender. No proxy is taken from the environment: it would make
// the connections that the guard has to see.
func NewSender(c SenderConfig) *Sender {
	if c.PerHost == 0 {
		c.PerHost = 8
	}
	if c.Idle == 0 {
		c.Idle = 64
	}
	if c.Timeout == 0 {
		c.Timeout = Timeout
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	dialer := &net.Dialer{Timeout: c.Timeout, KeepAlive: 30 * time.Second, Control: c.Guard.Control, Resolver: c.Resolver}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.TLS != nil {
		config = c.TLS.Clone()
	}
	transport := &http.Transport{
		DialContext:            dialer.DialContext,
		TLSClientConfig:        config,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
		MaxConnsPerHost:        c.PerHost,
		MaxIdleConnsPerHost:    c.PerHost,
		MaxIdleConns:           c.Idle,
		IdleConnTimeout:        60 * time.Second,
		TLSHandshakeTimeout:    c.Timeout,
		MaxResponseHeaderBytes: headerMax,
	}
	return &Sender{
		client: &http.Client{
			Transport:     transport,
			Timeout:       c.Timeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		timeout: c.Timeout,
		now:     c.Now,
		agent:   "Postledger/" + c.Version,
		release: transport.CloseIdleConnections,
	}
}

// Close lets go of idle connections.
func (s *Sender) Close() { s.release() }

// Send makes one try. It never fails: that no request could be made is a result
// too.
func (s *Sender) Send(ctx context.Context, r Request) Result {
	began := s.now()
	result := s.send(ctx, r, began)
	result.Took = s.now().Sub(began)
	return result
}

func (s *Sender) send(ctx context.Context, r Request, at time.Time) Result {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL, bytes.NewReader(r.Body))
	if err != nil {
		return Result{Verdict: VerdictForbidden, Response: "the endpoint's URL cannot be read"}
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", s.agent)
	request.Header.Set("Webhook-Id", r.ID)
	request.Header.Set("Webhook-Timestamp", strconv.FormatInt(at.Unix(), 10))
	request.Header.Set("Webhook-Signature", Signature(r.Secrets, r.ID, at, r.Body))
	response, err := s.client.Do(request)
	if err != nil {
		return s.failed(err)
	}
	defer response.Body.Close()
	// A body that breaks off says nothing new: the status is the answer.
	body, _ := io.ReadAll(io.LimitReader(response.Body, KeepResponse))
	return Result{
		Verdict:    verdict(response.StatusCode),
		Code:       response.StatusCode,
		RetryAfter: retryAfter(response.Header.Get("Retry-After"), at),
		Response:   printable(body),
	}
}

func verdict(code int) Verdict {
	switch {
	case code >= 200 && code < 300:
		return VerdictDelivered
	case code == http.StatusGone:
		return VerdictGone
	case code == http.StatusTooManyRequests, code == http.StatusBadGateway,
		code == http.StatusServiceUnavailable, code == http.StatusGatewayTimeout:
		return VerdictThrottled
	default:
		return VerdictRefused
	}
}

// failed hides the URL, which http.Client puts before its errors: a path or query
// may be a secret of the receiver's. An address that could not be reached is hidden
// too: an app could read the operator's network out of it.
func (s *Sender) failed(err error) Result {
	var timeout net.Error
	var name *net.DNSError
	var dial *net.OpError
	var certificate *tls.CertificateVerificationError
	unreachable := func(why string) Result { return Result{Verdict: VerdictUnreachable, Response: why} }
	switch {
	case errors.Is(err, ErrForbiddenAddress):
		return Result{Verdict: VerdictForbidden, Response: forbidden}
	case errors.As(err, &name):
		return unreachable("the host's name leads to no address")
	case errors.As(err, &timeout) && timeout.Timeout():
		return unreachable(fmt.Sprintf("no answer within %s", s.timeout))
	case errors.Is(err, context.Canceled):
		return unreachable("the try was broken off")
	case errors.As(err, &certificate):
		return unreachable(printable([]byte(certificate.Unwrap().Error())))
	case errors.Is(err, syscall.ECONNREFUSED):
		return unreachable("the connection was refused")
	case errors.As(err, &dial), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return unreachable("the connection broke off")
	default:
		return unreachable("no valid answer")
	}
}

// forbidden does not say which address a name leads to: an app could read the
// operator's network out of it.
const forbidden = "webhooks do not go there: the host has an address that is not global unicast or is this machine's, or the port is neither 80 nor 443"

// retryAfter reads both forms of RFC 9110 §10.2.3; 0 when it says nothing.
func retryAfter(text string, now time.Time) time.Duration {
	seconds, err := strconv.Atoi(text)
	if err == nil || errors.Is(err, strconv.ErrRange) { // beyond its range it is the largest or smallest
		if seconds <= 0 {
			return 0
		}
		return min(time.Duration(min(seconds, int(RetryAfterMax/time.Second)))*time.Second, RetryAfterMax)
	}
	at, err := http.ParseTime(text)
	if err != nil || !at.After(now) {
		return 0
	}
	return min(at.Sub(now), RetryAfterMax)
}

// printable keeps what people can read and databases can store.
func printable(b []byte) string {
	text := strings.ToValidUTF8(string(b[:min(len(b), KeepResponse)]), "\uFFFD")
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r >= ' ' && r != 0x7f:
			return r
		case r == '\r':
			return -1
		default:
			return '\uFFFD'
		}
	}, text)
	for len(text) > KeepResponse {
		_, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
	}
	return text
}
