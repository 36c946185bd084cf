package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/postledger/postledger"
)

func TestPostMessage(t *testing.T) {
	backends(t, func(t *testing.T, w *world) {
		a := w.call("POST", "/v1/messages", w.send, with(letter("Ada@IN.test", "bob@in.test"),
			"ref", map[string]any{"scope": "order", "id": "4711"}, "category", "activity", "lane", "bulk",
			"actor", map[string]any{"type": "user", "id": "17"}, "html", "<p>Hi<script>x</script></p>",
			"deadline", 3600, "cc", []any{map[string]any{"address": "cy@in.test", "name": "Cy"}}),
			"X-Request-Id", "req-1").want(http.StatusAccepted)
		if a.at("replayed") != false || a.at("removed", 0) == nil || a.header.Get("Idempotent-Replayed") != "" {
			t.Errorf("answer %s", a.body)
		}
		got := w.call("GET", "/v1/messages/"+a.text("id"), w.read, nil).want(http.StatusOK)
		if got.text("status") != "queued" || got.number("counts", "queued") != 3 || got.text("ref", "id") != "4711" ||
			got.text("category") != "activity" || got.text("lane") != "bulk" || got.text("request_id") != "req-1" ||
			got.text("actor", "id") != "17" || got.text("expires_at") == "" || got.text("profile") != "main" {
			t.Errorf("message %s", got.body)
		}
		if got.text("deliveries", 0, "address") != "Ada@IN.test" || got.text("deliveries", 2, "kind") != "cc" ||
			got.text("deliveries", 2, "name") != "Cy" {
			t.Errorf("deliveries %s", got.body)
		}
		if strings.Contains(string(got.body), "Good day") {
			t.Error("the body is shown without the scope content")
		}
	})
}

