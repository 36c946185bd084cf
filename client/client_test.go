package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/client"
)

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	ok := "https://mail.example.com"
	tests := map[string]struct {
		url, key string
		opts     []client.Option
		want     string
	}{
		"no scheme":         {"mail.example.com", "k", nil, "base URL"},
		"another scheme":    {"ftp://mail.example.com", "k", nil, "base URL"},
		"no host":           {"https://", "k", nil, "base URL"},
		"a password":        {"https://u:secret@mail.example.com", "k", nil, "user"},
		"a query":           {"https://mail.example.com?a=b", "k", nil, "query"},
		"not a URL":         {"https://secret:%zz", "k", nil, "base URL"},
		"no key":            {ok, "", nil, "key"},
		"a key with a line": {ok, "k\r\nX-Probe: 1", nil, "key"},
		"a key with spaces": {ok, " k", nil, "key"},
		"no HTTP client":    {ok, "k", []client.Option{client.WithHTTPClient(nil)}, "HTTP client"},
		"agent":             {ok, "k", []client.Option{client.WithUserAgent("a\nb")}, "user agent"},
		"stall":             {ok, "k", []client.Option{client.WithStall(0)}, "stall"},
		"no tries":          {ok, "k", []client.Option{client.WithRetry(client.Retry{})}, "tries"},
		"pauses":            {ok, "k", []client.Option{client.WithRetry(client.Retry{Tries: 1, Base: 2, Most: 1})}, "base"},
		"patience":          {ok, "k", []client.Option{client.WithRetry(client.Retry{Tries: 1, Patience: -1})}, "patience"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := client.New(test.url, test.key, test.opts...)
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v, want an error about %s", err, test.want)
			}
		})
	}
}

func TestKeyIsNotPrinted(t *testing.T) {
	t.Parallel()
	c := dial(t, "https://mail.example.com", testKey)
	text, _ := json.Marshal(map[string]any{"client": c})
	for _, s := range []string{fmt.Sprint(c), fmt.Sprintf("%+v", c), fmt.Sprintf("%#v", c), fmt.Sprintf("%+v", *c), string(text)} {
		if strings.Contains(s, testKey) {
			t.Errorf("the key shows in %s", s)
		}
	}
}

func TestRequestHead(t *testing.T) {
	t.Parallel()
	var got *http.Request
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		accepts(w, r)
	}))
	defer srv.Close()
	c := dial(t, srv.URL+"/mail/", testKey, client.WithUserAgent("billing/2.1"))
	if _, err := c.Send(t.Context(), message(), client.Wait(1500*time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"Authorization": "Bearer " + testKey, "User-Agent": "billing/2.1 postledger-go",
		"Content-Type": "application/json", "Prefer": "wait=2",
	} {
		if v := got.Header.Get(name); v != want {
			t.Errorf("%s is %q, want %q", name, v, want)
		}
	}
	if got.URL.Path != "/mail/v1/messages" || got.Method != "POST" || got.ContentLength <= 0 || len(got.Header.Values("Idempotency-Key")) != 0 {
		t.Errorf("got %s %s with length %d and headers %v", got.Method, got.URL, got.ContentLength, got.Header)
	}
}

func TestWaitBounds(t *testing.T) {
	t.Parallel()
	c := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was made") })
	for _, d := range []time.Duration{0, -1, 30*time.Second + 1} {
		if _, err := c.Send(t.Context(), message(), client.Wait(d)); err == nil {
			t.Errorf("wait %v: want an error", d)
		}
	}
	if _, err := c.Send(t.Context(), nil); err == nil {
		t.Error("a nil message: want an error")
	}
}

