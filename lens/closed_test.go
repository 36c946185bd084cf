package lens_test

import (
	"strings"
	"testing"
	"time"

	"github.com/postledger/postledger/lens"
	"github.com/postledger/postledger/lens/catalogue"
)

func lensOf(where string) string {
	return `{"from": "users", "where": ` + where + `, "select": ["email"], "zone": "Europe/Oslo"}`
}

// checked parses, checks and binds; it gives the first step's error.
func checked(t *testing.T, text string, params map[string]any) (*lens.Query, error) {
	t.Helper()
	l, err := lens.ParseJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	plan, err := l.Check(shop(t), lens.Scope{})
	if err != nil {
		return nil, err
	}
	return plan.Bind(lens.Bindings{Params: params, Now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)})
}

// Invariant 11 and reported case B56: nobody is mailed because a filter was
// empty, null, misspelt or failed.
func TestFilterFailsClosed(t *testing.T) {
	t.Parallel()
	for where, want := range map[string]string{
		`{}`:                                    "where: an empty condition",
		`null`:                                  "where: must be an object, not null",
		`[]`:                                    "where: must be an object, not a list",
		`true`:                                  "where: must be an object",
		`"all"`:                                 "where: must be an object",
		`{"all": []}`:                           "where.all: an empty list",
		`{"all": {}}`:                           "where.all: must be a list",
		`{"all": [{}]}`:                         "where.all[0]: an empty condition",
		`{"any": [{"age": {"gt": 1}}, {}]}`:     "where.any[1]: an empty condition",
		`{"any": null}`:                         "where.any: must be a list",
		`{"not": {}}`:                           "where.not: an empty condition",
		`{"not": null}`:                         "where.not: must be an object",
		`{"everyone": false}`:                   "where.everyone: must be true",
		`{"everyone": "true"}`:                  "where.everyone: must be true",
		`{"age": {}}`:                           "where.age: has no operator",
		`{"age": null}`:                         "where.age: must be an object",
		`{"age": 3}`:                            "where.age: must be an object",
		`{"age": {"eq": null}}`:                 "where.age.eq: must be a value, not null; isNull",
		`{"age": {"eq": {}}}`:                   "where.age.eq: must be a value or",
		`{"age": {"eq": []}}`:                   "where.age.eq: takes one value",
		`{"age": {"in": 3}}`:                    "where.age.in: takes a list",
		`{"age": {"in": [null]}}`:               "where.age.in[0]: must be a value",
		`{"age": {"in": null}}`:                 "where.age.in: must be a value",
		`{"age": {"between": [1]}}`:             "where.age.between: takes a list of two",
		`{"age": {"between": [2, 1]}}`:          "where.age.between: the first value is greater",
		`{"age": {"isNull": null}}`:             "where.age.isNull: must be a value",
		`{"age": {"isNull": 1}}`:                "where.age.isNull: takes true or false",
		`{"agee": {"eq": 1}}`:                   `where.agee: table users has no field "agee"`,
		`{"age": {"equals": 1}}`:                "where.age.equals: unknown operator",
		`{"Age": {"eq": 1}}`:                    "where.Age: table users has no field",
		`{"age": {"eq": "1"}}`:                  "where.age.eq: the field holds int: must be a whole number, not text",
		`{"age": {"eq": 1.5}}`:                  "where.age.eq: 1.5 is no whole number",
		`{"age": {"eq": true}}`:                 "where.age.eq: the field holds int",
		`{"age": {"gt": 1e3}}`:                  "where.age.gt: must be a plain number",
		`{"age": {"contains": "1"}}`:            "where.age.contains: does not apply to int",
		`{"email": {"eq": 1}}`:                  "where.email.eq: the field holds text",
		`{"email": {"contains": ""}}`:           "where.email.contains: empty text would match",
		`{"email": {"gte": ""}}`:                "where.email.gte: empty text would match",
		`{"not": {"email": {"lt": ""}}}`:        "where.not.email.lt: no text is less",
		`{"prefs": {"path": ["a"], "gte": ""}}`: "where.prefs.gte: empty text would match",
		`{"id": {"isNull": false}}`:             `where: holds for every row; that is {"everyone": true}`,
		`{"not": {"id": {"isNull": true}}}`:     "where.not: the negation of what matches nothing",
		`{"all": [{"id": {"isNull": false}}, {"everyone": true}]}`:                     `where: holds for every row; that is {"everyone": true}`,
		`{"any": [{"age": {"gt": 1}}, {"everyone": true}]}`:                            "where.any[1]: holds for every row, whatever stands beside it",
		`{"any": [{"id": {"isNull": false}}, {"age": {"gt": 1}}]}`:                     "where.any[0]: holds for every row, whatever stands beside it",
		`{"orders": {"every": {"id": {"isNull": false}}}}`:                             "where.orders.every: every row holds for everyone",
		`{"orders": {"none": {"any": [{"id": {"isNull": true}}]}}}`:                    "where.orders.none: the negation of what matches nothing",
		`{"email": {"eq": "a\u0000b"}}`:                                                "where.email.eq: text cannot contain U+0000",
		`{"email": {"ignoreCase": true}}`:                                              "where.email: has no operator",
		`{"age": {"eq": 1, "ignoreCase": true}}`:                                       "where.age.eq: ignoreCase applies to",
		`{"plan": {"eq": "gold"}}`:                                                     `where.plan.eq: "gold" is not one of free, pro`,
		`{"plan": {"lt": "pro"}}`:                                                      "where.plan.lt: does not apply to enum",
		`{"password": {"eq": "x"}}`:                                                    "where.password: the field is hidden",
		`{"password": {"isNull": true}}`:                                               "where.password: the field is hidden",
		`{"place": {"isNull": true}}`:                                                  "where.place: fields of type unsupported cannot be read",
		`{"prefs": {"eq": "x"}}`:                                                       "where.prefs.eq: a JSON field is compared at a path",
		`{"prefs": {"path": [], "eq": "x"}}`:                                           "where.prefs.path: an empty list",
		`{"prefs": {"path": ["a\"b"], "eq": "x"}}`:                                     "where.prefs.path[0]: a key has letters",
		`{"prefs": {"path": ["a"], "in": ["x", 1]}}`:                                   "where.prefs.in: the values must be of one type",
		`{"prefs": {"path": ["a"], "lt": true}}`:                                       "where.prefs.lt: true and false are not ordered",
		`{"email": {"path": ["a"], "eq": "x"}}`:                                        "where.email.path: the field holds text, not JSON",
		`{"age": {"notIn": []}}`:                                                       "where.age.notIn: an empty list would match every row",
		`{"not": {"age": {"in": []}}}`:                                                 "where.not: the negation of what matches nothing",
		`{"not": {"any": []}}`:                                                         "where.not: the negation of what matches nothing",
		`{"not": {"not": {"everyone": true}}}`:                                         "where.not: the negation of what matches nothing",
		`{"orders": {"none": {"any": []}}}`:                                            "where.orders.none: the negation of what matches nothing",
		`{"orders": {"every": {"everyone": true}}}`:                                    "where.orders.every: every row holds for everyone",
		`{"orders": {"some": {}}}`:                                                     "where.orders.some: an empty condition",
		`{"orders": {"some": null}}`:                                                   "where.orders.some: must be an object",
		`{"orders": {"is": {"everyone": true}}}`:                                       "where.orders.is: the relation leads to many rows",
		`{"organization": {"some": {"everyone": true}}}`:                               "where.organization.some: the relation leads to one row",
		`{"orders": {"eq": 1}}`:                                                        "where.orders: is a relation, not a field",
		`{"age": {"some": {"everyone": true}}}`:                                        "where.age: is a field, not a relation",
		`{"all": [{"everyone": true}, {"orders": {"some": {"total": {"gte": "x"}}}}]}`: "where.all[1].orders.some.total.gte: must be a plain number",
		`{"tags": {"hasEvery": []}}`:                                                   "where.tags.hasEvery: an empty list would match",
		`{"tags": {"eq": "x"}}`:                                                        "where.tags.eq: does not apply to array",
		`{"ref": {"eq": "x"}}`:                                                         "where.ref.eq: the field holds uuid: must be a uuid",
		`{"born": {"eq": "2026-02-30"}}`:                                               "where.born.eq: the field holds date",
		`{"seen_at": {"gt": "yesterday"}}`:                                             "where.seen_at.gt: must be a time",
		`{"seen_at": {"gt": "now-30"}}`:                                                "where.seen_at.gt: a relative time is now",
		`{"seen_at": {"gt": "now-1d; DROP TABLE users"}}`:                              "where.seen_at.gt: a relative time is now",
		`{"local_at": {"gt": "2026-01-01T00:00:00Z"}}`:                                 "where.local_at.gt: the field holds a wall clock's time",
		`{"age": {"eq": {"param": "n"}}}`:                                              `where.age.eq: parameter "n" is not declared`,
		`{"age": {"eq": {"param": "n", "x": 1}}}`:                                      "where.age.eq: must be a value or",
		`{"age": {"eq": 1}, "age": {"eq": 2}}`:                                         "where.age: given twice",
		`{"users; DROP TABLE users": {"eq": 1}}`:                                       "is not a name",
	} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			_, err := checked(t, lensOf(where), nil)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v\nwant  %s", err, want)
			}
		})
	}
}

