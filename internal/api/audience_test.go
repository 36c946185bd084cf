package api_test

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/api"
	"github.com/postledger/postledger/internal/app"
	"github.com/postledger/postledger/internal/app/config"
	"github.com/postledger/postledger/internal/audience"
	"github.com/postledger/postledger/internal/ledger"
)

// audiences is the step over a small shop in SQLite, which the world's first app
// may use: of its users, those of tenant 1.
func (w *world) audiences(log *slog.Logger) *audience.Service {
	w.t.Helper()
	file := filepath.Join(w.t.TempDir(), "shop.db")
	db, err := sql.Open("sqlite", file)
	must(w.t, err)
	for _, statement := range []string{
		`CREATE TABLE users (id INTEGER PRIMARY KEY, email TEXT, name TEXT, country TEXT, tenant BIGINT NOT NULL, password_hash TEXT)`,
		`INSERT INTO users (id, email, name, country, tenant) VALUES (1, 'Ada@in.test', 'Ada', 'NO', 1), (2, 'ada@IN.test', 'Ada L', 'NO', 1),
			(3, 'bob@in.test', 'Bob', 'SE', 1), (4, NULL, 'Cy', NULL, 1), (5, 'nothing', 'Di', 'NO', 1), (6, 'eve@in.test', 'Eve', 'NO', 2)`,
	} {
		_, err := db.ExecContext(w.t.Context(), statement)
		must(w.t, err)
	}
	must(w.t, db.Close())
	scope := filepath.Join(w.t.TempDir(), "scope.yaml")
	must(w.t, os.WriteFile(scope, []byte("where: {users: {tenant: {eq: 1}}}\n"), 0o600))
	sources := sourcesOf(w.t, fmt.Sprintf("{shop: {dsn: 'sqlite:%s', apps: [shop], scope: %s}}", file, scope), log)
	return audience.New(audience.Config{Ledger: w.ledger, Sources: sources, Dir: w.t.TempDir(), Log: log})
}

// sourcesOf opens what a configuration calls sources.
func sourcesOf(t *testing.T, text string, log *slog.Logger) *app.Sources {
	t.Helper()
	path := filepath.Join(t.TempDir(), "c.yaml")
	must(t, os.WriteFile(path, fmt.Appendf(nil, "data_dir: %s\nsources: %s\n", t.TempDir(), text), 0o600))
	c, err := config.Load(path, nil)
	must(t, err)
	sources, err := app.NewSources(&c, log)
	must(t, err)
	t.Cleanup(func() { must(t, sources.Close()) })
	return sources
}

func anAudience(where string) map[string]any {
	return map[string]any{
		"revision": 0, "source": "shop", "address": "email", "category": "activity",
		"lens": map[string]any{"from": "users", "where": json.RawMessage(where), "select": []string{"id", "email", "name"}},
	}
}

const norwegians = `{"country":{"eq":"NO"}}`

