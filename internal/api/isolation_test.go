package api_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postledger/postledger"
)

// guard is what a route demands of a key, and how it is asked for an id.
type guard struct {
	app, operator postledger.Scope
	// also is a second scope that an app's key needs.
	also postledger.Scope
	// query and body have {id} for the id under test.
	query string
	body  string
	// unknown is the code for an id that does not exist.
	unknown string
	// hides: an id that does not exist is answered with 200 and nothing.
	hides bool
	// without: the route has no id that could be another's.
	without bool
}

const (
	send, read, content = postledger.ScopeSend, postledger.ScopeRead, postledger.ScopeContent
	admin, audit        = postledger.ScopeAdmin, postledger.ScopeAudit
)

const saveAudience = `{"app":"{app}","revision":1,"source":"shop","address":"email","category":"activity",
	"lens":{"from":"users","where":{"country":{"eq":"NO"}},"select":["id","email","name"]}}`

// guards has every route of the document.
var guards = map[string]guard{
	"GET /healthz": {},
	"GET /readyz":  {},

	"POST /v1/messages":                        {app: send, body: `{"to":[{"address":"a@in.test"}],"text":"x"}`, without: true},
	"POST /v1/batches":                         {app: send, body: `{"messages":[{"to":[{"address":"a@in.test"}],"text":"x"}]}`, without: true},
	"GET /v1/messages":                         {app: read, operator: admin, query: "?batch={batch}", hides: true},
	"GET /v1/messages/{id}":                    {app: read, operator: admin, unknown: "message_unknown"},
	"GET /v1/messages/{id}/content":            {app: content, unknown: "message_unknown"},
	"GET /v1/messages/{id}/sandbox":            {app: content, unknown: "message_unknown"},
	"GET /v1/messages/{id}/sandbox/{envelope}": {app: content, unknown: "message_unknown"},
	"POST /v1/messages/{id}/cancel":            {app: send, operator: admin, unknown: "message_unknown"},
	"POST /v1/messages/{id}/resend":            {app: send, operator: admin, body: `{}`, unknown: "message_unknown"},
	"POST /v1/batches/{id}/cancel":             {app: send, operator: admin, unknown: "message_unknown"},
	"POST /v1/messages/cancel":                 {app: send, operator: admin, body: `{"message":"{id}"}`, hides: true},
	"GET /v1/deliveries":                       {app: read, operator: admin, query: "?message={id}", hides: true},
	"POST /v1/deliveries/resolve":              {operator: admin, body: `{"action":"sent","filter":{"message":"{id}"}}`, hides: true},
	"GET /v1/stats":                            {app: read, operator: admin, query: "?app={app}", hides: true},
	"GET /v1/apps":                             {operator: admin, without: true},
	"POST /v1/apps":                            {operator: admin, body: `{"name":"Not a name"}`, without: true},
	"GET /v1/apps/{app}":                       {operator: admin, unknown: "app_unknown"},
	"DELETE /v1/apps/{app}":                    {operator: admin, unknown: "app_unknown"},
	"GET /v1/apps/{app}/grants":                {operator: admin, unknown: "app_unknown"},
	"PUT /v1/apps/{app}/grants/{profile}":      {operator: admin, body: `{}`, unknown: "app_unknown"},
	"DELETE /v1/apps/{app}/grants/{profile}":   {operator: admin, unknown: "grant_unknown"},
	"GET /v1/keys":                             {operator: admin, query: "?app={app}", unknown: "app_unknown"},
	"POST /v1/keys":                            {operator: admin, body: `{"app":"{app}","name":"x","scopes":["send"]}`, unknown: "app_unknown"},
	"DELETE /v1/keys/{key}":                    {operator: admin, unknown: "key_unknown"},
	"GET /v1/profiles":                         {operator: admin, without: true},
	"GET /v1/profiles/{profile}":               {operator: admin, unknown: "profile_unknown"},
	"PUT /v1/profiles/{profile}":               {operator: admin, body: `{"revision":7,"from":"a@b.test","transport":"sandbox","connections":2}`, unknown: "profile_unknown"},
	"DELETE /v1/profiles/{profile}":            {operator: admin, unknown: "profile_unknown"},
	"POST /v1/profiles/{profile}/default":      {operator: admin, unknown: "profile_unknown"},
	"POST /v1/profiles/{profile}/pause":        {operator: admin, body: `{}`, unknown: "profile_unknown"},
	"POST /v1/profiles/{profile}/resume":       {operator: admin, unknown: "profile_unknown"},
	"POST /v1/profiles/{profile}/test":         {operator: admin, body: `{"app":"{app}","to":"no address"}`, unknown: "profile_unknown"},
	"GET /v1/suppressions":                     {app: read, operator: admin, query: "?app={app}", unknown: "app_unknown"},
	"PUT /v1/suppressions":                     {app: send, operator: admin, body: `{"app":"{app}","address":"x@in.test","reason":"r"}`, unknown: "app_unknown"},
	"DELETE /v1/suppressions":                  {app: send, operator: admin, query: "?app={app}&address=none@in.test", unknown: "app_unknown"},
	"GET /v1/audiences":                        {app: read, operator: admin, query: "?app={app}", unknown: "app_unknown"},
	"GET /v1/audiences/{audience}":             {app: read, operator: admin, query: "?app={app}", unknown: "app_unknown"},
	"GET /v1/audiences/{audience}/versions":    {app: read, operator: admin, query: "?app={app}", unknown: "app_unknown"},
	"PUT /v1/audiences/{audience}":             {app: send, operator: admin, body: saveAudience, unknown: "app_unknown"},
	"DELETE /v1/audiences/{audience}":          {app: send, operator: admin, query: "?app={app}", unknown: "app_unknown"},
	"POST /v1/audiences/preview":               {app: read, operator: admin, body: `{"app":"{app}","audience":"{audience}"}`, unknown: "app_unknown"},
	"GET /v1/webhooks":                         {app: read, operator: admin, query: "?app={app}", unknown: "app_unknown"},
	"POST /v1/webhooks":                        {app: send, also: read, operator: admin, body: `{"app":"{app}","url":"http://127.0.0.1:9/","states":["sent"]}`, unknown: "app_unknown"},
	"GET /v1/webhooks/{webhook}":               {app: read, operator: admin, unknown: "webhook_unknown"},
	"PUT /v1/webhooks/{webhook}":               {app: send, also: read, operator: admin, body: `{"revision":1,"url":"http://127.0.0.1:9/","states":["sent"]}`, unknown: "webhook_unknown"},
	"DELETE /v1/webhooks/{webhook}":            {app: send, also: read, operator: admin, unknown: "webhook_unknown"},
	"POST /v1/webhooks/{webhook}/rotate":       {app: send, also: read, operator: admin, body: `{}`, unknown: "webhook_unknown"},
	"POST /v1/webhooks/{webhook}/enable":       {app: send, also: read, operator: admin, unknown: "webhook_unknown"},
	"POST /v1/webhooks/{webhook}/disable":      {app: send, also: read, operator: admin, body: `{"reason":"x"}`, unknown: "webhook_unknown"},
	"GET /v1/webhooks/{webhook}/attempts":      {app: read, operator: admin, unknown: "webhook_unknown"},
	"POST /v1/webhooks/{webhook}/replay":       {app: send, also: read, operator: admin, body: `{"since":"2026-01-01T00:00:00Z"}`, unknown: "webhook_unknown"},
	"POST /v1/webhooks/{webhook}/test":         {app: send, also: read, operator: admin, unknown: "webhook_unknown"},
	"GET /v1/jobs":                             {operator: admin, without: true},
	"GET /v1/jobs/queue":                       {operator: admin, without: true},
	"GET /v1/jobs/{id}":                        {operator: admin, unknown: "job_unknown"},
	"POST /v1/jobs/retry":                      {operator: admin, body: `{"ids":["{id}"]}`, hides: true},
	"POST /v1/jobs/release":                    {operator: admin, body: `{"ids":["{id}"]}`, hides: true},
	"POST /v1/jobs/quarantine":                 {operator: admin, body: `{"ids":["{id}"],"reason":"x"}`, hides: true},
	"GET /v1/jobs/schedules":                   {operator: admin, without: true},
	"POST /v1/jobs/schedules/{name}/enable":    {operator: admin, unknown: "schedule_unknown"},
	"POST /v1/jobs/schedules/{name}/disable":   {operator: admin, unknown: "schedule_unknown"},
	"POST /v1/jobs/schedules/{name}/run":       {operator: admin, unknown: "schedule_unknown"},
	"GET /v1/settings/retention":               {operator: admin, without: true},
	"PUT /v1/settings/retention":               {operator: admin, body: `{}`, without: true},
	"GET /v1/audit":                            {operator: audit, query: "?app={app}", hides: true},
}