func TestLensFailsClosed(t *testing.T) {
	t.Parallel()
	const where = `"where": {"everyone": true}`
	for text, want := range map[string]string{
		`{"from": "users", "select": ["email"]}`:                                                       "where: missing",
		`{"from": "users", ` + where + `}`:                                                             "select: missing",
		`{` + where + `, "select": ["email"]}`:                                                         "from: missing",
		`{"from": "users", ` + where + `, "select": []}`:                                               "select: an empty list",
		`{"from": "user", ` + where + `, "select": ["email"]}`:                                         `from: the catalogue has no table "user"`,
		`{"from": "users", ` + where + `, "select": ["mail"]}`:                                         `select[0]: table users has no field "mail"`,
		`{"from": "users", ` + where + `, "select": ["*"]}`:                                            "select[0]: must be a name",
		`{"from": "users", ` + where + `, "select": ["password"]}`:                                     "select[0]: the field is hidden",
		`{"from": "users", ` + where + `, "select": ["email", "email"]}`:                               "select[1]: given twice",
		`{"from": "users", ` + where + `, "select": ["orders"]}`:                                       "select[0]: is a relation",
		`{"from": "users", ` + where + `, "select": [{"orders": {"select": ["total"], "where": {}}}]}`: "select[0].orders.where: an empty condition",
		`{"from": "users", ` + where + `, "select": [{"orders": {"select": ["total"], "limit": 0}}]}`:  "select[0].orders.limit: must be a number",
		`{"from": "users", ` + where + `, "select": [{"orders": ["totl"]}]}`:                           "select[0].orders.select[0]: table orders has no field",
		`{"from": "users", ` + where + `, "select": ["email"], "order": ["prefs"]}`:                    "order[0]: rows cannot be sorted by json",
		`{"from": "users", ` + where + `, "select": ["email"], "key": ["email"]}`:                      "key: these fields are not known to be unique",
		`{"from": "users", ` + where + `, "select": ["email"], "limit": 5}`:                            "limit: unknown",
		`{"from": "users", ` + where + `, "select": ["email"], "zone": "Local"}`:                       "zone: must be a zone's name",
		`{"from": "users", ` + where + `, "select": ["email"], "zone": "Mars/X"}`:                      "zone: \"Mars/X\" is no time zone",
		`{"from": "users", ` + where + `, "select": ["email"], "params": {"n": {"kind": "int"}}}`:      "params.n: is declared and never used",
		`{"from": "users", ` + where + `, "select": ["email"], "params": {"n": {"kind": "json"}}}`:     "params.n.kind: \"json\" is not a kind",
		`{"from": "users", ` + where + `, "select": ["email"]} {}`:                                     "something follows",
		`{"from": "users", ` + where + `, "select": ["email"], "from": "orders"}`:                      "from: given twice",
		"{\"from\": \"users\xff\"}":                                                                    "not UTF-8",
		``:                                                                                             "not JSON",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			_, err := checked(t, text, nil)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v\nwant  %s", err, want)
			}
		})
	}
}

