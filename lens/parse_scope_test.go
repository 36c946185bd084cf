package lens_test

import (
	"strings"
	"testing"

	"github.com/postledger/postledger/lens"
)

func TestScopesAreReadStrictly(t *testing.T) {
	t.Parallel()
	s, err := lens.ParseScope([]byte("zone: Europe/Oslo\nwhere:\n  users: {country: {eq: \"NO\"}}\n  orders: {any: []}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Check(shop(t)); err != nil {
		t.Error(err)
	}
	if s.Zone != "Europe/Oslo" || len(s.Where) != 2 {
		t.Errorf("%+v", s)
	}
	for text, want := range map[string]string{
		``:                                 "the text is empty",
		`{}`:                               "where: missing",
		`{where: {}}`:                      "where: must be an object with a condition for each table",
		`{where: null}`:                    "where: must be an object",
		`{where: {users: {}}}`:             "where.users: an empty condition is refused",
		`{where: {users: {all: []}}}`:      "where.users.all: an empty list",
		`{where: {users: {country: NO}}}`:  "where.users.country: ",
		`{where: {"us ers": {}}}`:          "where.us ers: must be a name",
		`{wher: {users: {id: {eq: 1}}}}`:   "wher: unknown; a scope has",
		`{where: {a: {x: {eq: 1}}, a: 1}}`: "where.a: given twice",
		`[]`:                               "a scope is an object",
	} {
		if _, err := lens.ParseScope([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	for text, want := range map[string]string{
		`{where: {nobody: {id: {eq: 1}}}}`:                "scope.nobody: the catalogue has no such table",
		`{where: {users: {contry: {eq: "NO"}}}}`:          `scope.users.contry: table users has no field`,
		`{where: {users: {country: {eq: 7}}}}`:            "scope.users.country.eq: the field holds text",
		`{where: {users: {country: {eq: {param: "p"}}}}}`: "scope.users.country.eq: ",
		`{where: {users: {id: {eq: 1}}}, zone: Oslo}`:     "scope.zone: ",
	} {
		s, err := lens.ParseScope([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if err := s.Check(shop(t)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// What two scopes join to is as if each stood alone: a row must pass both.
func TestScopesJoin(t *testing.T) {
	t.Parallel()
	parse := func(text string) lens.Scope {
		t.Helper()
		s, err := lens.ParseScope([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	both, err := parse(`{where: {users: {country: {eq: "NO"}}}, zone: UTC}`).And(parse(`{where: {users: {age: {gte: 18}}, orders: {any: []}}}`))
	if err != nil {
		t.Fatal(err)
	}
	all, ok := both.Where["users"].(lens.All)
	if !ok || len(all.Conditions) != 2 || both.Zone != "UTC" {
		t.Errorf("users: %#v, zone %q", both.Where["users"], both.Zone)
	}
	if _, closed := both.Where["orders"].(lens.Any); !closed {
		t.Errorf("orders: %#v", both.Where["orders"])
	}
	if err := both.Check(shop(t)); err != nil {
		t.Error(err)
	}
	if _, err := parse(`{where: {users: {id: {eq: 1}}}, zone: UTC}`).And(parse(`{where: {users: {id: {eq: 1}}}, zone: Europe/Oslo}`)); err == nil {
		t.Error("two zones were joined")
	}
	first := parse(`{where: {users: {id: {eq: 1}}}}`)
	if _, err := first.And(parse(`{where: {users: {id: {eq: 2}}}}`)); err != nil {
		t.Error(err)
	}
	if _, changed := first.Where["users"].(lens.All); changed {
		t.Error("joining changed the scope it was asked of")
	}
	none, err := (lens.Scope{}).And(lens.Scope{})
	if err != nil || len(none.Where) != 0 {
		t.Errorf("%+v %v", none, err)
	}
}