// document reads the OpenAPI document that the server answers with.
func (w *world) document() map[string]map[string]map[string]any {
	w.t.Helper()
	a := w.call("GET", "/openapi.json", "", nil).want(http.StatusOK)
	var doc struct {
		OpenAPI string
		Paths   map[string]map[string]map[string]any
	}
	must(w.t, json.Unmarshal(a.body, &doc))
	if !strings.HasPrefix(doc.OpenAPI, "3.1") {
		w.t.Errorf("OpenAPI %q", doc.OpenAPI)
	}
	return doc.Paths
}

// operations are the document's routes, "METHOD path".
func (w *world) operations() []string {
	var out []string
	for path, methods := range w.document() {
		for method := range methods {
			out = append(out, strings.ToUpper(method)+" "+path)
		}
	}
	slices.Sort(out)
	return out
}

func TestEveryRouteIsGuarded(t *testing.T) {
	w := sqlite(t, manySources)
	found := w.operations()
	for op := range guards {
		if !slices.Contains(found, op) {
			t.Errorf("%s is not in the document", op)
		}
	}
	x := newIntruders(w)
	for _, op := range found {
		g, ok := guards[op]
		if !ok {
			t.Errorf("%s: say in guards what it demands", op)
			continue
		}
		t.Run(op, func(t *testing.T) {
			w.t = t
			x.try(t, op, g)
		})
		w.t = t
	}
}