func TestPostMessageRefuses(t *testing.T) {
	w := sqlite(t)
	long := strings.Repeat("x", 1000)
	for name, test := range map[string]struct {
		body  any
		code  string
		field string
	}{
		"nothing":                {map[string]any{}, "bad_input", "to required"},
		"an unknown member":      {with(letter(), "sbject", "x"), "bad_input", "sbject unknown"},
		"another letter case":    {with(letter(), "Subject", "x"), "bad_input", "Subject unknown"},
		"an unknown inner one":   {with(letter(), "to", []any{map[string]any{"adress": "a@in.test"}}), "bad_input", "to[0].adress unknown"},
		"a repeated member":      {`{"to":[{"address":"a@in.test"}],"text":"a","text":"b"}`, "bad_input", "text duplicate"},
		"a repeated inner one":   {`{"to":[{"address":"a@in.test","address":"b@in.test"}],"text":"a"}`, "bad_input", "to[0].address duplicate"},
		"null":                   {with(letter(), "cc", nil), "bad_input", "cc null"},
		"a null text":            {with(letter(), "text", nil), "bad_input", "text null"},
		"another type":           {with(letter(), "subject", 7), "bad_input", "subject type"},
		"an object for a list":   {with(letter(), "to", map[string]any{"address": []int{1, 2}}), "bad_input", "to type"},
		"a list for an object":   {with(letter(), "ref", []any{[]any{}}), "bad_input", "ref type"},
		"a text for a list":      {with(letter(), "to", "a@in.test"), "bad_input", "to type"},
		"a bad time":             {with(letter(), "send_at", "tomorrow"), "bad_input", "send_at syntax"},
		"a bad deadline":         {with(letter(), "deadline", "soon"), "bad_input", "deadline syntax"},
		"a deadline of 0":        {with(letter(), "deadline", 0), "bad_input", "deadline syntax"},
		"a bad base64":           {with(letter(), "attachments", []any{map[string]any{"name": "a", "content": "*"}}), "bad_input", "attachments[0].content syntax"},
		"no JSON":                {"{", "bad_input", "json"},
		"two values":             {`{"to":[{"address":"a@in.test"}],"text":"x"} {}`, "bad_input", "json"},
		"a list":                 {`[]`, "bad_input", "type"},
		"an empty body":          {"", "bad_input", "json"},
		"bytes that are no text": {"{\"text\":\"\xff\",\"to\":[{\"address\":\"a@in.test\"}]}", "bad_input", "text encoding"},
		"half a character":       {`{"text":"\ud83d","to":[{"address":"a@in.test"}]}`, "bad_input", "text encoding"},
		"deep nesting":           {`{"text":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `,"to":[{"address":"a@in.test"}]}`, "bad_input", ""},
		"a long subject":         {with(letter(), "subject", long), "bad_input", "subject too_long"},
		"B01 in an address":      {letter("desk@in.test\r\nX-Probe: 1"), "bad_input", "to[0].address control"},
		"B01 in a subject":       {with(letter(), "subject", "Week 12\r\nBcc: spy@evil.test"), "bad_input", "subject control"},
		"B01 in a header":        {with(letter(), "headers", []any{map[string]any{"name": "X-Ref", "value": "7\nX-Probe: 2"}}), "bad_input", "headers[0].value control"},
		"the same twice":         {letter("a@in.test", "A@IN.test"), "bad_input", "to[1].address duplicate"},
		"an unknown profile":     {with(letter(), "profile", "none"), "profile_unknown", ""},
		"an empty profile":       {with(letter(), "profile", ""), "bad_input", "profile empty"},
		"an empty key":           {with(letter(), "idempotency_key", ""), "bad_input", "idempotency_key empty"},
		"an empty digest":        {with(letter(), "attachments", []any{map[string]any{"name": "a", "content": "eA==", "sha256": ""}}), "bad_input", "attachments[0].sha256 empty"},
		"marketing":              {with(letter(), "category", "marketing"), "category_needs_consent", ""},
	} {
		w.run(name, func(t *testing.T) {
			before := len(w.audited())
			a := w.call("POST", "/v1/messages", w.send, test.body)
			if test.field == "" {
				a.refused(test.code)
			} else {
				a.refused(test.code, test.field)
			}
			if p := w.call("GET", "/v1/messages", w.read, nil).want(200); p.at("items") != nil && len(p.at("items").([]any)) != 0 {
				t.Errorf("a refused request left %s", p.body)
			}
			lines := w.audited()
			if len(lines) != before+1 || lines[0].Result != test.code || lines[0].Action != "message.accept" {
				t.Errorf("the denial is not in the audit trail: %+v", lines[0])
			}
			if strings.ContainsAny(lines[0].Detail, "@\r\n") {
				t.Errorf("the audit trail holds a value: %q", lines[0].Detail)
			}
		})
	}
}

// A refusal never repeats what it refuses.
func TestRefusalsHoldNoValue(t *testing.T) {
	w := sqlite(t)
	const secretish = "hunter2-0f9e"
	for _, test := range []struct{ method, path, body string }{
		{"POST", "/v1/messages", `{"` + secretish + `@x":1}`},
		{"POST", "/v1/messages", `{"to":[{"address":"` + secretish + `"}],"text":7}`},
		{"POST", "/v1/messages", `{"to":"` + secretish + `"}`},
		{"POST", "/v1/messages", `{"lane":"` + secretish + `"}`},
		{"POST", "/v1/messages", `{"idempotency_key":{"a":"` + secretish + `"}}`},
		{"GET", "/v1/messages?recipient=" + secretish, ""},
		{"GET", "/v1/messages?cursor=" + secretish, ""},
		{"GET", "/v1/messages?limit=" + secretish, ""},
		{"GET", "/v1/messages?status=" + secretish, ""},
		{"GET", "/v1/messages?lane=" + secretish, ""},
		{"GET", "/v1/messages?since=" + secretish, ""},
		{"GET", "/v1/messages?batch=" + secretish, ""},
		{"GET", "/v1/messages?" + secretish + "%40x=1", ""},
		{"GET", "/v1/messages/" + secretish, ""},
		{"GET", "/" + secretish, ""},
	} {
		var body any
		if test.body != "" {
			body = test.body
		}
		key := w.key(w.app.ID, postledger.ScopeSend, postledger.ScopeRead)
		a := w.call(test.method, test.path, key, body)
		if a.status < 400 || a.text("code") == "" {
			t.Errorf("%s %s: %d %s", test.method, test.path, a.status, a.body)
		}
		if strings.Contains(string(a.body), secretish) {
			t.Errorf("%s %s %s: the answer repeats it: %s", test.method, test.path, test.body, a.body)
		}
	}
	if strings.Contains(w.log.String(), secretish) {
		t.Error("the log repeats it")
	}
}