func TestParametersFailClosed(t *testing.T) {
	t.Parallel()
	const text = `{"from": "users", "select": ["email"], "zone": "UTC",
		"where": {"all": [{"age": {"gt": {"param": "age"}}}, {"id": {"in": {"param": "ids"}}}, {"seen_at": {"gt": {"param": "since"}}}]},
		"params": {"age": {"kind": "int"}, "ids": {"kind": "bigint", "list": true}, "since": {"kind": "timestamptz", "default": "now-30d"}}}`
	good := func(change func(map[string]any)) map[string]any {
		params := map[string]any{"age": 18, "ids": []int64{1, 2}}
		change(params)
		return params
	}
	if _, err := checked(t, text, good(func(map[string]any) {})); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		change func(map[string]any)
		want   string
	}{
		"missing":       {func(p map[string]any) { delete(p, "age") }, "where.all[0].age.gt: parameter age is missing"},
		"nil":           {func(p map[string]any) { p["age"] = nil }, "parameter age is null, which is no value"},
		"other type":    {func(p map[string]any) { p["age"] = "18" }, "must be a whole number, not text"},
		"a fraction":    {func(p map[string]any) { p["age"] = 1.5 }, "no whole number"},
		"a list":        {func(p map[string]any) { p["age"] = []int{1} }, "must be one value"},
		"no list":       {func(p map[string]any) { p["ids"] = 1 }, "must be a list"},
		"nil in a list": {func(p map[string]any) { p["ids"] = []any{1, nil} }, "parameter ids [1]: is null, which is no value"},
		"misspelt":      {func(p map[string]any) { p["sinse"] = "2026-01-01T00:00:00Z" }, "params.sinse: no such parameter"},
		"relative":      {func(p map[string]any) { p["since"] = "now-9y" }, "must be a time, not one relative to now"},
		"a struct":      {func(p map[string]any) { p["age"] = struct{}{} }, "cannot be compared"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := checked(t, text, good(test.change))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v\nwant  %s", err, test.want)
			}
		})
	}
	// One value is asked for, and a list has others that would not count.
	for op, field := range map[string]string{
		"eq": "id", "ne": "id", "lt": "id", "lte": "id", "gt": "id", "gte": "id", "contains": "email", "startsWith": "email", "endsWith": "email",
	} {
		kind := map[string]string{"id": "bigint", "email": "text"}[field]
		given := map[string]any{"id": []int{1, 2}, "email": []string{"a", "b"}}[field]
		listed := `{"from": "users", "select": ["email"], "where": {"` + field + `": {"` + op + `": {"param": "v"}}},
			"params": {"v": {"kind": "` + kind + `", "list": true}}}`
		for _, params := range []map[string]any{nil, {"v": given}} {
			if _, err := checked(t, listed, params); err == nil || !strings.Contains(err.Error(), "where."+field+"."+op+": parameter v is a list") {
				t.Errorf("%s of a list: %v", op, err)
			}
		}
	}
	// An empty list is nobody, and so its negation would be everyone.
	const negated = `{"from": "users", "select": ["email"], "where": {"not": {"id": {"in": {"param": "ids"}}}},
		"params": {"ids": {"kind": "bigint", "list": true}}}`
	if _, err := checked(t, negated, map[string]any{"ids": []int{}}); err == nil || !strings.Contains(err.Error(), "where.not: the negation") {
		t.Errorf("the negation of an empty list: %v", err)
	}
}