func TestAudiencesAreSavedInVersions(t *testing.T) {
	backends(t, func(t *testing.T, w *world) {
		a := w.call("PUT", "/v1/audiences/nordic", w.send, anAudience(norwegians)).want(http.StatusOK)
		id := a.text("id")
		if a.number("revision") != 1 || a.text("app_id") != w.app.ID.String() || a.text("saved_by") == "" {
			t.Errorf("created %s", a.body)
		}
		w.call("PUT", "/v1/audiences/nordic", w.send, anAudience(norwegians)).refused("audience_exists")
		b := w.call("PUT", "/v1/audiences/nordic", w.send, with(anAudience(`{"country":{"in":["NO","SE"]}}`), "revision", 1, "name", "northern")).want(http.StatusOK)
		if b.number("revision") != 2 || b.text("name") != "northern" || b.text("id") != id {
			t.Errorf("changed %s", b.body)
		}
		w.call("PUT", "/v1/audiences/northern", w.send, with(anAudience(norwegians), "revision", 1)).refused("revision_conflict")
		w.call("GET", "/v1/audiences/nordic", w.read, nil).refused("audience_unknown")
		old := w.call("GET", "/v1/audiences/northern?revision=1", w.read, nil).want(http.StatusOK)
		if old.text("name") != "nordic" || !bytes.Contains(old.body, []byte(`"where":{"country":{"eq":"NO"}}`)) {
			t.Errorf("the first version: %s", old.body)
		}
		w.call("GET", "/v1/audiences/northern?revision=3", w.read, nil).refused("audience_unknown")
		list := w.call("GET", "/v1/audiences?app="+w.app.ID.String(), w.admin, nil).want(http.StatusOK)
		if len(list.at("items").([]any)) != 1 {
			t.Errorf("listed %s", list.body)
		}
		page := w.call("GET", "/v1/audiences/"+id+"/versions?limit=1", w.read, nil).want(http.StatusOK)
		rest := w.call("GET", "/v1/audiences/"+id+"/versions?limit=1&after="+page.text("next"), w.read, nil).want(http.StatusOK)
		if page.number("items", 0, "revision") != 2 || rest.number("items", 0, "revision") != 1 || rest.tree["next"] != nil {
			t.Errorf("versions %s, then %s", page.body, rest.body)
		}
		w.call("DELETE", "/v1/audiences/northern", w.send, nil).want(http.StatusOK)
		w.call("GET", "/v1/audiences/northern", w.read, nil).refused("audience_unknown")
		gone := w.call("GET", "/v1/audiences/"+id, w.read, nil).want(http.StatusOK)
		if gone.text("removed_at") == "" {
			t.Errorf("removed: %s", gone.body)
		}
		w.call("PUT", "/v1/audiences/"+id, w.send, with(anAudience(norwegians), "revision", 2)).refused("audience_removed")
		w.call("POST", "/v1/audiences/preview", w.read, map[string]any{"audience": id}).refused("audience_removed")
		w.call("GET", "/v1/audiences/"+id+"/versions", w.read, nil).want(http.StatusOK)
	})
}

// Whatever says nothing is refused by its place, and nothing is saved: B56.
func TestAudiencesFailClosed(t *testing.T) {
	w := sqlite(t)
	for where, want := range map[string]string{
		`{}`:                                   "lens.where lens",
		`null`:                                 "lens.where lens",
		`{"all":[]}`:                           "lens.where.all lens",
		`{"country":{"eq":null}}`:              "lens.where.country.eq lens",
		`{"contry":{"eq":"NO"}}`:               "lens.where.contry lens",
		`{"password_hash":{"eq":"x"}}`:         "lens.where.password_hash lens",
		`{"all":[{"id":{"gt":1}},{"id":{}}]}`:  "lens.where.all[1].id lens",
		`{"ada@in.test":{"eq":1}}`:             "lens.where.(a name that is not shown) lens",
		`{"country":{"eq":{"param":"c"}}}`:     "lens.where.country.eq lens",
		`{"everyone":false}`:                   "lens.where.everyone lens",
		`{"id":{"eq":1},"id":{"eq":2}}`:        "lens.id duplicate",
		`{"country":{"startsWith":"",,"x":1}}`: "",
	} {
		text := `{"revision":0,"source":"shop","address":"email","category":"activity","lens":{"from":"users","select":["email"],"where":` + where + `}}`
		a := w.call("PUT", "/v1/audiences/x", w.send, text)
		switch {
		case want == "":
			a.refused("bad_input")
		case strings.HasSuffix(want, " duplicate"):
			a.refused("bad_input", want)
		default:
			a.refused("invalid_audience", want)
		}
		w.call("POST", "/v1/audiences/preview", w.read, `{"definition":{"source":"shop","address":"email","category":"activity","lens":{"from":"users","select":["email"],"where":`+where+`}}}`)
	}
	for name, tt := range map[string]struct {
		body map[string]any
		code string
		want string
	}{
		"no lens":          {with(anAudience(norwegians), "lens", nil), "bad_input", "lens null"},
		"a source":         {with(anAudience(norwegians), "source", "crm"), "invalid_audience", "source unknown"},
		"an address":       {with(anAudience(norwegians), "address", "country"), "invalid_audience", "address field_kind"},
		"a category":       {with(anAudience(norwegians), "category", "all"), "invalid_audience", "category unknown"},
		"an unknown field": {with(anAudience(norwegians), "where", 1), "bad_input", "where unknown"},
		"a revision":       {with(anAudience(norwegians), "revision", -1), "bad_input", "revision range"},
		"another name":     {with(anAudience(norwegians), "name", "y"), "bad_input", "name mismatch"},
	} {
		t.Run(name, func(*testing.T) { w.call("PUT", "/v1/audiences/x", w.send, tt.body).refused(tt.code, tt.want) })
	}
	w.call("PUT", "/v1/audiences/Not%20a%20name", w.send, anAudience(norwegians)).refused("bad_input", "audience syntax")
	if list := w.call("GET", "/v1/audiences", w.read, nil).want(http.StatusOK); len(list.at("items").([]any)) != 0 {
		t.Errorf("something was saved: %s", list.body)
	}
	page, err := w.ledger.Audit(t.Context(), ledger.AuditFilter{}, ledger.Paging{Limit: 1000})
	must(t, err)
	for _, e := range page.Items {
		if strings.Contains(e.Detail+e.TargetID, "in.test") {
			t.Errorf("the trail holds an address: %+v", e)
		}
	}
}

