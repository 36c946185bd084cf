package lens_test

import (
	"strings"
	"testing"

	"github.com/postledger/postledger/lens"
)

func TestNarrowOnlyRestricts(t *testing.T) {
	t.Parallel()
	base, err := lens.ParseJSON([]byte(`{"from": "users", "where": {"country": {"eq": "NO"}}, "zone": "UTC", "order": ["email"],
		"select": ["id", "email", "age", {"organization": ["name"]}, {"orders": {"select": ["total", "placed_at"], "where": {"total": {"gt": 5}}, "order": ["-placed_at"], "limit": 3}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	narrow := func(rest string) (lens.Lens, error) {
		sub, err := lens.ParseJSON([]byte(`{"from": "users", ` + rest + `}`))
		if err != nil {
			t.Fatalf("%s: %v", rest, err)
		}
		return lens.Narrow(base, sub)
	}
	got, err := narrow(`"where": {"any": [{"age": {"gt": 18}}, {"organization": {"is": {"name": {"eq": "Holt"}}}}]}, "order": ["-age"],
		"select": ["email", {"orders": {"select": ["total"], "limit": 2}}]`)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"from":"users","order":["-age"],"select":["email",{"orders":{"limit":2,"order":["-placed_at"],"select":["total"],"where":{"total":{"gt":5}}}}],` +
		`"where":{"all":[{"country":{"eq":"NO"}},{"any":[{"age":{"gt":18}},{"organization":{"is":{"name":{"eq":"Holt"}}}}]}]},"zone":"UTC"}`
	if text := marshal(t, got); text != want {
		t.Errorf("%s\nwant\n%s", text, want)
	}
	if _, err := got.Check(shop(t), lens.Scope{}); err != nil {
		t.Error(err)
	}
	everyone, err := narrow(`"where": {"everyone": true}, "select": ["email"]`)
	if err != nil || !strings.Contains(marshal(t, everyone), `{"country":{"eq":"NO"}}`) {
		t.Errorf("everyone of a narrowed lens: %v %s", err, marshal(t, everyone))
	}
	const all = `"where": {"everyone": true}, `
	for rest, want := range map[string]string{
		all + `"select": ["country"]`:                                                        `select[0]: the lens that is narrowed does not select "country"`,
		all + `"select": [{"organization": ["id"]}]`:                                         `does not select "id"`,
		all + `"select": [{"tags": ["id"]}]`:                                                 `does not select "tags"`,
		all + `"select": ["email"], "order": ["country"]`:                                    `order[0]: the lens that is narrowed does not select`,
		all + `"select": ["email"], "key": ["email"]`:                                        `key: must be that`,
		all + `"select": ["email"], "zone": "Europe/Oslo"`:                                   `zone: must be that`,
		`"where": {"country": {"eq": "SE"}}, "select": ["email"]`:                            `where.country: the lens that is narrowed does not select it`,
		`"where": {"not": {"any": [{"country": {"isNull": true}}]}}, "select": ["email"]`:    `where.not.any[0].country: the lens`,
		`"where": {"organization": {"is": {"id": {"eq": 1}}}}, "select": ["email"]`:          `where.organization.id: the lens`,
		`"where": {"orders": {"some": {"total": {"lt": 5}}}}, "select": ["email"]`:           `where.orders: the lens that is narrowed shows only some`,
		all + `"select": [{"orders": {"select": ["total"], "where": {"total": {"lt": 9}}}}]`: `select[0].orders.where: the lens that is narrowed limits`,
		all + `"select": [{"orders": {"select": ["total"], "order": ["total"]}}]`:            `select[0].orders.order: the lens that is narrowed limits`,
	} {
		if _, err := narrow(rest); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", rest, err, want)
		}
	}
	other, err := lens.ParseJSON([]byte(`{"from": "orders", "where": {"everyone": true}, "select": ["id"]}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lens.Narrow(base, other); err == nil || !strings.Contains(err.Error(), "from: must be users") {
		t.Errorf("another table: %v", err)
	}
	if _, err := lens.Narrow(base, lens.Lens{From: "users", Select: []lens.Item{{Field: "email"}}}); err == nil || !strings.Contains(err.Error(), "where: missing") {
		t.Errorf("no where: %v", err)
	}
}

// A parameter's value is not for who narrows the lens, and comparing with it would tell it.
func TestNarrowKeepsParametersOfTheBase(t *testing.T) {
	t.Parallel()
	base, err := lens.ParseJSON([]byte(`{"from": "users", "where": {"organization_id": {"eq": {"param": "org"}}}, "select": ["id", "email", "organization_id"],
		"params": {"org": {"kind": "bigint"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for where, want := range map[string]string{
		`{"id": {"eq": {"param": "org"}}}`:                      `where.id: parameter "org" is of the lens that is narrowed`,
		`{"not": {"id": {"in": [1, {"param": "org"}]}}}`:        `where.not.id: parameter "org"`,
		`{"all": [{"id": {"between": [{"param": "org"}, 9]}}]}`: `where.all[0].id: parameter "org"`,
		`{"id": {"gt": 5}}`:                                     "",
	} {
		sub, err := lens.ParseJSON([]byte(`{"from": "users", "where": ` + where + `, "select": ["email"]}`))
		if err != nil {
			t.Fatal(err)
		}
		_, err = lens.Narrow(base, sub)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", where, err, want)
		}
	}
}