// The JSON is what the server reads: unknown members and nulls are refused, so
// nothing that is not set may be sent.
func TestMessageJSON(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	size := int64(3)
	tests := map[string]struct {
		message any
		want    string
	}{
		"least": {client.Message{Subject: "<b>"}, `{"subject":"\u003cb\u003e"}`},
		"all": {
			client.Message{
				Profile: "p", To: client.To("a@x.example"), Cc: client.To("b@x.example"), Bcc: client.To("c@x.example"),
				Subject: "s", Text: "t", HTML: "h", Headers: []postledger.Header{{Name: "N", Value: "V"}}, FromName: "f",
				ReplyTo: []postledger.Mailbox{{Address: "r@x.example"}}, Lane: postledger.LaneBulk, Category: postledger.CategorySystem,
				Ref: client.Ref{Scope: "order", ID: "7"}, Tenant: "te", Locale: "de", Actor: postledger.Actor{Type: "user"},
				SendAt: at, Deadline: client.Deadline{After: 90 * time.Second}, MessageID: "m@x.example", Key: "k",
				Attachments: []client.Attachment{{Name: "n", ContentType: "c", Disposition: "d", ContentID: "i", Method: "REQUEST", Size: &size, SHA256: "00"}},
			},
			`{"profile":"p","to":[{"address":"a@x.example"}],"cc":[{"address":"b@x.example"}],"bcc":[{"address":"c@x.example"}],` +
				`"subject":"s","text":"t","html":"h","headers":[{"name":"N","value":"V"}],"from_name":"f",` +
				`"reply_to":[{"address":"r@x.example"}],"lane":"bulk","category":"system","ref":{"scope":"order","id":"7"},"tenant":"te",` +
				`"locale":"de","actor":{"type":"user"},"send_at":"2026-03-01T10:00:00Z","deadline":90,"message_id":"m@x.example",` +
				`"attachments":[{"name":"n","content_type":"c","disposition":"d","content_id":"i","method":"REQUEST","size":3,"sha256":"00"}],"idempotency_key":"k"}`,
		},
		"a moment":     {client.Deadline{At: at}, `"2026-03-01T10:00:00Z"`},
		"a short span": {client.Deadline{After: 1}, `1`},
		"resend":       {client.Resending{}, `{}`},
		"resend none":  {client.Resending{Deliveries: []postledger.ID{}}, `{"deliveries":[]}`},
		"choose":       {client.Choice{}, `{}`},
		"choose none":  {client.Choice{IDs: []postledger.ID{}}, `{"ids":[]}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := json.Marshal(test.message)
			if err != nil || string(got) != test.want {
				t.Errorf("got  %s, %v\nwant %s", got, err, test.want)
			}
		})
	}
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	for _, d := range []client.Deadline{{After: -1}, {At: time.Now(), After: 1}} {
		if _, err := json.Marshal(d); err == nil {
			t.Errorf("%+v: want an error", d)
		}
	}
	for text, ok := range map[string]bool{
		`30`: true, `"2026-03-01T10:00:00Z"`: true, `null`: true,
		`0`: false, `-1`: false, `1.5`: false, `"soon"`: false, `""`: false, `{}`: false, `9223372036854775807`: false,
	} {
		var d client.Deadline
		if err := json.Unmarshal([]byte(text), &d); (err == nil) != ok {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

func TestTextThatIsNotUTF8(t *testing.T) {
	t.Parallel()
	c := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was made") })
	for field, m := range map[string]*client.Message{
		"subject":             {Subject: "a\xffb"},
		"to[1].name":          {To: []client.Recipient{{}, {Name: "\xc0\x80"}}},
		"ref.id":              {Ref: client.Ref{ID: "\x80"}},
		"headers[0].value":    {Headers: []postledger.Header{{Value: "\xed\xa0\x80"}}},
		"attachments[0].name": {Attachments: []client.Attachment{{Name: "\xff", Reader: strings.NewReader("")}}},
	} {
		if _, err := c.Send(t.Context(), m); err == nil || !strings.Contains(err.Error(), field+":") {
			t.Errorf("got %v, want an error about %s", err, field)
		}
	}
}

// listing serves pages of numbers as subjects.
func listing(t *testing.T, pages ...string) (*client.Client, *[]string) {
	var asked []string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RequestURI())
		n := 0
		fmt.Sscanf(r.URL.Query().Get("cursor"), "c%d", &n)
		answer(w, 200, pages[n])
	}, quick(1))
	return c, &asked
}

func subjects(t *testing.T, c *client.Client, f client.DeliveryFilter, most int) (string, error) {
	t.Helper()
	var got []string
	for d, err := range c.Deliveries(t.Context(), f) {
		if err != nil {
			return strings.Join(got, ","), err
		}
		got = append(got, d.Subject)
		if len(got) == most {
			break
		}
	}
	return strings.Join(got, ","), nil
}

var three = []string{
	`{"items":[{"subject":"1"},{"subject":"2"}],"next":"c1"}`,
	`{"items":[],"next":"c2"}`,
	`{"items":[{"subject":"3"}],"prev":"c1"}`,
}

func TestListsGoOn(t *testing.T) {
	t.Parallel()
	c, asked := listing(t, three...)
	id, _ := postledger.ParseID("01890a5d-ac96-774b-bcce-b302099a8057")
	got, err := subjects(t, c, client.DeliveryFilter{
		App: id, Statuses: []postledger.Status{postledger.StatusSent, postledger.StatusFailed},
		Since: time.Date(2026, 3, 1, 11, 0, 0, 500, time.FixedZone("", 3600)), Recipient: "a+b@x.example", PageSize: 5000,
	}, 99)
	if got != "1,2,3" || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
	query := "/v1/deliveries?app=" + id.String() + "&%slimit=1000&recipient=a%%2Bb%%40x.example&since=2026-03-01T10%%3A00%%3A00.0000005Z&status=sent%%2Cfailed"
	want := []string{fmt.Sprintf(query, ""), fmt.Sprintf(query, "cursor=c1&"), fmt.Sprintf(query, "cursor=c2&")}
	if strings.Join(*asked, "\n") != strings.Join(want, "\n") {
		t.Errorf("asked %q\nwant  %q", *asked, want)
	}
}

func TestListsFetchWhenNeeded(t *testing.T) {
	t.Parallel()
	c, asked := listing(t, three...)
	if got, err := subjects(t, c, client.DeliveryFilter{}, 2); got != "1,2" || err != nil || len(*asked) != 1 {
		t.Errorf("got %s, %v with %q", got, err, *asked)
	}
}

func TestListsEndWithAnError(t *testing.T) {
	t.Parallel()
	c, _ := listing(t, three[0], `{"items":[{"subject":`)
	if got, err := subjects(t, c, client.DeliveryFilter{}, 99); got != "1,2" || err == nil {
		t.Errorf("got %s, %v", got, err)
	}
	c, asked := listing(t, three[0], `{"items":[],"next":"c1"}`)
	if got, err := subjects(t, c, client.DeliveryFilter{}, 99); got != "1,2" || err == nil || len(*asked) != 2 {
		t.Errorf("a list that goes round: got %s, %v after %d pages", got, err, len(*asked))
	}
}

// A list of states that came out empty must not read as all of them.
func TestEmptyStatuses(t *testing.T) {
	t.Parallel()
	c, asked := listing(t, `{"items":[]}`)
	subjects(t, c, client.DeliveryFilter{Statuses: []postledger.Status{}}, 99)
	if (*asked)[0] != "/v1/deliveries?status=" {
		t.Errorf("asked %q", *asked)
	}
}

func TestResendOfNothing(t *testing.T) {
	t.Parallel()
	c := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was made") })
	if _, err := c.ResendMessage(t.Context(), postledger.ID{1}, client.Resending{Deliveries: []postledger.ID{}}); err == nil {
		t.Error("want an error")
	}
}

func TestCanceledContext(t *testing.T) {
	t.Parallel()
	c := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was made") })
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the shift is over")
	cancel(why)
	if _, err := c.Send(ctx, message()); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
}
