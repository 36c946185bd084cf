package api_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"strings"
	"testing"

	"github.com/postledger/postledger"
)

// relay is a good SMTP profile.
func relay(revision int) map[string]any {
	return map[string]any{
		"revision": revision, "from": "shop@send.test", "from_name": "Shop", "transport": "smtp", "connections": 4,
		"settings": map[string]any{"host": "relay.in.test", "tls": "required", "username": "shop"}, "password": "correct horse",
	}
}

func TestProfiles(t *testing.T) {
	w := sqlite(t)
	a := w.call("PUT", "/v1/profiles/relay", w.admin, relay(0)).want(http.StatusOK)
	if a.number("revision") != 1 || a.at("has_password") != true || a.at("has_dkim_key") != false || a.at("is_default") != false ||
		a.text("settings", "host") != "relay.in.test" || a.number("waiting", "n") != 0 {
		t.Errorf("profile %s", a.body)
	}
	for _, look := range []*answer{a, w.call("GET", "/v1/profiles/relay", w.admin, nil), w.call("GET", "/v1/profiles/"+a.text("id"), w.admin, nil), w.call("GET", "/v1/profiles", w.admin, nil)} {
		if strings.Contains(string(look.want(http.StatusOK).body), "correct horse") || strings.Contains(string(look.body), `"password"`) {
			t.Errorf("the password is shown: %s", look.body)
		}
	}
	w.call("PUT", "/v1/profiles/relay", w.admin, relay(0)).refused("profile_exists")
	// Without a password it keeps the one it has, as long as the host is the same.
	next := relay(1)
	delete(next, "password")
	next["pace_per_minute"] = 60
	a = w.call("PUT", "/v1/profiles/relay", w.admin, next).want(http.StatusOK)
	if a.number("revision") != 2 || a.at("has_password") != true || a.number("pace_per_minute") != 60 {
		t.Errorf("profile %s", a.body)
	}
	w.call("PUT", "/v1/profiles/relay", w.admin, next).refused("revision_conflict")
	next["revision"], next["settings"] = 2, map[string]any{"host": "evil.in.test", "tls": "required", "username": "shop"}
	w.call("PUT", "/v1/profiles/relay", w.admin, next).refused("invalid_profile", "password syntax")
	next["password"] = "another"
	w.call("PUT", "/v1/profiles/relay", w.admin, next).want(http.StatusOK)
	next["revision"], next["password"] = 3, "[secret]"
	w.call("PUT", "/v1/profiles/relay", w.admin, next).refused("bad_input", "password syntax")
	// Another name.
	delete(next, "password")
	next["name"] = "post"
	if a = w.call("PUT", "/v1/profiles/relay", w.admin, next).want(http.StatusOK); a.text("name") != "post" {
		t.Errorf("profile %s", a.body)
	}
	w.call("GET", "/v1/profiles/relay", w.admin, nil).refused("profile_unknown")
	if e, _ := w.lastAudit("profile.put"); e.Detail != "name=post" || e.APIKeyID.IsZero() {
		t.Errorf("line %+v", e)
	}
	if strings.Contains(w.log.String(), "correct horse") {
		t.Error("the log holds the password")
	}
}

