package api_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/api"
	"github.com/postledger/postledger/internal/ledger"
)

func TestWhatNoRouteTakes(t *testing.T) {
	w := sqlite(t)
	w.call("GET", "/nothing", w.read, nil).refused("route_unknown")
	w.call("GET", "/v1/messages/x/y/z", w.read, nil).refused("route_unknown")
	for _, path := range []string{"//v1/messages", "/v1//messages", "/v1/./messages", "/v1/x/../messages", "/v1/messages//", "//", "/v1/messages/"} {
		w.call("GET", path, w.read, nil).refused("route_unknown")
		w.call("POST", path, w.send, letter()).refused("route_unknown")
	}
	a := w.call("PATCH", "/v1/messages", w.read, nil).refused("method_not_allowed")
	if allow := a.header.Get("Allow"); !strings.Contains(allow, "POST") || !strings.Contains(allow, "GET") {
		t.Errorf("Allow %q", allow)
	}
	w.call("DELETE", "/openapi.json", "", nil).refused("method_not_allowed")
	w.call("POST", "/v1/messages", w.send, strings.NewReader(`{}`)).refused("unsupported_media_type")
	for _, media := range []string{"text/plain", "application/json; charset=latin1", "x", "multipart/form-data"} {
		w.call("POST", "/v1/messages", w.send, strings.NewReader(`{}`), "Content-Type", media).refused("unsupported_media_type")
	}
	w.call("POST", "/v1/messages", w.send, letter(), "Content-Encoding", "gzip").refused("unsupported_media_type")
	w.call("POST", "/v1/batches", w.send, strings.NewReader(`{}`), "Content-Type", "multipart/form-data; boundary=x").refused("unsupported_media_type")
}

func TestBodiesAreBounded(t *testing.T) {
	w := sqlite(t)
	big := func(n int) io.Reader {
		return io.MultiReader(strings.NewReader(`{"text":"`), io.LimitReader(endless('x'), int64(n)), strings.NewReader(`"}`))
	}
	a := w.call("POST", "/v1/apps", w.admin, big(2<<20), "Content-Type", "application/json").refused("request_too_large")
	if a.number("limit") != 1<<20 {
		t.Errorf("limit %d", a.number("limit"))
	}
	w.call("POST", "/v1/messages", w.send, big(33<<20), "Content-Type", "application/json").refused("request_too_large")
	w.call("POST", "/v1/messages", w.send, big(11<<20), "Content-Type", "application/json").refused("bad_input", "text too_large")
}

// What all requests hold together is bounded; who comes too much is told so.
func TestBodyMemoryIsBounded(t *testing.T) {
	big := with(letter(), "text", strings.Repeat("x", 9<<20))
	w := sqlite(t, func(c *api.Config) { c.BodyMemory = 40 << 20 })
	// Another is being read: at most 10 MiB of it are on the way still.
	pr, pw := io.Pipe()
	other := make(chan struct{})
	go func() {
		defer close(other)
		w.call("POST", "/v1/messages", w.send, pr, "Content-Type", "application/json").refused("bad_input")
	}()
	_, err := io.WriteString(pw, `{"text":"`+strings.Repeat("x", 16<<20))
	must(t, err)
	if a := w.call("POST", "/v1/messages", w.send, big).refused("overloaded"); a.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	must(t, pw.Close())
	<-other
	w.call("POST", "/v1/messages", w.send, big).want(http.StatusAccepted)

	// One that needs more than there is takes all of it.
	w = sqlite(t, func(c *api.Config) { c.BodyMemory = 12 << 20 })
	w.call("POST", "/v1/messages", w.send, big).want(http.StatusAccepted)
	// What was taken is given back, also by those that were refused.
	for range 5 {
		w.call("POST", "/v1/messages", w.send, with(letter(), "text", strings.Repeat("x", 2<<20))).want(http.StatusAccepted)
	}
	// A batch gives back with each message.
	var messages []any
	for range 6 {
		messages = append(messages, with(letter(), "text", strings.Repeat("x", 1<<20)))
	}
	w.call("POST", "/v1/batches", w.send, map[string]any{"messages": messages}).want(http.StatusAccepted)
}

// A body that stops coming ends the request.
func TestStalledBodies(t *testing.T) {
	w := sqlite(t, func(c *api.Config) { c.Stall = 100 * time.Millisecond })
	message := attached(map[string]any{"name": "a.txt"})
	body, ct := multipartBody(t, part{"message", message}, part{"attachment", strings.Repeat("x", 5000)})
	for media, text := range map[string]string{"application/json": `{"text":"`, ct: body.String()[:body.Len()-1000]} {
		pr, pw := io.Pipe()
		go func() {
			_, _ = io.WriteString(pw, text) // and no more
		}()
		w.call("POST", "/v1/messages", w.send, pr, "Content-Type", media).refused("request_timeout")
		must(t, pw.Close())
	}
	if left, err := w.blobs.List(t.Context(), "", "", 10); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// endless yields one byte for ever.
type endless byte

func (e endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(e)
	}
	return len(b), nil
}