func TestCheckNeedsNoParameters(t *testing.T) {
	t.Parallel()
	l := lens.Where("users", lens.Of("age").Gt(lens.Parameter("n")), lens.Of("id").NotIn(lens.Parameter("ids"))).
		Selecting("email", lens.Relation("organization", "name")).
		With("n", lens.Param{Kind: catalogue.Int}).With("ids", lens.Param{Kind: catalogue.BigInt, List: true})
	if _, err := l.Check(shop(t), lens.Scope{}); err != nil {
		t.Error(err)
	}
}

// What holds for every row may stand beside what does not, and within a relation.
func TestAHarmlessConditionIsNoError(t *testing.T) {
	t.Parallel()
	for _, where := range []string{
		`{"id": {"isNull": false}, "age": {"gt": 1}}`,
		`{"orders": {"some": {"id": {"isNull": false}}}}`,
		`{"all": [{"everyone": true}, {"everyone": true}]}`,
		`{"email": {"isNull": false}}`,
		`{"id": {"isNull": true}}`,
		`{"email": {"gt": ""}}`,
		`{"email": {"lte": ""}}`,
	} {
		if _, err := checked(t, lensOf(where), nil); err != nil {
			t.Errorf("%s: %v", where, err)
		}
	}
}

// Invariant 11: a floor says everyone too, or it is none.
func TestAFloorSaysEveryone(t *testing.T) {
	t.Parallel()
	l := lens.Where("users", lens.Everyone{}).Selecting("email")
	for want, floor := range map[string]lens.Condition{
		`scope.users: holds for every row; that is {"everyone": true}`: lens.Of("id").IsNull(false),
		`scope.users.any[1]: holds for every row`:                      lens.Any{Conditions: []lens.Condition{lens.Of("age").Gt(1), lens.Everyone{}}},
		"": lens.Everyone{},
	} {
		_, err := l.Check(shop(t), lens.Scope{Where: map[string]lens.Condition{"users": floor}})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v: %v, want %q", floor, err, want)
		}
	}
}