// A source that is another app's, and one that nobody has, answer alike.
func TestAnotherAppsSource(t *testing.T) {
	w := sqlite(t)
	theirs := w.call("PUT", "/v1/audiences/x", w.foreign, anAudience(norwegians)).refused("invalid_audience", "source unknown")
	nobodys := w.call("PUT", "/v1/audiences/x", w.foreign, with(anAudience(norwegians), "source", "nobodys")).refused("invalid_audience", "source unknown")
	same(t, "another app's source and nobody's", theirs, nobodys)
	w.call("POST", "/v1/audiences/preview", w.foreign, map[string]any{"definition": with(anAudience(norwegians), "revision", nil)}).refused("bad_input")
}

func definition(where string) map[string]any {
	d := anAudience(where)
	delete(d, "revision")
	return d
}

func TestPreviewCountsAndShows(t *testing.T) {
	backends(t, func(t *testing.T, w *world) {
		w.call("PUT", "/v1/audiences/everyone", w.send, anAudience(`{"everyone":true}`)).want(http.StatusOK)
		w.call("PUT", "/v1/suppressions", w.send, map[string]any{"address": "ADA@in.TEST", "reason": "asked"}).want(http.StatusNoContent)
		a := w.call("POST", "/v1/audiences/preview", w.read, map[string]any{"audience": "everyone"}).want(http.StatusOK)
		counts, _ := json.Marshal(a.at("counts"))
		if string(counts) != `{"duplicate":1,"invalid":1,"mailable":1,"matched":5,"no_address":1,"suppressed":1}` {
			t.Errorf("counts %s", counts)
		}
		rows, _ := json.Marshal(a.at("sample", "rows", 0))
		if string(rows) != `{"email":"A…@i….test","id":"1","name":"A…"}` || a.at("sample", "masked") != true || len(a.at("sample", "rows").([]any)) != 5 {
			t.Errorf("masked sample %s", a.body)
		}
		if a.at("schema", "properties", "email") == nil || a.tree["explanation"] != nil || a.number("revision") != 1 {
			t.Errorf("preview %s", a.body)
		}
		// The scope content shows rows as they are, and an operator's key has none.
		both := w.key(w.app.ID, postledger.ScopeRead, postledger.ScopeContent)
		a = w.call("POST", "/v1/audiences/preview", both, map[string]any{"definition": definition(`{"id":{"eq":3}}`), "want": []string{"sample"}}).want(http.StatusOK)
		if !bytes.Contains(a.body, []byte(`"rows":[{"id":"3","email":"bob@in.test","name":"Bob"}],"masked":false`)) || a.tree["counts"] != nil {
			t.Errorf("clear sample %s", a.body)
		}
		a = w.call("POST", "/v1/audiences/preview", w.admin, map[string]any{"app": w.app.ID, "audience": "everyone", "want": []string{"sample", "explanation"}}).want(http.StatusOK)
		if bytes.Contains(a.body, []byte("ada@")) || a.at("sample", "masked") != true || !strings.Contains(a.text("explanation", "sql"), "tenant") {
			t.Errorf("for an operator: %s", a.body)
		}
		// An app is not told of the floor under its lenses.
		a = w.call("POST", "/v1/audiences/preview", both, map[string]any{"audience": "everyone", "want": []string{"explanation"}}).want(http.StatusOK)
		if bytes.Contains(a.body, []byte("tenant")) || a.text("explanation", "english") != "id, email, name of users, every row" {
			t.Errorf("for an app: %s", a.body)
		}
		if log := w.log.String(); strings.Contains(log, "in.test") {
			t.Error("an address is in the log")
		}
	})
}