func TestProfileRules(t *testing.T) {
	w := sqlite(t)
	for name, test := range map[string]struct {
		change []any
		code   string
		want   string
	}{
		"no from":              {[]any{"from", ""}, "invalid_profile", "from required"},
		"a bad from":           {[]any{"from", "shop"}, "invalid_profile", "from syntax"},
		"no connections":       {[]any{"connections", 0}, "invalid_profile", "connections required"},
		"one connection":       {[]any{"connections", 1}, "invalid_profile", "connections range"},
		"many connections":     {[]any{"connections", 1001}, "invalid_profile", "connections range"},
		"a negative pace":      {[]any{"pace_per_minute", -1}, "invalid_profile", "pace_per_minute range"},
		"a pace too fast":      {[]any{"pace_per_minute", 1_000_001}, "invalid_profile", "pace_per_minute range"},
		"a negative quota":     {[]any{"quota_per_day", -1}, "invalid_profile", "quota_per_day range"},
		"a long horizon":       {[]any{"retry_horizon_seconds", 2592001}, "invalid_profile", "retry_horizon_seconds range"},
		"a policy":             {[]any{"on_unconfirmed", "forget"}, "invalid_profile", "on_unconfirmed unknown"},
		"a domain":             {[]any{"bounce_domain", "a b"}, "invalid_profile", "bounce_domain syntax"},
		"a transport":          {[]any{"transport", "pigeon"}, "invalid_profile", "transport syntax"},
		"an unknown setting":   {[]any{"settings", map[string]any{"host": "x.test", "tls": "none", "hots": "y"}}, "invalid_profile", ""},
		"settings are a text":  {[]any{"settings", "host"}, "invalid_profile", ""},
		"a login in the clear": {[]any{"settings", map[string]any{"host": "x.test", "tls": "none", "username": "u"}}, "invalid_profile", "settings.tls syntax"},
		"a user without one":   {[]any{"password", ""}, "invalid_profile", "password syntax"},
		"a bad DKIM key":       {[]any{"dkim_key", "-----BEGIN", "dkim_domain", "send.test", "dkim_selector", "s1"}, "invalid_profile", "dkim_key syntax"},
		"a password with CR":   {[]any{"password", "correct horse\rbattery"}, "invalid_profile", "password control"},
		"a password with LF":   {[]any{"password", "correct horse\n"}, "invalid_profile", "password control"},
		"a password with NUL":  {[]any{"password", "correct horse\x00"}, "invalid_profile", "password control"},
		"a user with CR":       {[]any{"settings", map[string]any{"host": "x.test", "tls": "required", "username": "u\rv"}}, "invalid_profile", "settings.username control"},
		"a user with LF":       {[]any{"settings", map[string]any{"host": "x.test", "tls": "required", "username": "u\n"}}, "invalid_profile", "settings.username control"},
		"a user with NUL":      {[]any{"settings", map[string]any{"host": "x.test", "tls": "required", "username": "\x00u"}}, "invalid_profile", "settings.username control"},
		"an unknown member":    {[]any{"pace", 1}, "bad_input", "pace unknown"},
		"a negative revision":  {[]any{"revision", -1}, "bad_input", "revision range"},
		"another name":         {[]any{"name", "other"}, "bad_input", "name mismatch"},
		"a repeated setting":   {nil, "bad_input", "settings.host duplicate"},
	} {
		w.run(name, func(t *testing.T) {
			var body any = with(relay(0), test.change...)
			if test.change == nil {
				body = `{"revision":0,"from":"a@send.test","transport":"smtp","connections":2,"settings":{"host":"a.test","host":"b.test"}}`
			}
			a := w.call("PUT", "/v1/profiles/relay", w.admin, body)
			if test.want == "" {
				a.refused(test.code)
			} else {
				a.refused(test.code, test.want)
			}
			if strings.Contains(string(a.body), "correct horse") {
				t.Errorf("the answer holds the password: %s", a.body)
			}
			w.call("GET", "/v1/profiles/relay", w.admin, nil).refused("profile_unknown")
		})
	}
	w.call("PUT", "/v1/profiles/Not%20a%20name", w.admin, relay(0)).refused("bad_input", "profile syntax")
	w.call("PUT", "/v1/profiles/nobody", w.admin, relay(3)).refused("profile_unknown")
}

func TestProfileKeepsItsDKIMKey(t *testing.T) {
	w := sqlite(t)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	text := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	body := with(relay(0), "dkim_key", text, "dkim_domain", "send.test", "dkim_selector", "s1")
	a := w.call("PUT", "/v1/profiles/relay", w.admin, body).want(http.StatusOK)
	if a.at("has_dkim_key") != true || strings.Contains(string(a.body), "PRIVATE") {
		t.Errorf("profile %s", a.body)
	}
	delete(body, "dkim_key")
	body["revision"], body["dkim_domain"] = 1, "other.test"
	w.call("PUT", "/v1/profiles/relay", w.admin, body).refused("invalid_profile", "dkim_key syntax")
	body["dkim_key"], body["dkim_domain"], body["dkim_selector"] = "", "", ""
	if a = w.call("PUT", "/v1/profiles/relay", w.admin, body).want(http.StatusOK); a.at("has_dkim_key") != false {
		t.Errorf("profile %s", a.body)
	}
}

