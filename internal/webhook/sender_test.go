package webhook_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/postledger/postledger/internal/webhook"
)

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

func sender(t *testing.T, c webhook.SenderConfig) *webhook.Sender {
	t.Helper()
	if c.Guard == nil {
		c.Guard = &webhook.Guard{Allow: loopback}
	}
	s := webhook.NewSender(c)
	t.Cleanup(s.Close)
	return s
}

func TestSendIsVerifiedByTheReceiver(t *testing.T) {
	t.Parallel()
	secret := webhook.NewSecret()
	verifier, err := standardwebhooks.NewWebhook(secret.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	faults := make(chan error, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		err := verifier.Verify(body, r.Header)
		if err == nil && (r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" || r.UserAgent() != "Postledger/1.2.3") {
			err = fmt.Errorf("%s with %v", r.Method, r.Header)
		}
		faults <- err
		w.WriteHeader(http.StatusNoContent)
	}))
	defer receiver.Close()
	got := sender(t, webhook.SenderConfig{Version: "1.2.3"}).Send(t.Context(), webhook.Request{
		URL: receiver.URL, ID: "an-id", Secrets: []webhook.Secret{secret}, Body: []byte(`{"a":1}`),
	})
	if got.Verdict != webhook.VerdictDelivered || got.Code != http.StatusNoContent {
		t.Errorf("%+v", got)
	}
	if err := <-faults; err != nil {
		t.Error(err)
	}
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	var redirected atomic.Bool
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/elsewhere" {
			redirected.Store(true)
		}
		var code int
		_, _ = fmt.Sscanf(r.URL.Path, "/%d", &code)
		w.Header().Set("Location", "/elsewhere")
		w.Header().Set("Retry-After", r.URL.Query().Get("after"))
		w.WriteHeader(code)
		_, _ = io.WriteString(w, "because\x00"+strings.Repeat("é", 4000))
	}))
	defer receiver.Close()
	s := sender(t, webhook.SenderConfig{})
	date := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	for path, want := range map[string]webhook.Result{
		"/200":                                  {Verdict: webhook.VerdictDelivered},
		"/299":                                  {Verdict: webhook.VerdictDelivered},
		"/301":                                  {Verdict: webhook.VerdictRefused},
		"/307":                                  {Verdict: webhook.VerdictRefused},
		"/400":                                  {Verdict: webhook.VerdictRefused},
		"/410":                                  {Verdict: webhook.VerdictGone},
		"/429?after=7":                          {Verdict: webhook.VerdictThrottled, RetryAfter: 7 * time.Second},
		"/503?after=-1":                         {Verdict: webhook.VerdictThrottled},
		"/503?after=1e9":                        {Verdict: webhook.VerdictThrottled},
		"/503?after=" + strings.Repeat("9", 30): {Verdict: webhook.VerdictThrottled, RetryAfter: webhook.RetryAfterMax},
		"/502?after=" + strings.Repeat("9", 18): {Verdict: webhook.VerdictThrottled, RetryAfter: webhook.RetryAfterMax},
		"/504":                                  {Verdict: webhook.VerdictThrottled},
		"/500":                                  {Verdict: webhook.VerdictRefused},
		"/503?after=" + strings.ReplaceAll(date, " ", "%20"): {Verdict: webhook.VerdictThrottled, RetryAfter: time.Hour},
	} {
		got := s.Send(t.Context(), webhook.Request{URL: receiver.URL + path, ID: "x"})
		if got.Verdict != want.Verdict || (got.RetryAfter-want.RetryAfter).Abs() > 5*time.Second {
			t.Errorf("%s: %s after %s, want %s after %s", path, got.Verdict, got.RetryAfter, want.Verdict, want.RetryAfter)
		}
		if len(got.Response) > webhook.KeepResponse || !strings.HasPrefix(got.Response, "because\uFFFD") {
			t.Errorf("%s: keeps %d bytes, %.12q", path, len(got.Response), got.Response)
		}
	}
	if redirected.Load() {
		t.Error("a redirect was followed")
	}
}

