package client

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Client speaks to one Postledger with one API key. Its methods may be called
// from any goroutine. Make one and keep it: it holds the connections.
type Client struct {
	base *url.URL
	// key is a closure, so that printing a Client does not print the key.
	key   func() string
	http  *http.Client
	agent string
	retry Retry
	stall time.Duration
}

// DefaultStall is how long a try may stand still, with no byte of request or
// answer moving, before it counts as failed. It is longer than the longest
// Wait.
const DefaultStall = 60 * time.Second

// userAgent is how the client names itself.
const userAgent = "postledger-go"

// New makes a client. The URL is that of the HTTP listener, such as
// https://mail.example.com, with a path if a proxy put one in front. The key is
// an app's key (send, read, content) or an operator's (admin, audit).
//
// Use https across machines: a key is a password, and http shows it to
// everybody on the way.
func New(baseURL, key string, opts ...Option) (*Client, error) {
	base, err := url.Parse(strings.TrimSpace(baseURL))
	if err != nil {
		// The parser's error repeats the text, which may hold a password.
		return nil, errors.New("base URL: cannot be parsed")
	}
	switch {
	case base.Scheme != "http" && base.Scheme != "https", base.Host == "":
		return nil, errors.New("base URL: want http://host or https://host")
	case base.User != nil:
		return nil, errors.New("base URL: must not hold a user or password: the key is given by itself")
	case base.RawQuery != "" || base.Fragment != "":
		return nil, errors.New("base URL: must not hold a query or fragment")
	case key == "":
		return nil, errors.New("key: is empty")
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return nil, errors.New("key: holds a space, a control character or a letter beyond ASCII")
	}
	base.Path = strings.TrimRight(base.Path, "/")
	base.RawPath = strings.TrimRight(base.RawPath, "/")
	c := &Client{
		base: base, key: func() string { return key }, agent: userAgent,
		retry: DefaultRetry(), stall: DefaultStall,
	}
	for _, o := range opts {
		if err := o(c); err != nil {
			return nil, err
		}
	}
	if c.http == nil {
		c.http = &http.Client{Transport: newTransport()}
	}
	// A redirect would carry the key, and mail, to wherever it points.
	h := *c.http
	h.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.http = &h
	return c, nil
}

// newTransport has a bound for everything but the answer itself, which the
// stall timer bounds. Connections are as many as the calls at one time; idle
// ones are at most 64.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
		IdleConnTimeout:       90 * time.Second,
		MaxIdleConns:          64,
		MaxIdleConnsPerHost:   64,
		ForceAttemptHTTP2:     true,
		// Many calls share one HTTP/2 connection: a dead one has to be found.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second},
	}
}

// CloseIdleConnections closes the connections that no call uses now.
func (c *Client) CloseIdleConnections() { c.http.CloseIdleConnections() }

// String names the server, never the key.
func (c *Client) String() string { return "postledger at " + c.base.Host }

// Option changes how a Client works.
type Option func(*Client) error

// WithHTTPClient uses another HTTP client, for instance one with a client
// certificate. Its Timeout, if any, bounds each try as a whole. Redirects are
// not followed, whatever it says.
func WithHTTPClient(h *http.Client) Option {
	return func(c *Client) error {
		if h == nil {
			return errors.New("HTTP client: is nil")
		}
		c.http = h
		return nil
	}
}

// WithUserAgent puts the application's name, such as "billing/2.1", before the
// client's own.
func WithUserAgent(name string) Option {
	return func(c *Client) error {
		if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r >= 0x7f }) {
			return errors.New("user agent: want printable ASCII")
		}
		c.agent = name + " " + userAgent
		return nil
	}
}

// WithRetry replaces the retry policy.
func WithRetry(r Retry) Option {
	return func(c *Client) error {
		if err := r.check(); err != nil {
			return fmt.Errorf("retry: %w", err)
		}
		c.retry = r
		return nil
	}
}

// WithStall replaces DefaultStall. One shorter than a Wait makes waiting
// requests fail.
func WithStall(d time.Duration) Option {
	return func(c *Client) error {
		if d <= 0 {
			return errors.New("stall: must be more than 0")
		}
		c.stall = d
		return nil
	}
}