// intruders are keys that may not, and ids that exist and do not.
type intruders struct {
	w                         *world
	real, fake                map[string]string
	expired, revoked, removed string
	small                     map[postledger.Scope]string
}

func newIntruders(w *world) *intruders {
	t := w.t
	x := &intruders{w: w, small: map[postledger.Scope]string{}}
	x.expired, _ = w.keyUntil(w.app.ID, time.Now().Add(-time.Minute), send, read, content)
	var id postledger.ID
	x.revoked, id = w.keyUntil(w.app.ID, time.Time{}, send, read, content)
	must(t, w.ledger.RevokeAPIKey(t.Context(), id, w.did("key.revoke")))
	gone := w.newApp("gone")
	x.removed = w.key(gone.ID, send, read, content)
	must(t, w.ledger.RemoveApp(t.Context(), gone.ID, w.did("app.remove")))
	for _, s := range []postledger.Scope{send, read, content} {
		x.small[s] = w.key(w.app.ID, slices.DeleteFunc([]postledger.Scope{send, read, content}, func(o postledger.Scope) bool { return o == s })...)
	}
	x.small[admin], x.small[audit] = w.audit, w.admin

	b := w.call("POST", "/v1/batches", w.send, map[string]any{"messages": []any{letter(), letter("bob@in.test")}}).want(http.StatusAccepted)
	message := b.text("messages", 0, "id")
	v := w.call("GET", "/v1/messages/"+message, w.read, nil).want(http.StatusOK)
	_, spare := w.keyUntil(w.app.ID, time.Time{}, send)
	other := func() string { return w.ledger.NewID().String() }
	saved := w.call("PUT", "/v1/audiences/norwegians", w.send, strings.ReplaceAll(strings.ReplaceAll(saveAudience, "{app}", w.app.ID.String()), `"revision":1`, `"revision":0`)).want(http.StatusOK)
	x.real = map[string]string{
		"audience": saved.text("id"), "name": "nightly",
		"id": message, "batch": b.text("batch_id"), "envelope": v.text("deliveries", 0, "envelope_id"),
		"app": w.app.ID.String(), "profile": w.profile.Name, "key": spare.String(), "webhook": w.newWebhook(w.app.ID, "http://127.0.0.1:9/").ID.String(),
	}
	x.fake = map[string]string{
		"audience": other(), "name": "weekly",
		"id": other(), "batch": other(), "envelope": other(), "app": other(), "profile": "nobody", "key": other(), "webhook": other(),
	}
	return x
}

var placeholder = regexp.MustCompile(`\{(\w+)\}`)

// ask makes the request of a route with some ids.
func (x *intruders) ask(op string, g guard, token string, ids map[string]string) *answer {
	method, path, _ := strings.Cut(op, " ")
	fill := func(s string) string {
		return placeholder.ReplaceAllStringFunc(s, func(p string) string {
			name := p[1 : len(p)-1]
			if name == "id" && strings.HasPrefix(path, "/v1/batches") {
				name = "batch"
			}
			return ids[name]
		})
	}
	var body any
	if g.body != "" {
		body = fill(g.body)
	}
	return x.w.call(method, fill(path+g.query), token, body)
}

// same demands answers that differ in their request id only.
func same(t *testing.T, what string, a, b *answer) {
	t.Helper()
	clean := func(x *answer) string {
		s := strings.ReplaceAll(string(x.body), x.header.Get("X-Request-Id"), "")
		return regexp.MustCompile(`"(since|until)":"[^"]*"`).ReplaceAllString(s, "")
	}
	if a.status != b.status || clean(a) != clean(b) {
		t.Errorf("%s differ:\n%d %s\n%d %s", what, a.status, a.body, b.status, b.body)
	}
}