// Faults of receivers: none holds a slot for longer than the bound, and none
// tells an app about the operator's network.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	dripping := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, "x")
			_ = http.NewResponseController(w).Flush()
		}
	}))
	defer dripping.Close()
	hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer hanging.Close()
	untrusted := httptest.NewTLSServer(http.NotFoundHandler())
	defer untrusted.Close()
	hasty := sender(t, webhook.SenderConfig{Timeout: 300 * time.Millisecond})
	patient := sender(t, webhook.SenderConfig{Resolver: names(t, nil)})
	for name, c := range map[string]struct {
		by        *webhook.Sender
		url, says string
	}{
		"silent":    {hasty, "http://" + silent.Addr().String(), "no answer within"},
		"hanging":   {hasty, hanging.URL, "no answer within"},
		"refused":   {patient, "http://" + gone.Addr().String() + "/secret-path", "refused"},
		"untrusted": {patient, untrusted.URL, "certificate"},
		"no name":   {patient, "http://nothing.invalid/", "no address"},
		"not HTTP":  {patient, "https://" + strings.TrimPrefix(dripping.URL, "http://"), ""},
	} {
		got := c.by.Send(t.Context(), webhook.Request{URL: c.url, ID: "x"})
		if got.Verdict != webhook.VerdictUnreachable || !strings.Contains(got.Response, c.says) {
			t.Errorf("%s: %s %q", name, got.Verdict, got.Response)
		}
		if strings.Contains(got.Response, "127.0.0.1:") || strings.Contains(got.Response, "secret-path") {
			t.Errorf("%s: says %q", name, got.Response)
		}
		if got.Took > webhook.Timeout {
			t.Errorf("%s: took %s", name, got.Took)
		}
	}
	// An endless body is read to what is kept, and no further.
	if got := patient.Send(t.Context(), webhook.Request{URL: dripping.URL, ID: "x"}); got.Verdict != webhook.VerdictDelivered || got.Took > webhook.Timeout {
		t.Errorf("an endless body: %+v", got)
	}
}

// Each look-up counts, not the first (DNS rebinding): a name that led to where
// webhooks may go leads to this machine at the next try, and is not followed there.
func TestReboundNamesAreNotFollowed(t *testing.T) {
	t.Parallel()
	var hits atomic.Int64
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		hits.Add(1)
		w.Header().Set("Connection", "close")
	}))
	defer receiver.Close()
	_, port, _ := net.SplitHostPort(receiver.Listener.Addr().String())
	var lookups atomic.Int64
	s := sender(t, webhook.SenderConfig{
		Guard: &webhook.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}},
		Resolver: names(t, func() netip.Addr {
			if lookups.Add(1) == 1 {
				return netip.MustParseAddr("127.0.0.1") // what the operator allows
			}
			return netip.MustParseAddr("127.0.0.2")
		}),
	})
	for i, want := range []webhook.Verdict{webhook.VerdictDelivered, webhook.VerdictForbidden} {
		if got := s.Send(t.Context(), webhook.Request{URL: "http://hooks.shop.test:" + port, ID: "x"}); got.Verdict != want {
			t.Errorf("try %d: %+v, want %s", i+1, got, want)
		}
	}
	if n := hits.Load(); n != 1 {
		t.Errorf("%d requests arrived, want 1", n)
	}
}

// What an address leads to counts, in whatever form it was written.
func TestForbiddenAddressesAreNeverDialed(t *testing.T) {
	t.Parallel()
	var hits atomic.Int64
	receiver := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	defer receiver.Close()
	_, port, _ := net.SplitHostPort(receiver.Listener.Addr().String())
	trusting := &tls.Config{RootCAs: receiver.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs, MinVersion: tls.VersionTLS12}
	s := sender(t, webhook.SenderConfig{Guard: &webhook.Guard{}, TLS: trusting})
	for _, host := range []string{"localhost", "127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "localhost."} {
		got := s.Send(t.Context(), webhook.Request{URL: "https://" + host + ":" + port + "/", ID: "x"})
		if got.Verdict != webhook.VerdictForbidden && got.Verdict != webhook.VerdictUnreachable {
			t.Errorf("%s: %+v", host, got)
		}
		if strings.Contains(got.Response, "127.0.0.1") {
			t.Errorf("%s: says %q", host, got.Response)
		}
	}
	if n := hits.Load(); n != 0 {
		t.Errorf("%d requests arrived", n)
	}
}

func TestNoProxyFromTheEnvironment(t *testing.T) {
	var proxied atomic.Bool
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { proxied.Store(true) }))
	defer proxy.Close()
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv("http_proxy", proxy.URL)
	s := sender(t, webhook.SenderConfig{Timeout: 300 * time.Millisecond})
	s.Send(context.Background(), webhook.Request{URL: "http://hooks.invalid/", ID: "x"})
	if proxied.Load() {
		t.Error("the request went to the environment's proxy")
	}
}