// Invariant 11: where a floor admits no row of a table, a condition that holds for want
// of such a row is one that holds for everyone.
func TestAClosedTableIsNoWayToEveryone(t *testing.T) {
	t.Parallel()
	closed := lens.Scope{Where: map[string]lens.Condition{"orders": lens.Any{}, "organizations": lens.Any{}}}
	for where, want := range map[string]string{
		`{"orders": {"none": {"total": {"gt": 5}}}}`:               "where.orders.none: the negation of what matches nothing",
		`{"orders": {"every": {"total": {"gt": 5}}}}`:              "where.orders.every: there are no rows",
		`{"not": {"orders": {"some": {"total": {"gt": 5}}}}}`:      "where.not: the negation of what matches nothing",
		`{"organization": {"isNot": {"name": {"eq": "Acme"}}}}`:    "where.organization.isNot: the negation of what matches nothing",
		`{"not": {"organization": {"is": {"name": {"ne": "A"}}}}}`: "where.not: the negation of what matches nothing",
		`{"orders": {"some": {"total": {"gt": 5}}}}`:               "",
		`{"not": {"email": {"eq": "a@example.org"}}}`:              "",
	} {
		l, err := lens.ParseJSON([]byte(`{"from": "users", "select": ["email"], "where": ` + where + `}`))
		if err != nil {
			t.Fatal(err)
		}
		_, err = l.Check(shop(t), closed)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", where, err, want)
		}
		if _, err := l.Check(shop(t), lens.Scope{}); err != nil {
			t.Errorf("%s without a floor: %v", where, err)
		}
	}
}
