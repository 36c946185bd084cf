package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"iter"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/client"
	"github.com/postledger/postledger/internal/api"
)

// schema is what is looked at of the API's own document.
type schema struct {
	Ref        string             `json:"$ref"`
	Properties map[string]*schema `json:"properties"`
	Items      *schema            `json:"items"`
}

type operation struct {
	ID         string                `json:"operationId"`
	Security   []map[string][]string `json:"security"`
	Parameters []struct{ Name, In string }
	Body       struct {
		Content map[string]struct{ Schema *schema }
	} `json:"requestBody"`
	Responses map[string]struct {
		Content map[string]struct{ Schema *schema }
	}
}

type document struct {
	Paths      map[string]map[string]*operation
	Components struct{ Schemas map[string]*schema }
}

func readDocument(t *testing.T) *document {
	t.Helper()
	text, err := api.OpenAPI()
	must(t, err)
	var d document
	must(t, json.Unmarshal(text, &d))
	return &d
}

func (d *document) resolve(s *schema) *schema {
	for s != nil && s.Ref != "" {
		s = d.Components.Schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
	}
	return s
}

// names are the members of a schema, at every depth: "to[].address". A schema
// within itself is not entered again.
func (d *document) names(s *schema, at string, into map[string]bool) map[string]bool {
	s = d.resolve(s)
	if s == nil || strings.Count(at, ".") > 5 {
		return into
	}
	if s.Items != nil {
		return d.names(s.Items, at+"[]", into)
	}
	for name, p := range s.Properties {
		if name == "$schema" {
			continue
		}
		into[at+"."+name] = true
		d.names(p, at+"."+name, into)
	}
	return into
}

// of finds the operation of a request.
func (d *document) of(method, path string) *operation {
	for pattern, methods := range d.Paths {
		re := regexp.MustCompile("^" + regexp.MustCompile(`\\\{\w+\\\}`).ReplaceAllString(regexp.QuoteMeta(pattern), "[^/]+") + "$")
		// A fixed path goes before one with a parameter.
		if op := methods[strings.ToLower(method)]; op != nil && re.MatchString(path) && (d.Paths[path] == nil || pattern == path) {
			return op
		}
	}
	return nil
}

// tree is the names of a JSON value, as document.names has them.
func tree(v any, at string, into map[string]bool) map[string]bool {
	switch v := v.(type) {
	case map[string]any:
		for name, m := range v {
			into[at+"."+name] = true
			tree(m, at+"."+name, into)
		}
	case []any:
		for _, m := range v {
			tree(m, at+"[]", into)
		}
	}
	return into
}

// members are those of a Go type that JSON is read into.
func members(t reflect.Type, at string, into map[string]bool) map[string]bool {
	switch {
	case t.Kind() == reflect.Pointer:
		return members(t.Elem(), at, into)
	case t == reflect.TypeFor[time.Time](), t == reflect.TypeFor[postledger.ID](), t == reflect.TypeFor[json.RawMessage]():
		return into
	case t.Kind() == reflect.Slice:
		return members(t.Elem(), at+"[]", into)
	case t.Kind() != reflect.Struct:
		return into
	}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		into[at+"."+name] = true
		members(f.Type, at+"."+name, into)
	}
	return into
}

// recorder answers with nothing and notes what it was asked, by operation.
type recorder struct {
	doc    *document
	mu     sync.Mutex
	query  map[string]map[string]bool
	body   map[string]map[string]bool
	strays []string
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	op := r.doc.of(req.Method, req.URL.Path)
	if op == nil {
		r.strays = append(r.strays, req.Method+" "+req.URL.Path)
		op = &operation{}
	}
	if r.query[op.ID] == nil {
		r.query[op.ID], r.body[op.ID] = map[string]bool{}, map[string]bool{}
	}
	for name := range req.URL.Query() {
		r.query[op.ID][name] = true
	}
	if req.Body != nil {
		text, _ := io.ReadAll(req.Body)
		req.Body.Close()
		var v any
		if json.Unmarshal(text, &v) == nil {
			tree(v, "", r.body[op.ID])
		}
	}
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Request: req,
		Body: io.NopCloser(bytes.NewReader([]byte(`{}`))),
	}, nil
}

func drain[T any](seq iter.Seq2[T, error]) {
	for range seq { //nolint:revive // what was asked for is what matters
	}
}

