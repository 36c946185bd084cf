package audience_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/postledger/postledger"
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
	// Nor are the tables that only a floor reads.
	w.scope(`{where: {users: {orders: {none: {total: {gt: "1000"}}}}}}`)
	for where, want := range map[string][]string{
		everyone:                                 {"users"},
		`{"orders":{"some":{"total":{"gt":1}}}}`: {"users", "orders"},
	} {
		for _, sql := range []bool{false, true} {
			p, err = w.Preview(t.Context(), w.app, of(where), nil, audience.Want{Explanation: true, SQL: sql}, nil)
			must(t, err)
			told := strings.Join(p.Explanation.Warnings, "\n")
			for _, table := range []string{"users", "orders"} {
				if strings.Contains(told, "all of "+table) != (sql || slices.Contains(want, table)) {
					t.Errorf("%s, all told %t: %q", where, sql, told)
				}
			}
		}
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

// Rows may be large, so what shows them has places too, beside those of counts.
func TestPreviewsWithoutCountsAreBounded(t *testing.T) {
	w := newWorld(t, catalogue.SQLite, shop)
	var errs []error
	look := func(app postledger.App, want audience.Want) error {
		_, err := w.Preview(t.Context(), app, of(everyone), nil, want, func(audience.Progress) {})
		return err
	}
	w.during = func() {
		if len(errs) == 0 && w.asks < 5 {
			errs = append(errs, look(w.app, audience.Want{Sample: true}))
		}
	}
	errs = append(errs, look(w.app, audience.Want{Sample: true}))
	if len(errs) != 3 || !errors.Is(errs[0], audience.ErrBusy) || errs[1] != nil || errs[2] != nil {
		t.Errorf("one within another within a third: %v, want the innermost refused", errs)
	}
	w.during = nil
	if err := look(w.app, audience.Want{Sample: true, Counts: true}); err != nil {
		t.Errorf("after they ended: %v", err)
	}
}

func TestASampleOfLargeRows(t *testing.T) {
	w := newWorld(t, catalogue.SQLite, shop)
	w.exec(`UPDATE users SET name = hex(zeroblob(3000000))`)
	p, err := w.Preview(t.Context(), w.app, of(everyone), nil, audience.Want{Sample: true, Clear: true}, nil)
	if err != nil || len(p.Rows) != 3 {
		t.Errorf("rows of 6 MB: %d shown, %v", len(p.Rows), err)
	}
	w.exec(`UPDATE users SET name = ''`)
	w.exec(`CREATE INDEX of_user ON orders (user_id)`)
	w.exec(`WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 201) INSERT INTO users (id, tenant, company_id) SELECT i, 1, 1 FROM n`)
	w.exec(`WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 102099) INSERT INTO orders (id, user_id) SELECT i, 100 + i % 102 FROM n`)
	d := of(everyone)
	d.Address = "mail"
	d.Lens = json.RawMessage(`{"from": "companies", "where": {"everyone": true}, "select": ["mail", {"users": {"select": [{"orders": {"select": ["id"], "limit": 1000}}], "limit": 1000}}]}`)
	_, err = w.Preview(t.Context(), w.app, d, nil, audience.Want{Sample: true}, nil)
	var wrong *audience.InvalidError
	if !errors.As(err, &wrong) {
		t.Errorf("a row with 102,000 related rows: %v", err)
	}
}
