package api_test

import (
	"net/http"
	"strings"
	"testing"
)

func TestBatch(t *testing.T) {
	w := sqlite(t)
	body := map[string]any{"actor": map[string]any{"type": "job", "id": "7"}, "profile": "main", "messages": []any{
		with(letter(), "idempotency_key", "a"), with(letter("bob@in.test"), "html", "<script>x</script><p>y</p>"),
	}}
	// encoding/json sorts: messages would stand before profile.
	text := `{"actor":{"type":"job","id":"7"},"profile":"main","messages":[` +
		`{"to":[{"address":"ada@in.test"}],"text":"x","idempotency_key":"a"},{"to":[{"address":"bob@in.test"}],"text":"y","html":"<p>y</p><script>z</script>"}]}`
	w.call("POST", "/v1/batches", w.send, body).refused("bad_input", "profile order")
	a := w.call("POST", "/v1/batches", w.send, text).want(http.StatusAccepted)
	if a.text("batch_id") == "" || a.at("replayed") != false || a.text("messages", 1, "batch_id") != a.text("batch_id") || a.at("messages", 1, "removed", 0) == nil {
		t.Errorf("answer %s", a.body)
	}
	m := w.call("GET", "/v1/messages/"+a.text("messages", 1, "id"), w.read, nil).want(http.StatusOK)
	if m.text("lane") != "bulk" || m.text("actor", "id") != "7" || m.text("batch_id") != a.text("batch_id") {
		t.Errorf("message %s", m.body)
	}
	// The message with a key is a replay, the other one is new.
	b := w.call("POST", "/v1/batches", w.send, text).want(http.StatusAccepted)
	if b.text("messages", 0, "id") != a.text("messages", 0, "id") || b.at("messages", 0, "replayed") != true || b.at("messages", 1, "replayed") != false {
		t.Errorf("answer %s", b.body)
	}
	// A key for the whole.
	c := w.call("POST", "/v1/batches", w.send, text, "Idempotency-Key", "whole").want(http.StatusAccepted)
	d := w.call("POST", "/v1/batches", w.send, text, "Idempotency-Key", `"whole"`).want(http.StatusAccepted)
	if d.at("replayed") != true || d.header.Get("Idempotent-Replayed") != "true" || d.text("messages", 1, "id") != c.text("messages", 1, "id") {
		t.Errorf("answer %s", d.body)
	}
}

func TestBatchRefuses(t *testing.T) {
	w := sqlite(t)
	good := `{"to":[{"address":"ada@in.test"}],"text":"x"}`
	for name, test := range map[string]struct {
		body, code, field string
	}{
		"nothing":               {`{}`, "bad_input", "messages required"},
		"no messages":           {`{"messages":[]}`, "bad_input", "messages required"},
		"null":                  {`{"messages":null}`, "bad_input", "messages null"},
		"a list":                {`[]`, "bad_input", "type"},
		"no list":               {`{"messages":{}}`, "bad_input", "messages type"},
		"a bad one":             {`{"messages":[` + good + `,{"to":[{"address":"x"}],"text":"y"}]}`, "bad_input", "messages[1].to[0].address syntax"},
		"an unknown member":     {`{"messages":[` + good + `,{"too":[]}]}`, "bad_input", "messages[1].too unknown"},
		"an unknown head":       {`{"profil":"x","messages":[` + good + `]}`, "bad_input", "profil unknown"},
		"two lists":             {`{"messages":[` + good + `],"messages":[` + good + `]}`, "bad_input", "messages duplicate"},
		"something after":       {`{"messages":[` + good + `]} x`, "bad_input", "json"},
		"cut":                   {`{"messages":[` + good, "bad_input", "json"},
		"immediate":             {`{"messages":[{"to":[{"address":"ada@in.test"}],"text":"x","lane":"immediate"}]}`, "bad_input", "messages[0].lane not_allowed"},
		"an empty key":          {`{"idempotency_key":"","messages":[` + good + `]}`, "bad_input", "idempotency_key empty"},
		"a message's empty key": {`{"messages":[{"to":[{"address":"ada@in.test"}],"text":"x","idempotency_key":""}]}`, "bad_input", "messages[0].idempotency_key empty"},
		"an empty profile":      {`{"profile":"","messages":[` + good + `]}`, "bad_input", "profile empty"},
		"one key twice":         {`{"messages":[` + strings.Repeat(`{"to":[{"address":"ada@in.test"}],"text":"x","idempotency_key":"k"},`, 2) + good + `]}`, "idempotency_mismatch", ""},
		"too many":              {`{"messages":[` + strings.Repeat(good+",", 1000) + good + `]}`, "bad_input", "messages too_many"},
		"an unknown profile":    {`{"profile":"none","messages":[` + good + `]}`, "profile_unknown", ""},
		"a key in both, unlike": {`{"idempotency_key":"other","messages":[` + good + `]}`, "bad_input", "idempotency_key mismatch"},
	} {
		w.run(name, func(t *testing.T) {
			headers := []string{}
			if strings.HasPrefix(name, "a key in both") {
				headers = []string{"Idempotency-Key", "one"}
			}
			a := w.call("POST", "/v1/batches", w.send, test.body, headers...)
			if test.field == "" {
				a.refused(test.code)
			} else {
				a.refused(test.code, test.field)
			}
			if p := w.call("GET", "/v1/messages", w.read, nil).want(http.StatusOK); len(items(p, "id")) != 0 {
				t.Errorf("a refused batch left %s", p.body)
			}
		})
	}
}

// All or none: a quota that not all fit into takes none.
func TestBatchIsAllOrNothing(t *testing.T) {
	w := sqlite(t)
	quota := int64(2)
	w.profile.Config.QuotaPerDay = &quota
	var err error
	w.profile, err = w.ledger.PutProfile(t.Context(), w.profile, w.profile.Revision, w.did("profile.put"))
	must(t, err)
	three := map[string]any{"messages": []any{letter("a@in.test"), letter("b@in.test"), letter("c@in.test")}}
	a := w.call("POST", "/v1/batches", w.send, three).refused("quota_exceeded")
	if a.number("limit") != 2 || a.number("used") != 0 || a.number("requested") != 3 {
		t.Errorf("answer %s", a.body)
	}
	w.call("POST", "/v1/messages", w.send, letter("a@in.test", "b@in.test")).want(http.StatusAccepted)
	a = w.call("POST", "/v1/messages", w.send, letter()).refused("quota_exceeded")
	if a.text("resets_at") == "" || a.header.Get("Retry-After") == "" || a.number("used") != 2 {
		t.Errorf("answer %v %s", a.header, a.body)
	}
}