// callAll makes every call that there is, with everything set.
func callAll(ctx context.Context, c *client.Client) {
	id, now := postledger.ID{1}, time.Now()
	m := full()
	c.Send(ctx, m)
	c.SendBatch(ctx, &client.Batch{Profile: "p", Actor: actor(), Key: "k", Messages: []*client.Message{fullInBatch()}})
	c.Message(ctx, id)
	c.MessageContent(ctx, id)
	drain(c.Messages(ctx, client.MessageFilter{
		App: id, Profile: "p", Batch: id, Statuses: postledger.Statuses(), Since: now, Until: now, RefScope: "s", RefID: "i",
		Lane: postledger.LaneBulk, Recipient: "a", PageSize: 1,
	}))
	drain(c.Deliveries(ctx, client.DeliveryFilter{
		App: id, Profile: "p", Message: id, Batch: id, Statuses: postledger.Statuses(), Since: now, Until: now, RefScope: "s", RefID: "i",
		Lane: postledger.LaneBulk, Recipient: "a", Prefix: "p", Domain: "d", Contains: "c", PageSize: 1,
	}))
	choice := client.Choice{
		All: true, App: id, Profile: "p", IDs: []postledger.ID{id}, Message: id, Batch: id, RefScope: "s", RefID: "i",
		Lane: postledger.LaneBulk, Since: now, Until: now, Recipient: "a", Reason: postledger.ReasonRestored,
	}
	c.CancelMessage(ctx, id)
	c.CancelBatch(ctx, id)
	c.Cancel(ctx, choice)
	c.Resolve(ctx, client.ResolveSent, choice)
	c.ResendMessage(ctx, id, client.Resending{Deliveries: []postledger.ID{id}, Actor: actor(), Deadline: client.Deadline{After: time.Second}, Key: "k"})
	c.Stats(ctx, client.StatsFilter{App: id, Profile: "p", Lane: postledger.LaneBulk, Since: now, Until: now})
	c.SandboxMails(ctx, id)
	if r, err := c.SandboxMail(ctx, id, id); err == nil {
		r.Close()
	}
	callAdministration(ctx, c, id, now)
}

func callAdministration(ctx context.Context, c *client.Client, id postledger.ID, now time.Time) {
	text, n := "t", int64(1)
	c.Apps(ctx)
	c.App(ctx, id)
	c.CreateApp(ctx, "n")
	c.RemoveApp(ctx, id)
	c.APIKeys(ctx, id)
	c.CreateAPIKey(ctx, client.NewAPIKey{App: id, Name: "n", Scopes: []postledger.Scope{"read"}, ExpiresAt: now})
	c.RevokeAPIKey(ctx, id)
	c.Grants(ctx, id)
	c.PutGrant(ctx, id, "p", client.GrantTerms{TrustedHTML: true, Quota: &n})
	c.RevokeGrant(ctx, id, "p")
	c.Profiles(ctx)
	c.Profile(ctx, "p")
	c.PutProfile(ctx, "p", client.ProfileChange{Revision: 1, Name: "n", IsDefault: true, Password: &text, DKIMKey: &text, ProfileConfig: postledger.ProfileConfig{
		From: "f", FromName: "n", Transport: "t", Settings: []byte(`"s"`), Connections: 1, PacePerMinute: 1, QuotaPerDay: &n,
		MaxAttachmentBytes: 1, ImmediatePerMinute: 1, RetryHorizonSeconds: 1, OnUnconfirmed: "hold", BounceDomain: "d",
		MessageIDDomain: "d", DKIMDomain: "d", DKIMSelector: "s",
	}})
	c.MakeDefaultProfile(ctx, "p")
	c.PauseProfile(ctx, "p", "r")
	c.ResumeProfile(ctx, "p")
	c.RemoveProfile(ctx, "p")
	c.TestProfile(ctx, "p", id, "to")
	drain(c.Suppressions(ctx, id))
	c.Suppress(ctx, id, "a", "r")
	c.Unsuppress(ctx, id, "a")
	fields := postledger.AudienceDefinition{
		Source: "s", Lens: []byte(`"s"`), Address: "a", Locale: "l", Tenant: "t", Timezone: "z", Category: "system",
	}
	drain(c.Audiences(ctx, id))
	c.Audience(ctx, id, "a", 1)
	drain(c.AudienceVersions(ctx, id, "a"))
	c.PutAudience(ctx, "a", client.AudienceChange{App: id, Revision: 1, Name: "n", AudienceDefinition: fields})
	c.RemoveAudience(ctx, id, "a")
	c.PreviewAudience(ctx, client.PreviewRequest{
		App: id, Audience: "a", Revision: 1, Definition: &fields, Params: map[string]any{}, Want: []client.Want{client.WantCounts},
	})
	c.Webhooks(ctx, id)
	c.Webhook(ctx, id)
	c.CreateWebhook(ctx, client.NewWebhook{App: id, URL: "u", Description: "d", States: []postledger.Status{"sent"}, IncludeAddress: true})
	c.ChangeWebhook(ctx, id, client.WebhookChange{Revision: 1, URL: "u", Description: "d", States: []postledger.Status{"sent"}, IncludeAddress: true})
	c.RemoveWebhook(ctx, id)
	c.RotateWebhook(ctx, id, time.Hour)
	c.EnableWebhook(ctx, id)
	c.DisableWebhook(ctx, id, "r")
	drain(c.WebhookAttempts(ctx, id, id))
	c.ReplayWebhookDelivery(ctx, id, id)
	c.ReplayWebhook(ctx, id, client.WebhookRange{Since: now, Until: now, States: []postledger.Status{"sent"}})
	c.TestWebhook(ctx, id)
	c.Retention(ctx)
	c.PutRetention(ctx, client.Retention{})
	drain(c.Jobs(ctx, client.JobFilter{State: "buffered", Lane: "slow", Handler: "h", Group: "g", PageSize: 1}))
	c.Job(ctx, id)
	c.RetryJobs(ctx, id)
	c.ReleaseJobs(ctx, id)
	c.QuarantineJobs(ctx, "r", id)
	c.JobQueue(ctx)
	c.Schedules(ctx)
	c.EnableSchedule(ctx, "n", true)
	c.EnableSchedule(ctx, "n", false)
	c.RunSchedule(ctx, "n")
	drain(c.Audit(ctx, client.AuditFilter{App: id, Action: "a", Since: now, Until: now, PageSize: 1}))
}

