package lens_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/postledger/postledger/lens"
)

// What is asked of a relation as a whole needs a row of it, and what is asked of every row
// needs one: a select that a lens takes.
func TestNeedsCanBeSelected(t *testing.T) {
	t.Parallel()
	for where, want := range map[string]string{
		`{"everyone": true}`:                       "id",
		`{"orders": {"some": {"everyone": true}}}`: "orders (id)",
		`{"all": [{"orders": {"some": {"everyone": true}}}, {"orders": {"some": {"total": {"gt": 1}}}}]}`:      "orders (total)",
		`{"any": [{"organization": {"isNot": {"any": []}}}, {"organization": {"is": {"name": {"eq": "x"}}}}]}`: "organization (name)",
		`{"organization": {"is": {"users": {"some": {"orders": {"some": {"everyone": true}}}}}}}`:              "organization (users (orders (id)))",
	} {
		q, err := checked(t, lensOf(where), nil)
		if err != nil {
			if strings.Contains(where, "isNot") {
				continue
			}
			t.Fatal(err)
		}
		l := lens.Where("users", lens.Of("id").Eq(1))
		l.Select = q.Needs()
		if _, err := l.Check(shop(t), lens.Scope{}); err != nil {
			t.Errorf("%s needs what is refused: %v", where, err)
		}
		if got := selected(l.Select); got != want {
			t.Errorf("%s needs %s, want %s", where, got, want)
		}
	}
}

func selected(items []lens.Item) string {
	var names []string
	for _, item := range items {
		if item.Relation != nil {
			item.Field = item.Relation.Name + " (" + selected(item.Relation.Select) + ")"
		}
		names = append(names, item.Field)
	}
	return strings.Join(names, ", ")
}

// One fault is told once, and null by its name.
func TestAWrongParameterIsToldOnce(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind, where string
		given       any
		want        string
	}{
		{"int", `{"age": {"gt": {"param": "p"}}}`, nil, "where.age.gt: parameter p is null, which is no value: isNull tests for it"},
		{"int", `{"age": {"gt": {"param": "p"}}}`, "x", "where.age.gt.param p: the field holds int: must be a whole number, not text"},
		{"int", `{"age": {"gt": {"param": "p"}}}`, []int{1}, "where.age.gt.param p: must be one value"},
		{"text", `{"email": {"eq": {"param": "p"}}}`, 5, "where.email.eq.param p: the field holds text: must be text, not a number"},
		{"text", `{"email": {"eq": {"param": "p"}}}`, []byte{0xff}, "where.email.eq.param p: the text is not UTF-8"},
		{"text", `{"email": {"eq": {"param": "p"}}}`, []byte("a@rcpt.example"), ""},
		{"text", `{"email": {"in": {"param": "p"}}}`, [][]byte{[]byte("a")}, ""},
	} {
		list := strconv.FormatBool(strings.Contains(test.where, `"in"`))
		plan, err := withParam(t, test.where, `"kind": "`+test.kind+`", "list": `+list).Check(shop(t), lens.Scope{})
		if err != nil {
			t.Fatal(err)
		}
		q, err := plan.Bind(lens.Bindings{Now: worldNow, Params: map[string]any{"p": test.given}})
		if test.want == "" && err != nil || test.want != "" && fmt.Sprint(err) != test.want {
			t.Errorf("%v: %v, want %s", test.given, err, test.want)
		}
		if b, isBytes := test.given.([]byte); isBytes && err == nil {
			if yes, err := q.Matches(lens.Row{"email": string(b)}); err != nil || !yes {
				t.Errorf("%s is another text as a parameter: %v, %v", b, yes, err)
			}
		}
	}
	_, err := withParam(t, `{"age": {"gt": {"param": "p"}}}`, `"kind": "int", "default": "x"`).Check(shop(t), lens.Scope{})
	if want := "params.p.default: the field holds int: must be a whole number, not text"; fmt.Sprint(err) != want {
		t.Errorf("a wrong default: %v, want %s", err, want)
	}
	if _, err := lens.Where("users", lens.Of("email").Eq([]byte("a"))).Selecting("id").Check(shop(t), lens.Scope{}); err == nil {
		t.Error("bytes are compared with text")
	}
}

func withParam(t *testing.T, where, param string) lens.Lens {
	t.Helper()
	l, err := lens.ParseJSON([]byte(`{"from": "users", "select": ["id"], "where": ` + where + `, "params": {"p": {` + param + `}}}`))
	if err != nil {
		t.Fatal(err)
	}
	return l
}
