package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestApps(t *testing.T) {
	w := sqlite(t, manySources)
	a := w.call("POST", "/v1/apps", w.admin, `{"name":"billing"}`).want(http.StatusCreated)
	id := a.text("id")
	if a.text("name") != "billing" || a.text("created_at") == "" {
		t.Errorf("answer %s", a.body)
	}
	w.call("POST", "/v1/apps", w.admin, `{"name":"billing"}`).refused("app_exists")
	for body, want := range map[string]string{
		`{}`: "name required", `{"name":"Bill"}`: "name syntax", `{"name":"a b"}`: "name syntax", `{"name":"-a"}`: "name syntax",
		`{"name":"` + id + `"}`: "name syntax", `{"name":"` + strings.Repeat("a", 64) + `"}`: "name syntax", `{"name":7}`: "name type",
		`{"name":"x","id":"y"}`: "id unknown",
	} {
		w.call("POST", "/v1/apps", w.admin, body).refused("bad_input", want)
	}
	if e, _ := w.lastAudit("app.create"); e.TargetID != id || e.RequestID == "" || e.ActorType != "api_key" {
		t.Errorf("line %+v", e)
	}
	if l := w.call("GET", "/v1/apps", w.admin, nil).want(http.StatusOK); strings.Join(items(l, "name"), " ") != "billing forum shop" {
		t.Errorf("list %s", l.body)
	}
	k := w.call("POST", "/v1/keys", w.admin, `{"app":"`+id+`","name":"ci","scopes":["read"]}`).want(http.StatusCreated)
	w.call("GET", "/v1/messages", k.text("token"), nil).want(http.StatusOK)
	if r := w.call("DELETE", "/v1/apps/"+id, w.admin, nil).want(http.StatusOK); r.text("removed_at") == "" {
		t.Errorf("answer %s", r.body)
	}
	w.call("GET", "/v1/messages", k.text("token"), nil).refused("unauthorized")
	w.call("DELETE", "/v1/apps/"+id, w.admin, nil).want(http.StatusOK)
	w.call("POST", "/v1/keys", w.admin, `{"app":"`+id+`","name":"ci","scopes":["read"]}`).refused("app_removed")
	w.call("POST", "/v1/apps", w.admin, `{"name":"billing"}`).want(http.StatusCreated)
	if w.changed < 4 {
		t.Errorf("the process was told of %d changes", w.changed)
	}
}

func TestKeys(t *testing.T) {
	w := sqlite(t, manySources)
	app := w.app.ID.String()
	a := w.call("POST", "/v1/keys", w.admin, `{"app":"`+app+`","name":"checkout","scopes":["send","read"],"expires_at":"`+
		time.Now().Add(time.Hour).UTC().Format(time.RFC3339)+`"}`).want(http.StatusCreated)
	token := a.text("token")
	if !strings.HasPrefix(token, "pl_app_") || a.text("hint") != token[len(token)-4:] {
		t.Errorf("answer %s", a.body)
	}
	w.call("POST", "/v1/messages", token, letter()).want(http.StatusAccepted)
	op := w.call("POST", "/v1/keys", w.admin, `{"name":"auditor","scopes":["audit"]}`).want(http.StatusCreated)
	w.call("GET", "/v1/audit", op.text("token"), nil).want(http.StatusOK)
	list := w.call("GET", "/v1/keys?app="+app, w.admin, nil).want(http.StatusOK)
	if strings.Contains(string(list.body), token) || strings.Contains(string(list.body), "token") || len(items(list, "id")) != 4 {
		t.Errorf("list %s", list.body)
	}
	if l := w.call("GET", "/v1/keys", w.admin, nil).want(http.StatusOK); len(items(l, "id")) != 3 || strings.Contains(string(l.body), "app_id") {
		t.Errorf("operators' list %s", l.body)
	}
	for body, want := range map[string]string{
		`{"scopes":["admin"]}`: "name required", `{"name":"x"}`: "scopes required", `{"name":"x","scopes":[]}`: "scopes required",
		`{"name":"x","scopes":["send"]}`: "scopes unknown", `{"app":"` + app + `","name":"x","scopes":["admin"]}`: "scopes unknown",
		`{"app":"` + app + `","name":"x","scopes":["send","send"]}`: "scopes duplicate", `{"name":"x","scopes":"admin"}`: "scopes type",
		`{"name":"x","scopes":["admin"],"expires_at":"2020-01-01T00:00:00Z"}`: "expires_at range", `{"name":"a\u0007b","scopes":["admin"]}`: "name control",
		`{"name":"` + strings.Repeat("x", 256) + `","scopes":["admin"]}`: "name too_long", `{"app":"x","name":"x","scopes":["send"]}`: "app syntax",
	} {
		w.call("POST", "/v1/keys", w.admin, body).refused("bad_input", want)
	}
	w.call("DELETE", "/v1/keys/"+a.text("id"), w.admin, nil).want(http.StatusNoContent)
	w.call("DELETE", "/v1/keys/"+a.text("id"), w.admin, nil).want(http.StatusNoContent)
	w.call("POST", "/v1/messages", token, letter()).refused("unauthorized")
	if e, _ := w.lastAudit("key.revoke"); e.TargetID != a.text("id") {
		t.Errorf("line %+v", e)
	}
	for _, e := range w.audited() {
		if strings.Contains(e.Detail, token) {
			t.Errorf("the audit trail holds the token: %+v", e)
		}
	}
}