func actor() postledger.Actor { return postledger.Actor{Type: "t", ID: "i", Name: "n"} }

// full has every member of a message, without attachments: those make it
// multipart.
func full() *client.Message {
	r := []client.Recipient{{Address: "a", Name: "n"}}
	return &client.Message{
		Profile: "p", To: r, Cc: r, Bcc: r, Subject: "s", Text: "t", HTML: "h", Headers: []postledger.Header{{Name: "n", Value: "v"}},
		FromName: "f", ReplyTo: []postledger.Mailbox{{Name: "n", Address: "a"}}, Lane: "bulk", Category: "system",
		Ref: client.Ref{Scope: "s", ID: "i"}, Tenant: "t", Locale: "de", Actor: actor(), SendAt: time.Now(),
		Deadline: client.Deadline{After: time.Second}, MessageID: "m", Key: "k",
	}
}

func fullInBatch() *client.Message {
	m := full()
	f := client.Bytes("n", "t", []byte("c"))
	f.Disposition, f.ContentID, f.Method, f.SHA256 = "d", "i", "m", "s"
	m.Attachments = []client.Attachment{f}
	return m
}

// The API's document is made from its routes: what the client asks, and all
// that it asks with, is what the document has, neither less nor more.
func TestEveryOperationIsCovered(t *testing.T) {
	t.Parallel()
	doc := readDocument(t)
	rec := &recorder{doc: doc, query: map[string]map[string]bool{}, body: map[string]map[string]bool{}}
	c := dial(t, "http://nowhere", testKey, client.WithHTTPClient(&http.Client{Transport: rec}))
	callAll(t.Context(), c)
	if len(rec.strays) > 0 {
		t.Errorf("the API does not have %v", rec.strays)
	}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			if len(op.Security) == 0 {
				continue // open to everybody: for monitoring, not for clients
			}
			if rec.query[op.ID] == nil {
				t.Errorf("no call for %s %s (%s)", method, path, op.ID)
				continue
			}
			want := map[string]bool{}
			for _, p := range op.Parameters {
				// The cursor comes with a page, and nobody needs the length of
				// a list to walk it.
				if p.In == "query" && !slices.Contains([]string{"cursor", "after", "total"}, p.Name) {
					want[p.Name] = true
				}
			}
			differ(t, op.ID+" query", rec.query[op.ID], want)
			body := doc.names(op.Body.Content["application/json"].Schema, "", map[string]bool{})
			if op.ID == "post-message" {
				// Its attachments go as multipart, and are those of a batch.
				maps.DeleteFunc(body, func(name string, _ bool) bool { return strings.HasPrefix(name, ".attachments") })
			}
			differ(t, op.ID+" body", rec.body[op.ID], body)
		}
	}
}

func differ(t *testing.T, what string, got, want map[string]bool) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if !got[name] {
			t.Errorf("%s: the client does not have %s", what, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if !want[name] {
			t.Errorf("%s: the API does not have %s", what, name)
		}
	}
}

type listOf[T any] struct {
	Items []T `json:"items"`
}

