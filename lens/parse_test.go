package lens_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postledger/postledger/lens"
	"github.com/postledger/postledger/lens/catalogue"
)

const wholeLens = `{"from": "users", "zone": "Europe/Oslo", "order": ["-seen_at", "email"], "key": ["id"],
	"where": {"all": [{"country": {"eq": "NO"}}, {"any": [{"age": {"between": [18, 30]}}, {"age": {"isNull": true}}]},
		{"not": {"email": {"endsWith": "@x.test", "ignoreCase": true}}}, {"orders": {"some": {"total": {"gte": {"param": "least"}}}}},
		{"prefs": {"path": ["mail", 0], "in": ["a", "b"]}}, {"seen_at": {"gte": "now-30d"}}, {"plan": {"in": {"param": "plans"}}}]},
	"select": ["email", {"organization": {"select": ["name"]}}, {"orders": {"select": ["total"], "where": {"total": {"gt": 0}}, "order": ["-placed_at"], "limit": 3}}],
	"params": {"least": {"kind": "decimal", "default": "100"}, "plans": {"kind": "text", "list": true}}}`

const wholeYAML = `
from: users
zone: Europe/Oslo
order: [-seen_at, email]
key: [id]
where:
  all:
    - country: {eq: NO}
    - any:
        - age: {between: [18, 30]}
        - age: {isNull: true}
    - not: {email: {endsWith: "@x.test", ignoreCase: true}}
    - orders: {some: {total: {gte: {param: least}}}}
    - prefs: {path: [mail, 0], in: [a, b]}
    - seen_at: {gte: now-30d}
    - plan: {in: {param: plans}}
select:
  - email
  - organization: [name]
  - orders: {select: [total], where: {total: {gt: 0}}, order: [-placed_at], limit: 3}
params:
  least: {kind: decimal, default: "100"}
  plans: {kind: text, list: true}
`