func TestGrants(t *testing.T) {
	w := sqlite(t)
	w.call("PUT", "/v1/profiles/news", w.admin, `{"revision":0,"from":"news@send.test","transport":"sandbox","connections":2}`).want(http.StatusOK)
	news := with(letter(), "profile", "news")
	w.call("POST", "/v1/messages", w.send, news).refused("profile_not_allowed")
	path := "/v1/apps/" + w.app.ID.String() + "/grants/news"
	g := w.call("PUT", path, w.admin, `{"trusted_html":true,"quota":5}`).want(http.StatusOK)
	if g.at("trusted_html") != true || g.number("quota") != 5 {
		t.Errorf("grant %s", g.body)
	}
	id := w.sent(with(news, "html", `<form action="x">y</form>`))
	if c := w.call("GET", "/v1/messages/"+id.String()+"/content", w.content, nil); !strings.Contains(c.text("html"), "<form") {
		t.Errorf("trusted HTML was filtered: %s", c.text("html"))
	}
	w.call("POST", "/v1/messages", w.send, letter()).refused("profile_required") // it has grants, and none for the default
	if l := w.call("GET", "/v1/apps/"+w.app.ID.String()+"/grants", w.admin, nil).want(http.StatusOK); len(items(l, "app_id")) != 1 {
		t.Errorf("list %s", l.body)
	}
	w.call("PUT", path, w.admin, `{"quota":-1}`).refused("bad_input", "quota range")
	w.call("PUT", path, w.admin, `{"quota":null}`).refused("bad_input", "quota null")
	w.call("PUT", path, w.admin, `{"quotas":1}`).refused("bad_input", "quotas unknown")
	if r := w.call("DELETE", path, w.admin, nil).want(http.StatusOK); r.text("revoked_at") == "" {
		t.Errorf("answer %s", r.body)
	}
	if e, _ := w.lastAudit("grant.revoke"); e.AppID != w.app.ID || e.TargetType != "profile" {
		t.Errorf("line %+v", e)
	}
}