func TestProfileStates(t *testing.T) {
	w := sqlite(t)
	w.sent(letter())
	a := w.call("POST", "/v1/profiles/main/pause", w.admin, `{"reason":"the relay is moved"}`).want(http.StatusOK)
	if a.text("paused", "reason") != "the relay is moved" || a.number("waiting", "n") != 1 || a.text("waiting", "oldest_due") == "" {
		t.Errorf("profile %s", a.body)
	}
	w.call("POST", "/v1/profiles/main/pause", w.admin, `{"reason":"a\nb"}`).refused("bad_input", "reason control")
	a = w.call("POST", "/v1/profiles/main/resume", w.admin, nil).want(http.StatusOK)
	if a.at("paused") != nil || a.number("waiting", "n") != 1 {
		t.Errorf("profile %s", a.body)
	}
	w.call("DELETE", "/v1/profiles/main", w.admin, nil).refused("profile_is_default")
	w.call("PUT", "/v1/profiles/second", w.admin, `{"revision":0,"from":"a@send.test","transport":"sandbox","connections":2}`).want(http.StatusOK)
	if a = w.call("POST", "/v1/profiles/second/default", w.admin, nil).want(http.StatusOK); a.at("is_default") != true {
		t.Errorf("profile %s", a.body)
	}
	w.call("PUT", "/v1/profiles/second", w.admin, `{"revision":2,"from":"a@send.test","transport":"sandbox","connections":2}`).refused("profile_is_default")
	a = w.call("DELETE", "/v1/profiles/main", w.admin, nil).want(http.StatusOK)
	if a.text("removed_at") == "" || a.number("waiting", "n") != 1 {
		t.Errorf("profile %s", a.body)
	}
	w.call("POST", "/v1/profiles/main/pause", w.admin, `{}`).refused("profile_removed")
	w.call("PUT", "/v1/profiles/main", w.admin, `{"revision":3,"from":"a@send.test","transport":"sandbox","connections":2}`).refused("profile_removed")
	w.call("POST", "/v1/messages", w.send, with(letter(), "profile", "main")).refused("profile_removed")
}

func TestProfileTest(t *testing.T) {
	w := sqlite(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			if l := w.lease(postledger.LaneImmediate, 1); len(l) > 0 {
				w.settles(l, postledger.StatusSent, postledger.ReasonSandbox)
				return
			}
		}
	}()
	a := w.call("POST", "/v1/profiles/main/test", w.admin, `{"app":"`+w.app.ID.String()+`","to":"ada@in.test"}`).want(http.StatusOK)
	<-done
	if a.at("settled") != true || a.text("delivery", "status") != "sent" || a.text("delivery", "address") != "ada@in.test" {
		t.Errorf("answer %s", a.body)
	}
	if e, _ := w.lastAudit("profile.test"); !strings.Contains(e.Detail, a.text("message_id")) {
		t.Errorf("line %+v", e)
	}
	w.call("POST", "/v1/profiles/main/test", w.admin, `{"to":"ada@in.test"}`).refused("bad_input", "app required")
	w.call("POST", "/v1/profiles/main/test", w.admin, `{"app":"`+w.app.ID.String()+`","to":"ada"}`).refused("bad_input", "to[0].address syntax")
	w.call("PUT", "/v1/profiles/second", w.admin, `{"revision":0,"from":"a@send.test","transport":"sandbox","connections":2}`).want(http.StatusOK)
	w.call("POST", "/v1/profiles/second/test", w.admin, `{"app":"`+w.app.ID.String()+`","to":"ada@in.test"}`).refused("profile_not_allowed")
}