func TestHeadersOfEveryAnswer(t *testing.T) {
	w := sqlite(t)
	for _, path := range []string{"/v1/messages", "/nothing", "/healthz", "/openapi.json", "/docs"} {
		h := w.call("GET", path, w.read, nil).header
		if h.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(h.Get("Content-Security-Policy"), "default-src 'none'") ||
			h.Get("Access-Control-Allow-Origin") != "" || h.Get("Cache-Control") == "" {
			t.Errorf("%s: headers %v", path, h)
		}
	}
	if got := w.call("GET", "/healthz", "", nil, "X-Request-Id", "abc-1:2").header.Get("X-Request-Id"); got != "abc-1:2" {
		t.Errorf("request id %q", got)
	}
	for _, bad := range []string{"a b", strings.Repeat("x", 129), `"><script>`, "ä"} {
		if got := w.call("GET", "/healthz", "", nil, "X-Request-Id", bad).header.Get("X-Request-Id"); got == bad || got == "" {
			t.Errorf("request id %q for %q", got, bad)
		}
	}
}

func TestTheLogHoldsNoAddress(t *testing.T) {
	w := sqlite(t)
	w.sent(letter("secret-person@in.test"))
	w.call("GET", "/v1/deliveries?recipient=secret-person@in.test", w.read, nil).want(http.StatusOK)
	w.call("DELETE", "/v1/suppressions?address=secret-person@in.test", w.send, nil).refused("suppression_unknown")
	text := w.log.String()
	if strings.Contains(text, "secret-person") || strings.Contains(text, "Good day") || strings.Contains(text, w.send) {
		t.Errorf("the log: %s", text)
	}
	if !strings.Contains(text, `"route":"GET /v1/deliveries"`) || !strings.Contains(text, `"code":"suppression_unknown"`) {
		t.Errorf("the log has no lines of the requests: %s", text)
	}
}

// broken is a ledger that fails, or panics.
type broken struct {
	api.Ledger
	err   error
	panic bool
}

func (b *broken) Messages(context.Context, ledger.Filter, ledger.Paging) (ledger.Page[postledger.Message], error) {
	if b.panic {
		panic("a fault of ours")
	}
	return ledger.Page[postledger.Message]{}, b.err
}

func TestFaults(t *testing.T) {
	fault := &broken{err: errors.New("connection refused to 10.0.0.7")}
	w := sqlite(t, func(c *api.Config) { fault.Ledger, c.Ledger = c.Ledger, fault })
	a := w.call("GET", "/v1/messages", w.read, nil).refused("mail_unavailable")
	if a.header.Get("Retry-After") == "" || strings.Contains(string(a.body), "10.0.0.7") {
		t.Errorf("answer %v %s", a.header, a.body)
	}
	if !strings.Contains(w.log.String(), "10.0.0.7") {
		t.Error("the log does not say why")
	}
	fault.panic = true
	w.call("GET", "/v1/messages", w.read, nil).refused("internal")
	if !strings.Contains(w.log.String(), "a fault of ours") {
		t.Error("the log does not hold the panic")
	}
}

func TestReadiness(t *testing.T) {
	w := sqlite(t)
	w.call("GET", "/readyz", "", nil).want(http.StatusOK)
	w.notReady = errors.New("the journal is full")
	a := w.call("GET", "/readyz", "", nil).refused("mail_unavailable")
	if strings.Contains(string(a.body), "journal") {
		t.Errorf("the reason is shown: %s", a.body)
	}
	w.call("GET", "/healthz", "", nil).want(http.StatusOK)
}

func TestConfigIsComplete(t *testing.T) {
	if _, err := api.New(api.Config{}); err == nil {
		t.Error("an empty configuration was taken")
	}
}

// The page at /docs is whole by itself: nothing is loaded and no script runs.
func TestDocsPage(t *testing.T) {
	w := sqlite(t)
	a := w.call("GET", "/docs", "", nil).want(http.StatusOK)
	page := string(a.body)
	// A URL that is text, as in an example, loads nothing; one in an attribute would.
	for _, outside := range []string{"<script", "=\"http", "='http", "=http", "=\"//", "<link", "<img", "@import", "url(", "javascript:", "style=\""} {
		if strings.Contains(page, outside) {
			t.Errorf("the page has %q", outside)
		}
	}
	if a.header.Get("Content-Type") != "text/html; charset=utf-8" || !strings.Contains(a.header.Get("Content-Security-Policy"), "style-src 'sha256-") {
		t.Errorf("headers %v", a.header)
	}
	for _, op := range w.operations() {
		_, path, _ := strings.Cut(op, " ")
		if !strings.Contains(page, "</span> "+path+"</p>") {
			t.Errorf("the page does not have %s", op)
		}
	}
	ids := map[string]bool{}
	for _, m := range regexp.MustCompile(`id="([^"]+)"`).FindAllStringSubmatch(page, -1) {
		if ids[m[1]] {
			t.Errorf("the page has the id %q twice", m[1])
		}
		ids[m[1]] = true
	}
	for _, m := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(page, -1) {
		if !ids[m[1]] {
			t.Errorf("the page has no %q", m[1])
		}
	}
	for _, e := range api.Errors() {
		if !ids[string(e.Code)] {
			t.Errorf("the page does not explain %s", e.Code)
		}
	}
	committed, err := api.OpenAPI()
	must(t, err)
	if !bytes.Equal(committed, w.call("GET", "/openapi.json", "", nil).body) {
		t.Error("the server's document is not the rendered one")
	}
}
