package audience_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/postledger/postledger/internal/audience"
	"github.com/postledger/postledger/lens/catalogue"
)

func TestSamplesShowTheProjection(t *testing.T) {
	sources(t, func(t *testing.T, w *world) {
		d := of(everyone)
		d.Lens = json.RawMessage(`{"from":"users","where":{"id":{"in":[1,4,5]}},"select":["email","id",{"company":["name"]},{"orders":{"select":["total"],"order":["total"]}}],"order":["-id"]}`)
		rows := func(want audience.Want) string {
			t.Helper()
			want.Sample = true
			p, err := w.Preview(t.Context(), w.app, d, nil, want, nil)
			must(t, err)
			text, err := json.Marshal(p.Rows)
			must(t, err)
			return string(text)
		}
		const clear = `[{"email":null,"id":"5","company":null,"orders":[]},` +
			`{"email":"acb@rcv.test","id":"4","company":{"name":"Berg"},"orders":[{"total":"7.75"}]},` +
			`{"email":"Mira.Holt@RCV.test","id":"1","company":{"name":"Holt"},"orders":[{"total":"5.55"},{"total":"100.25"}]}]`
		if got := rows(audience.Want{Clear: true}); got != clear {
			t.Errorf("clear: %s", got)
		}
		const masked = `[{"email":null,"id":"5","company":null,"orders":[]},` +
			`{"email":"a…@r….test","id":"4","company":{"name":"B…"},"orders":[{"total":"7.75"}]},` +
			`{"email":"M…@R….test","id":"1","company":{"name":"H…"},"orders":[{"total":"5.55"},{"total":"100.25"}]}]`
		if got := rows(audience.Want{}); got != masked {
			t.Errorf("masked: %s", got)
		}
		many := of(everyone)
		w.exec(`INSERT INTO users (id, email, tenant) VALUES (20, 'a@in.test', 1), (21, 'b@in.test', 1), (22, 'c@in.test', 1)`)
		p, err := w.Preview(t.Context(), w.app, many, nil, audience.Want{Sample: true}, nil)
		must(t, err)
		if len(p.Rows) != audience.SampleRows {
			t.Errorf("a sample of %d rows", len(p.Rows))
		}
	})
}

func TestSchemaAndExplanation(t *testing.T) {
	w := newWorld(t, catalogue.SQLite, shop)
	p, err := w.Preview(t.Context(), w.app, of(`{"country":{"eq":"NO"}}`), nil, audience.Want{Schema: true, Explanation: true}, nil)
	must(t, err)
	text, err := json.Marshal(p.Schema)
	must(t, err)
	if !strings.Contains(string(text), `"required":["email","name"]`) || !strings.Contains(string(text), `"additionalProperties":false`) {
		t.Errorf("schema %s", text)
	}
	if e := p.Explanation; e.English != `email, name of users where country is "NO"` || !strings.Contains(e.SQL, "SELECT") || strings.Contains(e.SQL, "'NO'") || len(e.Binds) == 0 {
		t.Errorf("explanation %+v", e)
	}
	if p.Counts != nil || p.Rows != nil {
		t.Errorf("not asked for: %+v", p)
	}
	// A floor's fields are not for everybody.
	w.scope(`{where: {users: {tenant: {eq: 1}}}}`)
	p, err = w.Preview(t.Context(), w.app, of(everyone), nil, audience.Want{Explanation: true}, nil)
	must(t, err)
	if p.Explanation.SQL != "" || strings.Contains(p.Explanation.English, "tenant") {
		t.Errorf("under a floor: %+v", p.Explanation)
	}
	p, err = w.Preview(t.Context(), w.app, of(everyone), nil, audience.Want{Explanation: true, SQL: true}, nil)
	must(t, err)
	if !strings.Contains(p.Explanation.SQL, "tenant") {
		t.Errorf("for who may know it: %+v", p.Explanation)
	}
}

func TestMask(t *testing.T) {
	for text, want := range map[string]string{
		"ada@example.net": "a…@e….net", "å@ø.no": "…@….no", "Ada": "A…", "a": "…", "": "…", "@": "…", "a@": "a…", "@b.no": "@…",
		"x@localhost": "…@l…", "Åse": "Å…", "a@b.averylongsecretlabel": "…@…", "\xff\xfe@a.b": "…@….b", "ab@c.d": "a…@….d",
	} {
		if got := audience.Mask(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
