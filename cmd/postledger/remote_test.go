package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/postledger/postledger"
)

// Every command that speaks HTTP, with good and with bad input, against a
// server that sends into a sandbox.
func TestRemoteCommands(t *testing.T) {
	t.Parallel()
	s, operator, app := sandbox(t)
	onServer := func(t *testing.T, env []string, args ...string) result {
		t.Helper()
		return command(t, env, args...)
	}

	t.Run("apps and grants", func(t *testing.T) {
		id := onServer(t, operator, "apps", "create", "billing").token(t)
		onServer(t, operator, "apps", "create", "billing").expect(t, 1, "409 app_exists")
		onServer(t, operator, "apps", "create", "Bill ing").expect(t, 1, "400 bad_input", "name must have")
		onServer(t, operator, "apps", "ls").expect(t, 0, id, "billing", "shop")
		onServer(t, app, "apps", "ls").expect(t, 1, "403 forbidden")
		onServer(t, operator, "grants", "put", "billing", "box", "--quota", "10").expect(t, 0, "billing may use box", "billing had no grant before")
		if again := onServer(t, operator, "grants", "put", "billing", "box", "--quota", "10").expect(t, 0); strings.Contains(again.stderr, "no grant") {
			t.Errorf("the second grant is taken for the first: %s", again.stderr)
		}
		onServer(t, operator, "grants", "put", "billing", "none").expect(t, 1, "profile_unknown")
		onServer(t, operator, "grants", "put", "none", "box").expect(t, 1, `there is no app "none"`)
		onServer(t, operator, "grants", "ls", id).expect(t, 0, "10")
		onServer(t, operator, "grants", "revoke", "billing", "box").expect(t, 0, "may not use")
		onServer(t, operator, "apps", "remove", "billing").expect(t, 0, "removed billing")
		onServer(t, operator, "apps", "remove", "billing").expect(t, 1, "there is no app")
	})

	t.Run("profiles", func(t *testing.T) {
		password := writeFile(t, "password", "S3cr3t\n", 0o600)
		readable := writeFile(t, "readable", "S3cr3t\n", 0o644)
		put := []string{"profiles", "put", "relay", "--from", "a@example.org", "--transport", "smtp", "--host", "127.0.0.1", "--port", "1", "--tls", "required", "--username", "u"}
		onServer(t, operator, append(put, "--password-file", readable)...).expect(t, 2, "0644")
		onServer(t, operator, put...).expect(t, 1, "invalid_profile", "password and settings.username: give both or none")
		onServer(t, operator, append(put, "--password-file", password)...).expect(t, 0, "relay: revision 1")
		onServer(t, operator, "profiles", "put", "relay", "--connections", "3", "--quota-per-day", "100").expect(t, 0, "revision 2")
		onServer(t, operator, "profiles", "put", "relay", "--host", "other.example").expect(t, 1, "password must be given again")
		r := onServer(t, operator, "profiles", "show", "relay").expect(t, 0, `"connections": 3`, `"quota_per_day": 100`, `"has_password": true`, `"port": 1`)
		if strings.Contains(r.stdout, "S3cr3t") {
			t.Error("the password is shown")
		}
		// A login of two lines would fail at the first delivery only.
		onServer(t, operator, "profiles", "put", "relay", "--password-file", writeFile(t, "wrapped", "S3c\nr3t\n", 0o600)).
			expect(t, 1, "invalid_profile", "password holds a line break")
		wrapped := strings.Replace(r.stdout, `"username": "u"`, `"username": "u\nv"`, 1)
		onServer(t, operator, "profiles", "put", "relay", "--file", writeFile(t, "wrapped.json", wrapped, 0o600), "--password-file", password).
			expect(t, 1, "invalid_profile", "settings.username holds a line break")
		// What is shown can be put again.
		file := writeFile(t, "profile.json", r.stdout, 0o600)
		onServer(t, operator, "profiles", "put", "relay", "--file", file, "--quota-per-day=-1").expect(t, 0, "revision 3")
		onServer(t, operator, "profiles", "put", "relay", "--file", writeFile(t, "bad.json", `{"frm":"x"}`, 0o600)).expect(t, 2, "frm")
		// A file need not name the connections, and a transport has settings of its own.
		short := writeFile(t, "short.json", `{"from":"a@example.org","transport":"smtp","settings":{"host":"127.0.0.1","port":1,"tls":"none"}}`, 0o600)
		onServer(t, operator, "profiles", "put", "short", "--file", short).expect(t, 0, "short: revision 1")
		onServer(t, operator, "profiles", "show", "short").expect(t, 0, `"connections": 8`)
		onServer(t, operator, "profiles", "put", "short", "--transport", "sandbox").expect(t, 0, "short: revision 2")
		onServer(t, operator, "profiles", "pause", "relay", "--reason", "maintenance").expect(t, 0, "paused: maintenance")
		onServer(t, operator, "profiles", "ls").expect(t, 0, "box", "yes", "paused: maintenance")
		onServer(t, operator, "profiles", "resume", "relay").expect(t, 0, "relay: revision 3, up")
		onServer(t, operator, "profiles", "resume", "none").expect(t, 1, "profile_unknown")
		onServer(t, operator, "profiles", "default", "relay").expect(t, 0)
		onServer(t, operator, "profiles", "delete", "relay").expect(t, 1, "profile_is_default")
		onServer(t, operator, "profiles", "default", "box").expect(t, 0)
		onServer(t, operator, "profiles", "delete", "relay").expect(t, 0, "removed")
		onServer(t, operator, "profiles", "test-send", "box", "--app", "shop", "--to", "a@example.com").expect(t, 0, "sent sandbox")
		onServer(t, operator, "profiles", "test-send", "box", "--app", "shop", "--to", "a+rejected@example.com").expect(t, 1, "failed rejected_recipient")
	})

	t.Run("a DKIM key", func(t *testing.T) {
		key := filepath.Join(t.TempDir(), "dkim.pem")
		onServer(t, operator, "keys", "dkim", "--domain", "example.org", "--selector", "s1", "--algorithm", "ed25519", "--out", key).
			expect(t, 0, "s1._domainkey.example.org. IN TXT", "k=ed25519")
		onServer(t, operator, "profiles", "put", "box", "--dkim-domain", "example.org", "--dkim-selector", "s1").expect(t, 1, "dkim_key is missing")
		onServer(t, operator, "profiles", "put", "box", "--dkim-domain", "example.org", "--dkim-selector", "s1", "--dkim-key-file", key).expect(t, 0)
		onServer(t, operator, "profiles", "put", "box", "--dkim-domain", "", "--dkim-selector", "", "--no-dkim-key").expect(t, 0)
	})

	t.Run("send", func(t *testing.T) {
		attachment := writeFile(t, "invoice.txt", "12.00\n", 0o600)
		html := writeFile(t, "page.html", `<p onclick="x()">Hello</p>`, 0o600)
		onServer(t, app, "send", "--to", "a@example.com", "--cc", "Bea <b@example.com>", "--subject", "Hi", "--text", "Hello", "--html", html,
			"--attach", attachment, "--header", "X-Campaign: spring", "--reply-to", "r@example.org", "--ref", "o-1", "--key", "k1", "--wait").
			expect(t, 0, "accepted ", "sent (2 sent)", "removed from the HTML")
		onServer(t, app, "send", "--to", "a@example.com", "--subject", "other", "--text", "x", "--key", "k1").expect(t, 1, "idempotency_mismatch")
		commandIn(t, app, "from the pipe", "send", "--to", "c@example.com", "--subject", "Hi", "--text", "-", "--json").expect(t, 0, `"id": "`)
		onServer(t, app, "send", "--to", "d+rejected@example.com", "--subject", "Hi", "--text", "x", "--wait").expect(t, 1, "failed (1 failed)", "rejected_recipient")
		onServer(t, app, "send", "--to", "nonsense", "--subject", "Hi", "--text", "x").expect(t, 1, "bad_input", "to[0].address")
		onServer(t, operator, "send", "--to", "a@example.com", "--subject", "Hi", "--text", "x").expect(t, 1, "403 forbidden")
	})

	t.Run("batch", func(t *testing.T) {
		attached := writeFile(t, "a.txt", "x", 0o600)
		var b strings.Builder
		for i := range 700 {
			fmt.Fprintf(&b, `{"to":[{"address":"u%d@example.com"}],"subject":"n","text":"t"}`+"\n", i)
		}
		b.WriteString("\n" + `{"to":[{"address":"same@example.com"}],"subject":"n","text":"t"}` + "\n" + `{"to":[{"address":"same@example.com"}],"subject":"n","text":"t"}` + "\n")
		fmt.Fprintf(&b, `{"to":[{"address":"f@example.com"}],"subject":"n","text":"t","attachments":[{"path":%q},{"name":"b","content":"eA=="}]}`, attached)
		file := writeFile(t, "news.ndjson", b.String(), 0o600)
		onServer(t, app, "batch", file).expect(t, 0, "703 accepted, 0 accepted before")
		onServer(t, app, "batch", file).expect(t, 0, "0 accepted, 703 accepted before")
		more := writeFile(t, "news.ndjson", `{"to":[{"address":"new@example.com"}],"subject":"n","text":"t"}`+"\n"+b.String(), 0o600)
		onServer(t, app, "batch", more, "--json").expect(t, 0, `"accepted": 1`, `"replayed": 703`)
		onServer(t, app, "batch", file, "--name", "second").expect(t, 0, "703 accepted")
		bad := writeFile(t, "bad.ndjson", `{"to":[{"address":"x@example.com"}],"subject":"n","text":"t"}`+"\n"+`{"to":[{"address":"nonsense"}],"subject":"n","text":"t"}`, 0o600)
		onServer(t, app, "batch", bad).expect(t, 1, "0 accepted", "lines 1 to 2", "line 2: to[0].address")
		onServer(t, app, "batch", bad, "--skip-refused").expect(t, 1, "1 accepted", "1 refused", "line 2: to[0].address")
		onServer(t, app, "batch", writeFile(t, "x", `{"too":1}`, 0o600)).expect(t, 1, "line 1", "too")
		onServer(t, app, "batch", writeFile(t, "x", `{} {}`, 0o600)).expect(t, 1, "line 1", "something after")
		for field, more := range map[string]string{
			"profile": `,"profile":""`, "idempotency_key": `,"idempotency_key":""`, "attachments[0].sha256": `,"attachments":[{"name":"b","content":"eA==","sha256":""}]`,
		} {
			empty := writeFile(t, "empty.ndjson", `{"to":[{"address":"e@example.com"}],"subject":"n","text":"t"`+more+`}`, 0o600)
			onServer(t, app, "batch", empty).expect(t, 1, "0 accepted", "line 1: "+field+": is empty")
		}
		mixed := writeFile(t, "mixed.ndjson", "\ufeff\n\ufeffx\n\n"+`{"to":[{"address":"x@example.com"}],"subject":"m","text":"t"}`+"\nno json\n"+
			`{"to":[{"address":"nonsense"}],"subject":"m","text":"t"}`+"\n{\"subject\":\""+strings.Repeat("x", 32<<20)+"\"}\n"+
			`{"to":[{"address":"y@example.com"}],"subject":"m","text":"t"}`, 0o600)
		onServer(t, app, "batch", mixed, "--skip-refused").expect(t, 1, "2 accepted, 0 accepted before", "4 refused",
			"line 2: is not a message", "line 5: is not a message", "line 6: to[0].address", "line 7: is longer")
		marked := writeFile(t, "marked.ndjson", "\ufeff"+`{"to":[{"address":"x@example.com"}],"subject":"m","text":"t"}`, 0o600)
		onServer(t, app, "batch", marked).expect(t, 0, "1 accepted")
		commandIn(t, app, `{"to":[{"address":"p@example.com"}],"subject":"n","text":"t"}`, "batch", "-", "--name", "piped").expect(t, 0, "1 accepted")
	})

	c := s.client(t, app)
	until(t, c, "all has settled", settled)

	t.Run("messages and deliveries", func(t *testing.T) {
		r := onServer(t, app, "messages", "ls", "--ref", "o-1", "--json").expect(t, 0, `"subject": "Hi"`, `"expires_at": null`)
		var list []struct{ ID postledger.ID }
		if err := json.Unmarshal([]byte(r.stdout), &list); err != nil || len(list) != 1 {
			t.Fatal(err, list)
		}
		id := list[0].ID.String()
		onServer(t, app, "messages", "show", id).expect(t, 0, "Hi", "a@example.com", "b@example.com", "sandbox")
		onServer(t, app, "messages", "show", id, "--json").expect(t, 0, `"deliveries": [`)
		onServer(t, app, "messages", "show", "01890000-0000-7000-8000-000000000000").expect(t, 1, "message_unknown")
		onServer(t, app, "messages", "ls", "--limit", "2").expect(t, 0, "there are more than 2")
		onServer(t, app, "messages", "cancel", id).expect(t, 0, "0 canceled, 0 on the wire or unconfirmed (noted)")
		onServer(t, app, "messages", "resend", id).expect(t, 1, "not_resendable")
		onServer(t, app, "deliveries", "ls", "--status", "failed", "--recipient", "D+rejected@Example.com").expect(t, 0, "d+rejected@example.com", "550 5.1.1")
		onServer(t, app, "deliveries", "ls", "--domain", "example.com").expect(t, 1, "filter_too_broad")
		failed := onServer(t, app, "messages", "ls", "--status", "failed", "--json").expect(t, 0)
		if err := json.Unmarshal([]byte(failed.stdout), &list); err != nil || len(list) == 0 {
			t.Fatal(err, list)
		}
		onServer(t, app, "messages", "resend", list[0].ID.String()).expect(t, 0, "accepted ")
	})

	t.Run("cancel and resolve", func(t *testing.T) {
		onServer(t, app, "send", "--to", "later@example.com", "--subject", "Hi", "--text", "x", "--send-at", "2027-01-01T00:00:00Z", "--ref", "later").expect(t, 0)
		onServer(t, app, "messages", "cancel", "--ref", "later").expect(t, 0, "1 canceled")
		for _, to := range []string{"e+unknown@example.com", "f+unknown@example.com"} {
			onServer(t, app, "send", "--to", to, "--subject", "Hi", "--text", "x", "--wait").expect(t, 1, "unconfirmed (1 unconfirmed)")
		}
		onServer(t, app, "messages", "resolve", "--all", "--sent").expect(t, 1, "403 forbidden")
		onServer(t, operator, "messages", "resolve", "--reason", "restored", "--sent").expect(t, 0, "0 resolved")
		onServer(t, operator, "messages", "resolve", "--reason", "expired", "--sent").expect(t, 1, "400 bad_input", "filter.reason is not a reason of unconfirmed")
		onServer(t, operator, "messages", "cancel", "--reason", "throttled").expect(t, 0, "0 canceled")
		onServer(t, operator, "messages", "resolve", "--status", "unconfirmed", "--reason", "no_answer", "--recipient", "e+unknown@example.com", "--sent").expect(t, 0, "1 resolved")
		onServer(t, operator, "messages", "resolve", "--all", "--sent", "--json").expect(t, 0, `"resolved": 1`)
	})

	t.Run("suppressions", func(t *testing.T) {
		onServer(t, app, "suppressions", "add", "G@Example.com", "--reason", "asked").expect(t, 0)
		onServer(t, operator, "suppressions", "add", "h@example.com", "--app", "shop", "--reason", "bounced").expect(t, 0)
		onServer(t, app, "suppressions", "ls").expect(t, 0, "g@example.com", "asked", "bounced")
		onServer(t, app, "send", "--to", "g@example.com", "--subject", "Hi", "--text", "x", "--wait").expect(t, 1, "suppressed (1 suppressed)", "suppression_list")
		onServer(t, app, "suppressions", "remove", "g@example.com").expect(t, 0)
		onServer(t, app, "suppressions", "remove", "g@example.com").expect(t, 1, "suppression_unknown")
		onServer(t, app, "suppressions", "add", "nonsense", "--reason", "x").expect(t, 1, "bad_input")
	})

	t.Run("retention, audit and stats", func(t *testing.T) {
		onServer(t, operator, "retention", "show").expect(t, 0, "content", "30")
		onServer(t, operator, "retention", "set").expect(t, 2, "nothing to set")
		onServer(t, operator, "retention", "set", "--content-days", "7").expect(t, 0, "content", "7")
		onServer(t, operator, "retention", "set", "--key-days", "1").expect(t, 1, "bad_input", "key_days")
		s.run(t, "retention", "run").expect(t, 0, "contents", "0")
		onServer(t, operator, "audit", "ls", "--action", "profile.put", "--limit", "1").expect(t, 0, "profile.put", "done")
		onServer(t, app, "audit", "ls").expect(t, 1, "403 forbidden")
		onServer(t, app, "stats").expect(t, 0, "SANDBOX")
		onServer(t, app, "stats", "--json").expect(t, 0, `"hours": [`)
	})

	t.Run("credentials in a file", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, "postledger"), 0o700); err != nil {
			t.Fatal(err)
		}
		key := strings.TrimPrefix(app[1], "POSTLEDGER_API_KEY=")
		if err := os.WriteFile(filepath.Join(dir, "postledger", "credentials"), []byte(key+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		onServer(t, []string{app[0], "XDG_CONFIG_HOME=" + dir}, "messages", "ls", "--limit", "1").expect(t, 0, "SUBJECT")
		onServer(t, []string{app[0], "POSTLEDGER_API_KEY=pl_app_wrong"}, "messages", "ls").expect(t, 1, "401 unauthorized")
	})

	until(t, c, "all has settled", settled)
	s.run(t, "books").expect(t, 0, "The books balance.")
	if strings.Contains(s.logged(), "example.com") || strings.Contains(s.logged(), "pl_app_") || strings.Contains(s.logged(), "S3cr3t") {
		t.Error("the log holds an address or a secret")
	}
	resp, err := http.Get(s.admin + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Error(resp.Status)
	}
}