func (x *intruders) try(t *testing.T, op string, g guard) {
	w := x.w
	if g.app == "" && g.operator == "" {
		x.ask(op, g, "", x.real).want(http.StatusOK)
		return
	}
	for name, token := range map[string]string{
		"no key": "", "no token": "pl_x", "an unknown key": "pl_app_" + strings.Repeat("a", 52),
		"an expired key": x.expired, "a revoked key": x.revoked, "a removed app's key": x.removed,
	} {
		a, b := x.ask(op, g, token, x.real).refused("unauthorized"), x.ask(op, g, token, x.fake)
		if a.header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s: no WWW-Authenticate", name)
		}
		same(t, name, a, b)
	}
	// A key of the right kind without the scope, and of the wrong kind with all.
	for _, kind := range []struct {
		scope postledger.Scope
		all   []string
	}{{g.app, []string{w.send, w.read, w.content}}, {g.operator, []string{w.admin, w.audit}}} {
		tokens := kind.all
		if kind.scope != "" {
			tokens = []string{x.small[kind.scope]}
		}
		if kind.scope == g.app && g.also != "" {
			tokens = append(tokens, x.small[g.also])
		}
		for _, token := range tokens {
			a, b := x.ask(op, g, token, x.real).refused("forbidden"), x.ask(op, g, token, x.fake)
			same(t, "too small a scope", a, b)
		}
	}
	if g.without {
		return
	}
	// Another app's key: what exists answers like what does not.
	if g.app != "" {
		a, b := x.ask(op, g, w.foreign, x.real), x.ask(op, g, w.foreign, x.fake)
		same(t, "a foreign id and an unknown one", a, b)
		if g.hides {
			a.want(http.StatusOK)
		} else {
			a.refused(g.unknown)
		}
		for name, id := range x.real {
			if name != "profile" && !strings.Contains(op, "?") && strings.Contains(string(a.body), id) {
				t.Errorf("a foreign id is shown: %s", a.body)
			}
		}
	}
	// The unknown id for who may.
	if !g.hides {
		token := map[postledger.Scope]string{send: w.send, read: w.read, content: w.content}[g.app]
		if g.operator != "" {
			token = map[postledger.Scope]string{admin: w.admin, audit: w.audit}[g.operator]
		}
		x.ask(op, g, token, withReal(x, op)).refused(g.unknown)
	}
}

// withReal has unknown ids but for the profile of grants, so that the app is
// what is not found.
func withReal(x *intruders, op string) map[string]string {
	out := map[string]string{}
	for k, v := range x.fake {
		out[k] = v
	}
	if strings.Contains(op, "/grants/") {
		out["profile"] = x.real["profile"]
	}
	return out
}

// The owner sees what others must not, so that the checks above can fail.
func TestTheOwnerSeesIt(t *testing.T) {
	w := sqlite(t)
	x := newIntruders(w)
	full := w.key(w.app.ID, send, read, content)
	for op, g := range guards {
		if g.app == "" || g.without || strings.Contains(op, "sandbox/") || strings.Contains(op, "resend") || strings.HasPrefix(op, "DELETE") {
			continue
		}
		if strings.Contains(op, "{webhook}") {
			// What was done to one is not undone for the next.
			x.real["webhook"] = w.newWebhook(w.app.ID, "http://127.0.0.1:9/").ID.String()
		}
		a := x.ask(op, g, full, x.real)
		if a.status >= 300 {
			t.Errorf("%s: %d %s", op, a.status, a.body)
		}
		if g.hides && !strings.Contains(op, "POST") && !strings.Contains(op, "stats") && len(a.at("items").([]any)) == 0 {
			t.Errorf("%s: the owner sees nothing: %s", op, a.body)
		}
	}
}

// A foreign app's filters never reach another's deliveries.
func TestForeignDecisionsChangeNothing(t *testing.T) {
	w := sqlite(t)
	id := w.sent(letter())
	v, err := w.ledger.MessageByID(t.Context(), postledger.ID{}, id)
	must(t, err)
	delivery := v.Deliveries[0].ID.String()
	for _, body := range []string{
		`{"message":"` + id.String() + `"}`, `{"ids":["` + delivery + `"]}`, `{"all":true}`,
		`{"app":"` + w.app.ID.String() + `","all":true}`, `{"profile":"main"}`, `{"recipient":"ada@in.test"}`,
	} {
		if a := w.call("POST", "/v1/messages/cancel", w.foreign, body).want(http.StatusOK); a.number("canceled") != 0 {
			t.Errorf("%s canceled: %s", body, a.body)
		}
	}
	d, _, err := w.ledger.DeliveryByID(t.Context(), v.Deliveries[0].ID)
	must(t, err)
	if d.Status != postledger.StatusQueued || !d.CancelRequestedAt.IsZero() {
		t.Errorf("the delivery was touched: %+v", d)
	}
}