func TestPreviewRefuses(t *testing.T) {
	w := sqlite(t)
	w.call("PUT", "/v1/audiences/all", w.send, anAudience(`{"everyone":true}`)).want(http.StatusOK)
	for name, tt := range map[string]struct {
		body any
		code string
		want []string
	}{
		"nothing":              {`{}`, "bad_input", []string{"audience required"}},
		"both":                 {map[string]any{"audience": "all", "definition": definition(norwegians)}, "bad_input", []string{"definition not_allowed"}},
		"a version of nothing": {map[string]any{"revision": 1, "definition": definition(norwegians)}, "bad_input", []string{"revision not_allowed"}},
		"no such version":      {map[string]any{"audience": "all", "revision": 2}, "audience_unknown", nil},
		"no such audience":     {map[string]any{"audience": "none"}, "audience_unknown", nil},
		"a want":               {map[string]any{"audience": "all", "want": []string{"rows"}}, "bad_input", []string{"want unknown"}},
		"wanting nothing":      {map[string]any{"audience": "all", "want": []string{}}, "bad_input", []string{"want empty"}},
		"params":               {map[string]any{"audience": "all", "params": []int{1}}, "bad_input", []string{"params type"}},
		"an unknown param":     {map[string]any{"audience": "all", "params": map[string]any{"p": 1}}, "invalid_audience", []string{"params.p lens"}},
		"a where of nothing":   {map[string]any{"definition": definition(`{}`)}, "invalid_audience", []string{"definition.lens.where lens"}},
	} {
		t.Run(name, func(*testing.T) {
			w.call("POST", "/v1/audiences/preview", w.read, tt.body).refused(tt.code, tt.want...)
		})
	}
}

// readLines are the lines of an answer in lines, each held against the document.
func (w *world) readLines(token string, body any) (lines []map[string]any, status int) {
	w.t.Helper()
	text, err := json.Marshal(body)
	must(w.t, err)
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.http.URL+"/v1/audiences/preview", bytes.NewReader(text))
	must(w.t, err)
	req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/x-ndjson"}, "Authorization": {"Bearer " + token}}
	resp, err := w.http.Client().Do(req)
	must(w.t, err)
	defer resp.Body.Close()
	in := bufio.NewScanner(resp.Body)
	for in.Scan() {
		checkAnswer(w.t, req, &answer{t: w.t, status: resp.StatusCode, header: resp.Header, body: in.Bytes(), tree: treeOf(w.t, in.Bytes())})
		lines = append(lines, treeOf(w.t, in.Bytes()))
	}
	must(w.t, in.Err())
	return lines, resp.StatusCode
}

func treeOf(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var tree map[string]any
	must(t, json.Unmarshal(text, &tree))
	return tree
}