func marshal(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestFormsOfOneLens(t *testing.T) {
	t.Parallel()
	fromJSON, err := lens.ParseJSON([]byte(wholeLens))
	if err != nil {
		t.Fatal(err)
	}
	fromYAML, err := lens.ParseYAML([]byte(wholeYAML))
	if err != nil {
		t.Fatal(err)
	}
	least := lens.Operand{One: lens.Value{Literal: "100"}}
	orders := lens.Relation("orders", "total")
	orders.Where, orders.Order, orders.Limit = lens.Of("total").Gt(0), []lens.Order{lens.Desc("placed_at")}, 3
	built := lens.Where("users", lens.AllOf(
		lens.Of("country").Eq("NO"), lens.AnyOf(lens.Of("age").Between(18, 30), lens.Of("age").IsNull(true)),
		lens.NotOf(lens.Of("email").IgnoreCase().EndsWith("@x.test")), lens.Of("orders").Some(lens.Of("total").Gte(lens.Parameter("least"))),
		lens.Of("prefs").At("mail", 0).In([]string{"a", "b"}), lens.Of("seen_at").Gte("now-30d"), lens.Of("plan").In(lens.Parameter("plans")),
	)).Selecting("email", lens.Relation("organization", "name"), orders).Sorted(lens.Desc("seen_at"), lens.Asc("email")).
		With("least", lens.Param{Kind: catalogue.Decimal, Default: &least}).With("plans", lens.Param{Kind: catalogue.Text, List: true})
	built.Key, built.Zone = []string{"id"}, "Europe/Oslo"
	want := marshal(t, fromJSON)
	for name, other := range map[string]lens.Lens{"YAML": fromYAML, "Go": built} {
		if got := marshal(t, other); got != want {
			t.Errorf("%s:\n%s\nJSON:\n%s", name, got, want)
		}
	}
	again, err := lens.ParseJSON([]byte(want))
	if err != nil || marshal(t, again) != want {
		t.Errorf("read again: %v\n%s", err, marshal(t, again))
	}
}

func TestYAMLFailsClosed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"from: &x users":                         "anchors and aliases",
		"from: users\nwhere: *x":                 "not YAML",
		"from: !!str users":                      "tags are not allowed",
		"from: users\nfrom: orders":              "given twice",
		"<<: {from: users}":                      "plain text",
		"from: users\n---\nfrom: users":          "something follows",
		"":                                       "empty",
		"# nothing":                              "empty",
		"from: users\nwhere: {age: {eq: 0x10}}":  "where.age.eq: the number 0x10 must be written as in JSON",
		"from: users\nwhere: {age: {eq: 1_000}}": "where.age.eq: the number 1_000",
		"from: users\nwhere: {age: {eq: .nan}}":  "where.age.eq: the number .nan",
		"from: users\nwhere: {age: {eq: ~}}":     "where.age.eq: must be a value, not null",
		"from: users\nwhere: {age: {eq: }}":      "where.age.eq: must be a value, not null",
		"from: users\nwhere:":                    "where: must be an object, not null",
		"from: users\nwhere: {? [a] : b}":        "a key must be plain text",
	} {
		if _, err := lens.ParseYAML([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ where, want string }{
		"depth":      {strings.Repeat(`{"not": `, 40) + `{"age": {"eq": 1}}` + strings.Repeat(`}`, 40), "nested more than 32 deep"},
		"text depth": {strings.Repeat(`{"not": `, 9000) + `1` + strings.Repeat(`}`, 9000), "nested more than"},
		"relations":  {strings.Repeat(`{"orders": {"some": {"user": {"is": `, 3) + `{"age": {"eq": 1}}` + strings.Repeat(`}}}}`, 3), "relations are nested more than 4 deep"},
		"conditions": {`{"any": [` + strings.Repeat(`{"age": {"eq": 1}},`, 500) + `{"age": {"eq": 1}}]}`, "at most 500 conditions"},
		"list":       {`{"age": {"in": [` + strings.Repeat(`1,`, 1000) + `1]}}`, "at most 1000 are allowed"},
		"values":     {`{"any": [` + strings.Repeat(`{"age": {"in": [`+strings.Repeat(`1,`, 999)+`1]}},`, 11) + `{"age": {"eq": 1}}]}`, "at most 10000 values"},
		"text":       {`{"email": {"eq": "` + strings.Repeat("x", 17<<10) + `"}}`, "text has at most"},
		"bytes":      {`{"email": {"eq": "` + strings.Repeat("x", 300<<10) + `"}}`, "a lens has at most"},
		"digits":     {`{"balance": {"eq": ` + strings.Repeat("9", 36) + `}}`, "at most 35 digits"},
	} {
		if _, err := checked(t, lensOf(test.where), nil); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
}

var identifier = regexp.MustCompile("\"((?:[^\"]|\"\")*)\"|`((?:[^`]|``)*)`|'((?:[^']|'')*)'")

// whole are the only constants in quotes that the compilers write.
var whole = regexp.MustCompile(`^([a-zA-Z]|0001.*|9999.*|\[0-9\].*|%[A-Z].*|00:00:00|24:00:00|string|number|boolean|null|true|\{\}|!|text|integer|real|blob|false|C|STRING|BOOLEAN|NULL|ARRAY|INTEGER|UNSIGNED INTEGER|DOUBLE|DECIMAL)$`)

// patterns are those by which JSON that PostgreSQL cannot look into is known.
var patterns = map[string]bool{
	`\\u|[eE][-+]?[0-9]{5}`: true, `\\\\`: true, ` `: true, `\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}`: true,
	`\\u(0000|[dD][89a-fA-F])`: true, `\u0022(\\.|[^\u0022\\])*\u0022`: true, `[eE][-+]?[0-9]{5}`: true,
}

// FuzzParse feeds text to both parsers. What they accept is written and read
// again as the same lens; what passes the check becomes SQL whose quoted parts
// are names of the catalogue or words of the compiler.
func FuzzParse(f *testing.F) {
	f.Add(wholeLens)
	f.Add(wholeYAML)
	for where := range map[string]bool{`{"tags": {"hasSome": ["a"]}}`: true, `{"prefs": {"path": ["a", 1], "lt": 1e3}}`: true, `{"seen_at": {"gt": "now-1mo/d"}}`: true, `{"avatar": {"eq": "AA=="}}`: true} {
		f.Add(lensOf(where))
	}
	names := map[string]bool{}
	for _, table := range shopSchema(catalogue.PostgreSQL).Tables {
		names[table.Name] = true
		for _, c := range table.Columns {
			names[c.Name] = true
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, parse := range []func([]byte) (lens.Lens, error){lens.ParseJSON, lens.ParseYAML} {
			l, err := parse([]byte(text))
			if err != nil {
				continue
			}
			again, err := lens.ParseJSON([]byte(marshal(t, l)))
			if err != nil || marshal(t, again) != marshal(t, l) {
				t.Fatalf("read again: %v", err)
			}
			for _, dialect := range []catalogue.Dialect{catalogue.PostgreSQL, catalogue.MySQL, catalogue.SQLite} {
				plan, err := l.Check(shopOf(t, dialect), lens.Scope{})
				if err != nil {
					continue
				}
				q, err := plan.Bind(lens.Bindings{Now: time.Unix(1_800_000_000, 0)})
				if err != nil || dialect != catalogue.PostgreSQL && strings.Contains(text, "tags") {
					continue // only PostgreSQL has arrays
				}
				statement, _ := lens.CountSQL(q)
				for _, part := range identifier.FindAllStringSubmatch(statement, -1) {
					if word := part[1] + part[2] + part[3]; !names[word] && !whole.MatchString(word) && !patterns[word] {
						t.Fatalf("%q in %s", word, statement)
					}
				}
			}
		}
	})
}

func TestRelativeTimes(t *testing.T) {
	t.Parallel()
	arg := func(field, zone, value string, now time.Time) string {
		l := lens.Where("users", lens.Of(field).Gte(value)).Selecting("id")
		l.Zone = zone
		plan, err := l.Check(shop(t), lens.Scope{})
		if err != nil {
			return err.Error()
		}
		q, err := plan.Bind(lens.Bindings{Now: now})
		if err != nil {
			return err.Error()
		}
		_, args := lens.CountSQL(q)
		return args[0].(string)
	}
	at := func(text string) time.Time {
		parsed, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	const oslo = "Europe/Oslo"
	for _, test := range []struct{ field, zone, value, now, want string }{
		{"seen_at", "", "now", "2026-11-30T10:00:00Z", "2026-11-30 10:00:00Z"},
		{"seen_at", "", "now-2h+30m", "2026-11-30T10:00:00Z", "2026-11-30 08:30:00Z"},
		{"seen_at", "", "now-1d", "2026-11-30T10:00:00Z", "where.seen_at.gte: a relative time in days or longer, or for a field without a zone, needs the lens's zone"},
		{"local_at", "", "now", "2026-11-30T10:00:00Z", "where.local_at.gte: a relative time in days or longer, or for a field without a zone, needs the lens's zone"},
		// Days have 23 and 25 hours when clocks change: 29 March and 25 October 2026.
		{"seen_at", oslo, "now-1d", "2026-03-29T10:00:00Z", "2026-03-28 11:00:00Z"},
		{"seen_at", oslo, "now-24h", "2026-03-29T10:00:00Z", "2026-03-28 10:00:00Z"},
		{"seen_at", oslo, "now-1d", "2026-10-25T11:00:00Z", "2026-10-24 10:00:00Z"},
		{"seen_at", oslo, "now/d", "2026-10-25T22:30:00Z", "2026-10-24 22:00:00Z"},
		{"seen_at", oslo, "now/d", "2026-10-25T23:30:00Z", "2026-10-25 23:00:00Z"},
		// 02:30 is skipped on 29 March: the moment of the change; twice on 25 October: the first.
		{"seen_at", oslo, "now-1d", "2026-03-30T00:30:00Z", "2026-03-29 01:00:00Z"},
		{"seen_at", oslo, "2026-03-29T02:30:00", "2026-03-30T00:30:00Z", "2026-03-29 01:00:00Z"},
		{"seen_at", oslo, "2026-10-25T02:30:00", "2026-03-30T00:30:00Z", "2026-10-25 00:30:00Z"},
		{"seen_at", "", "2026-10-25T02:30:00", "2026-03-30T00:30:00Z", "where.seen_at.gte: the time needs an offset such as Z or +02:00, or the lens a zone"},
		// The last day of a shorter month.
		{"seen_at", "UTC", "now-1mo", "2026-03-31T12:00:00Z", "2026-02-28 12:00:00Z"},
		{"seen_at", "UTC", "now-1y", "2024-02-29T12:00:00Z", "2023-02-28 12:00:00Z"},
		{"seen_at", "UTC", "now/mo", "2026-03-31T12:00:00Z", "2026-03-01 00:00:00Z"},
		{"seen_at", "UTC", "now/w", "2026-11-29T12:00:00Z", "2026-11-23 00:00:00Z"},
		{"seen_at", "UTC", "now-1y/y", "2026-11-29T12:00:00Z", "2025-01-01 00:00:00Z"},
		// A date and a wall clock are those of the zone.
		{"born", oslo, "now", "2026-11-30T23:30:00Z", "2026-12-01"},
		{"born", "America/New_York", "now-18y", "2026-11-30T02:30:00Z", "2008-11-29"},
		{"local_at", oslo, "now", "2026-11-30T23:30:00Z", "2026-12-01 00:30:00"},
		{"seen_at", "UTC", "now-9999y", "2026-11-30T23:30:00Z", "where.seen_at.gte: years are from 1 to 9999"},
	} {
		if got := arg(test.field, test.zone, test.value, at(test.now)); got != test.want {
			t.Errorf("%s %s in %q at %s: %s, want %s", test.field, test.value, test.zone, test.now, got, test.want)
		}
	}
}

func TestMatchesNeedsItsFields(t *testing.T) {
	t.Parallel()
	q, err := checked(t, lensOf(`{"any": [{"age": {"gt": 1}}, {"orders": {"some": {"total": {"gt": 1}}}}, {"organization": {"is": {"name": {"eq": "x"}}}}]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, item := range q.Needs() {
		if item.Relation != nil {
			item.Field = item.Relation.Name + "." + item.Relation.Select[0].Field
		}
		names = append(names, item.Field)
	}
	if want := []string{"age", "orders.total", "organization.name"}; !slices.Equal(names, want) {
		t.Errorf("needs %v, want %v", names, want)
	}
	full := lens.Row{"age": int64(5), "orders": []lens.Row{{"total": "0.5"}}, "organization": nil}
	if yes, err := q.Matches(full); err != nil || !yes {
		t.Errorf("%v, %v", yes, err)
	}
	for name, row := range map[string]lens.Row{
		"no field":            {"orders": []lens.Row{}, "organization": nil},
		"no relation":         {"age": int64(5), "organization": nil},
		"no field of related": {"age": int64(5), "orders": []lens.Row{{}}, "organization": nil},
		"another type":        {"age": "x", "orders": []lens.Row{}, "organization": nil},
		"one, not many":       {"age": int64(5), "orders": lens.Row{}, "organization": nil},
	} {
		if yes, err := q.Matches(row); err == nil || yes {
			t.Errorf("%s: %v, %v", name, yes, err)
		}
	}
}