// answers are the types that answers are read into.
func answers() map[string]reflect.Type {
	return map[string]reflect.Type{
		"post-message": reflect.TypeFor[client.Accepted](), "post-batch": reflect.TypeFor[client.AcceptedBatch](),
		"get-message": reflect.TypeFor[client.WholeMessage](), "get-content": reflect.TypeFor[client.Content](),
		"list-messages": reflect.TypeFor[listOf[client.StoredMessage]](), "list-deliveries": reflect.TypeFor[listOf[client.ListedDelivery]](),
		"cancel-message": reflect.TypeFor[client.Canceled](), "cancel-batch": reflect.TypeFor[client.Canceled](), "cancel-messages": reflect.TypeFor[client.Canceled](),
		"resolve-deliveries": reflect.TypeFor[client.Resolved](), "resend-message": reflect.TypeFor[client.Accepted](),
		"stats": reflect.TypeFor[client.Stats](), "list-sandbox-mail": reflect.TypeFor[listOf[client.SandboxMail]](),
		"list-jobs": reflect.TypeFor[listOf[client.Job]](), "get-job": reflect.TypeFor[client.Job](), "get-job-queue": reflect.TypeFor[client.JobQueue](),
		"retry-jobs": reflect.TypeFor[client.ChangedJobs](), "release-jobs": reflect.TypeFor[client.ChangedJobs](), "quarantine-jobs": reflect.TypeFor[client.ChangedJobs](),
		"run-schedule":   reflect.TypeFor[client.ScheduleRun](),
		"list-schedules": reflect.TypeFor[listOf[client.Schedule]](),
		"list-apps":      reflect.TypeFor[listOf[client.App]](), "get-app": reflect.TypeFor[client.App](),
		"create-app": reflect.TypeFor[client.App](), "remove-app": reflect.TypeFor[client.App](),
		"list-keys": reflect.TypeFor[listOf[client.APIKey]](), "create-key": reflect.TypeFor[client.CreatedAPIKey](),
		"list-grants": reflect.TypeFor[listOf[client.Grant]](), "put-grant": reflect.TypeFor[client.Grant](), "revoke-grant": reflect.TypeFor[client.Grant](),
		"list-profiles": reflect.TypeFor[listOf[client.Profile]](), "get-profile": reflect.TypeFor[client.Profile](),
		"put-profile": reflect.TypeFor[client.Profile](), "make-default-profile": reflect.TypeFor[client.Profile](),
		"pause-profile": reflect.TypeFor[client.Profile](), "resume-profile": reflect.TypeFor[client.Profile](),
		"remove-profile": reflect.TypeFor[client.Profile](), "test-profile": reflect.TypeFor[client.ProfileTest](),
		"list-suppressions": reflect.TypeFor[listOf[client.Suppression]](), "list-audit": reflect.TypeFor[listOf[client.AuditEvent]](),
		"list-audiences": reflect.TypeFor[listOf[client.Audience]](), "get-audience": reflect.TypeFor[client.Audience](),
		"list-audience-versions": reflect.TypeFor[listOf[client.Audience]](), "put-audience": reflect.TypeFor[client.Audience](),
		"remove-audience": reflect.TypeFor[client.Audience](), "preview-audience": reflect.TypeFor[client.Preview](),
		"list-webhooks": reflect.TypeFor[listOf[client.Webhook]](), "create-webhook": reflect.TypeFor[client.Webhook](), "get-webhook": reflect.TypeFor[client.Webhook](),
		"put-webhook": reflect.TypeFor[client.Webhook](), "rotate-webhook": reflect.TypeFor[client.Webhook](),
		"enable-webhook": reflect.TypeFor[client.Webhook](), "disable-webhook": reflect.TypeFor[client.Webhook](),
		"list-webhook-attempts": reflect.TypeFor[listOf[client.WebhookAttempt]](), "replay-webhook": reflect.TypeFor[client.ReplayedWebhook](),
		"test-webhook":  reflect.TypeFor[client.WebhookTest](),
		"get-retention": reflect.TypeFor[client.Retention](), "put-retention": reflect.TypeFor[client.Retention](),
	}
}

func TestAnswersHaveTheAPIsMembers(t *testing.T) {
	t.Parallel()
	doc := readDocument(t)
	types := answers()
	for _, methods := range doc.Paths {
		for _, op := range methods {
			want := map[string]bool{}
			for status, r := range op.Responses {
				if strings.HasPrefix(status, "2") {
					doc.names(r.Content["application/json"].Schema, "", want)
				}
			}
			if len(op.Security) == 0 || len(want) == 0 {
				continue
			}
			typ := types[op.ID]
			if typ == nil {
				t.Errorf("%s: no type for its answer", op.ID)
				continue
			}
			got := members(typ, "", map[string]bool{})
			// How to go on and how long it is are the iterator's business.
			for _, name := range []string{".next", ".prev", ".total", ".total.n", ".total.more"} {
				delete(want, name)
			}
			differ(t, op.ID, got, want)
		}
	}
}

func TestCodesAreTheAPIs(t *testing.T) {
	t.Parallel()
	got, want := map[string]bool{}, map[string]bool{}
	for _, c := range client.Codes() {
		got[string(c)] = true
	}
	for _, e := range api.Errors() {
		want[string(e.Code)] = true
	}
	differ(t, "codes", got, want)
}