func TestPreviewInLines(t *testing.T) {
	w := sqlite(t)
	lines, status := w.readLines(w.read, map[string]any{"definition": definition(norwegians)})
	if status != http.StatusOK || len(lines) < 2 {
		t.Fatalf("%d: %v", status, lines)
	}
	first, last := lines[0]["progress"].(map[string]any), lines[len(lines)-1]["result"].(map[string]any)
	if first["read"] != 0.0 || first["of"] != 3.0 || last["counts"].(map[string]any)["matched"] != 3.0 {
		t.Errorf("lines %v", lines)
	}
	// What goes wrong before the first line is a refusal like any other.
	lines, status = w.readLines(w.read, map[string]any{"definition": definition(`{}`)})
	if status != http.StatusBadRequest || lines[0]["code"] != "invalid_audience" {
		t.Errorf("%d: %v", status, lines)
	}
	// And after it, the last line.
	short := sqlite(t, func(c *api.Config) { c.Audiences = failsLater{c.Audiences} })
	lines, status = short.readLines(short.read, map[string]any{"definition": definition(norwegians)})
	problem, _ := lines[len(lines)-1]["problem"].(map[string]any)
	if status != http.StatusOK || problem["code"] != "count_timeout" || problem["status"] != 504.0 {
		t.Errorf("%d: %v", status, lines)
	}
	page, err := w.ledger.Audit(t.Context(), ledger.AuditFilter{Action: "audience.preview"}, ledger.Paging{Limit: 100})
	must(t, err)
	if len(page.Items) < 2 || time.Since(page.Items[0].At) > time.Hour {
		t.Errorf("audited %+v", page.Items)
	}
}

// failsLater counts, and then has no time left.
type failsLater struct{ api.Audiences }

func (f failsLater) Preview(ctx context.Context, a postledger.App, d postledger.AudienceDefinition, params map[string]any, want audience.Want, progress func(audience.Progress)) (audience.Preview, error) {
	if p, err := f.Audiences.Preview(ctx, a, d, params, want, progress); err != nil {
		return p, err
	}
	return audience.Preview{}, audience.ErrTooLong
}

// Text that is none, numbers that nobody can hold and parameters of another type are
// refusals that name a field, or match nothing: never a fault of ours, never more rows.
func TestPreviewOfHostileText(t *testing.T) {
	w := sqlite(t)
	const with = `{"want": ["counts", "sample"], %s"definition": {"source": "shop", "address": "email", "category": "activity", "lens":
		{"from": "users", "select": ["email"], "where": %s, "params": {"p": {"kind": "text"}, "n": {"kind": "bigint"}}}}}`
	for name, text := range map[string]string{
		"a byte that is none": "\"a\xff\"", "an overlong quote": "\"\xc0\xa7 OR 1=1\"", "a surrogate in UTF-8": "\"\xed\xa0\x80\"",
		"half a pair": `"\ud800"`, "halves the wrong way": `"\udc00\ud800"`, "half a pair before text": `"\ud83d OR 1=1"`,
		"U+0000": `"a\u0000' OR '1'='1"`, "a long text": `"` + strings.Repeat("x", 17<<10) + `"`, "an exponent": `1e999999999`,
		"many digits": strings.Repeat("9", 5000), "a small number": `0.` + strings.Repeat("0", 5000) + `1`, "true": `true`, "null": `null`,
		"an object": `{"eq": "x"}`, "a list": `["a"]`, "nothing": ``, "no JSON": `NaN`,
	} {
		for place, body := range map[string]string{
			"a value":            fmt.Sprintf(with, "", `{"email": {"eq": `+text+`}}`),
			"a list":             fmt.Sprintf(with, "", `{"email": {"in": ["x", `+text+`]}}`),
			"a number":           fmt.Sprintf(with, "", `{"id": {"gte": `+text+`}}`),
			"a parameter":        fmt.Sprintf(with, `"params": {"p": `+text+`}, `, `{"email": {"eq": {"param": "p"}}}`),
			"a number parameter": fmt.Sprintf(with, `"params": {"n": `+text+`}, `, `{"id": {"gte": {"param": "n"}}}`),
			"a where":            fmt.Sprintf(with, "", text),
			"params":             fmt.Sprintf(with, `"params": `+text+`, `, `{"email": {"eq": {"param": "p"}}}`),
			"the table":          strings.Replace(fmt.Sprintf(with, "", `{"everyone": true}`), `"from": "users"`, `"from": `+text, 1),
			"the address":        strings.Replace(fmt.Sprintf(with, "", `{"everyone": true}`), `"address": "email"`, `"address": `+text, 1),
		} {
			a := w.call("POST", "/v1/audiences/preview", w.read, body)
			if a.status == http.StatusBadRequest && (a.text("code") == "bad_input" || a.text("code") == "invalid_audience") {
				continue
			}
			t.Errorf("%s as %s: %d %.300s", name, place, a.status, a.body)
		}
	}
}
