package lens_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/postledger/postledger/lens"
)

func TestOnlyNarrowsWhatIsRead(t *testing.T) {
	t.Parallel()
	l, err := lens.ParseJSON([]byte(`{"from": "users", "where": {"everyone": true}, "params": {"least": {"kind": "decimal"}},
		"select": ["email", "age", {"organization": ["id", "name"]}, {"orders": {"select": ["total"], "where": {"total": {"gte": {"param": "least"}}}}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := l.Check(shop(t), lens.Scope{})
	if err != nil {
		t.Fatal(err)
	}
	whole, err := plan.Bind(lens.Bindings{Params: map[string]any{"least": 5}, Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	row := lens.Row{"email": "a@in.test", "age": int64(7), "organization": lens.Row{"id": int64(1), "name": "Holt"}, "orders": []lens.Row{}}
	for want, paths := range map[string][]string{
		`{"email":"a@in.test"}`:                                       {"email"},
		`{"organization":{"name":"Holt"}}`:                            {"organization.name"},
		`{"organization":{"name":"Holt","id":1},"email":"a@in.test"}`: {"organization.name", "email", "organization.id", "email"},
	} {
		part, err := whole.Only(paths...)
		if err != nil {
			t.Fatal(err)
		}
		got, err := part.AppendJSON(nil, row)
		if err != nil || string(got) != want {
			t.Errorf("%v: %s %v, want %s", paths, got, err, want)
		}
		if properties := part.Schema()["properties"].(map[string]any); len(properties) == 4 {
			t.Errorf("%v: the schema has all: %v", paths, properties)
		}
	}
	if text, err := json.Marshal(whole.Schema()["required"]); err != nil || string(text) != `["email","age","organization","orders"]` {
		t.Errorf("the whole lens became %s %v", text, err)
	}
	for _, path := range []string{"", "id", "organization", "organization.nothing", "email.x", "country"} {
		if _, err := whole.Only(path); err == nil {
			t.Errorf("%q: no error", path)
		}
	}
	if _, err := whole.Only(); err == nil {
		t.Error("nothing at all: no error")
	}
}