func TestSuppressions(t *testing.T) {
	w := sqlite(t)
	put := func(token, body string) *answer { return w.call("PUT", "/v1/suppressions", token, body) }
	put(w.send, `{"address":"Ada@IN.test","reason":"asked"}`).want(http.StatusNoContent)
	put(w.admin, `{"app":"`+w.app.ID.String()+`","address":"bob@in.test","reason":"asked"}`).want(http.StatusNoContent)
	put(w.admin, `{"address":"bob@in.test","reason":"asked"}`).refused("bad_input", "app required")
	put(w.send, `{"address":"bob","reason":"asked"}`).refused("bad_input", "address syntax")
	put(w.send, `{"address":"bob@in.test"}`).refused("bad_input", "reason required")
	put(w.send, `{"app":"`+w.other.ID.String()+`","address":"bob@in.test","reason":"x"}`).refused("app_unknown")
	l := w.call("GET", "/v1/suppressions?limit=1", w.read, nil).want(http.StatusOK)
	if l.text("items", 0, "address") != "ada@in.test" || l.text("items", 0, "source") != "app" || l.text("next") == "" {
		t.Errorf("list %s", l.body)
	}
	l = w.call("GET", "/v1/suppressions?limit=10&after="+l.text("next"), w.read, nil).want(http.StatusOK)
	if l.text("items", 0, "address") != "bob@in.test" || l.text("items", 0, "source") != "operator" || l.text("next") != "" {
		t.Errorf("list %s", l.body)
	}
	if f := w.call("GET", "/v1/suppressions", w.foreign, nil).want(http.StatusOK); len(items(f, "address")) != 0 {
		t.Errorf("another app's list %s", f.body)
	}
	w.call("GET", "/v1/suppressions", w.admin, nil).refused("bad_input", "app required")
	w.call("DELETE", "/v1/suppressions?address=ADA@in.test", w.send, nil).want(http.StatusNoContent)
	w.call("DELETE", "/v1/suppressions?address=ada@in.test", w.send, nil).refused("suppression_unknown")
	w.call("DELETE", "/v1/suppressions", w.send, nil).refused("bad_input", "address required")
	for _, e := range w.audited() {
		if strings.Contains(e.Detail+e.TargetID, "@") {
			t.Errorf("the audit trail holds an address: %+v", e)
		}
	}
}

func TestRetention(t *testing.T) {
	w := sqlite(t)
	a := w.call("GET", "/v1/settings/retention", w.admin, nil).want(http.StatusOK)
	if a.number("content_days") != 30 || a.number("record_days") != 90 {
		t.Errorf("default %s", a.body)
	}
	w.call("PUT", "/v1/settings/retention", w.admin, `{"content_days":7,"record_days":30,"key_days":60,"audit_days":100}`).want(http.StatusOK)
	if a = w.call("GET", "/v1/settings/retention", w.admin, nil); a.number("content_days") != 7 || a.number("audit_days") != 100 {
		t.Errorf("set %s", a.body)
	}
	for body, want := range map[string]string{
		`{"content_days":7}`: "record_days range", `{"content_days":31,"record_days":30,"key_days":60,"audit_days":100}`: "content_days range",
		`{"content_days":7,"record_days":30,"key_days":29,"audit_days":100}`:   "key_days range",
		`{"content_days":7,"record_days":30,"key_days":60,"audit_days":4000}`:  "audit_days range",
		`{"content_days":7.5,"record_days":30,"key_days":60,"audit_days":400}`: "content_days type",
	} {
		w.call("PUT", "/v1/settings/retention", w.admin, body).refused("bad_input", want)
	}
	if e, _ := w.lastAudit("retention.put"); e.TargetID != "retention" {
		t.Errorf("line %+v", e)
	}
}

func TestAuditTrail(t *testing.T) {
	w := sqlite(t)
	w.sent(letter())
	a := w.call("GET", "/v1/audit?action=message.accept&app="+w.app.ID.String(), w.audit, nil).want(http.StatusOK)
	if len(items(a, "id")) != 1 || a.text("items", 0, "result") != "done" || a.text("items", 0, "api_key_id") == "" {
		t.Errorf("list %s", a.body)
	}
	if all := w.call("GET", "/v1/audit?limit=2&total=true", w.audit, nil).want(http.StatusOK); len(items(all, "id")) != 2 || all.text("next") == "" || all.number("total", "n") < 5 {
		t.Errorf("list %s", all.body)
	}
	w.call("GET", "/v1/audit?until=x", w.audit, nil).refused("bad_input", "until syntax")
	w.call("GET", "/v1/audit", w.admin, nil).refused("forbidden")
}
