package lens_test

import (
	"strings"
	"testing"

	"github.com/postledger/postledger/lens"
	"github.com/postledger/postledger/lens/catalogue"
)

// One start of the servers for all that needs only a small shop.
func TestShopInThreeDatabases(t *testing.T) {
	for _, shop := range shopDatabases(t) {
		t.Run(string(shop.dialect), func(t *testing.T) {
			t.Run("answers", shop.testAnswers)
			t.Run("truth table", shop.testTruthTable)
			t.Run("catalogue", shop.testCatalogue)
			t.Run("attacks", shop.testAttacks)
			t.Run("hostile parameters", shop.testHostileParameters)
			t.Run("forged cursors", shop.testForgedCursors)
			t.Run("scope", shop.testScope)
			t.Run("includes", shop.testIncludes)
			t.Run("misfits", shop.testMisfits)
			t.Run("types of its own", shop.testOwnTypes)
			t.Run("pages", shop.testPages)
			t.Run("related", shop.testRelated)
			t.Run("related within a scope", shop.testRelatedScope)
			t.Run("cursors", shop.testCursors)
			t.Run("explain", shop.testExplain)
			t.Run("JSON", shop.testJSON)
			t.Run("reads only", shop.testReadsOnly)
		})
	}
}

// Reported cases B22, B57 and B58, and what relations and JSON mean.
func (s shopDatabase) testAnswers(t *testing.T) {
	for where, want := range map[string]string{
		`{"everyone": true}`: "1234567",
		`{"any": []}`:        "",
		`{"id": {"in": []}}`: "",
		// B57: no country is not the country NO, and neither is "no".
		`{"country": {"eq": "NO"}}`:                     "14",
		`{"country": {"ne": "NO"}}`:                     "23567",
		`{"country": {"notIn": ["NO"]}}`:                "23567",
		`{"not": {"country": {"eq": "NO"}}}`:            "23567",
		`{"not": {"country": {"gte": "A"}}}`:            "35",
		`{"tags": {"none": {"label": {"eq": "vip"}}}}`:  "234567",
		`{"tags": {"some": {"label": {"eq": "vip"}}}}`:  "1",
		`{"tags": {"every": {"label": {"eq": "new"}}}}`: "234567",
		// B58: wildcards are letters.
		`{"email": {"contains": "a_b"}}`:    "3",
		`{"email": {"contains": "50%"}}`:    "6",
		`{"email": {"contains": "%"}}`:      "6",
		`{"email": {"contains": "_"}}`:      "3",
		`{"email": {"contains": "\\"}}`:     "5",
		`{"email": {"startsWith": "c\\d"}}`: "5",
		`{"email": {"startsWith": "50%"}}`:  "6",
		`{"email": {"endsWith": "%"}}`:      "",
		`{"email": {"contains": "!"}}`:      "",
		// B22: one address in two cases.
		`{"email": {"eq": "MIRA.HOLT@rcv.test"}}`:                       "",
		`{"email": {"eq": "MIRA.HOLT@rcv.test", "ignoreCase": true}}`:   "12",
		`{"email": {"in": ["MIRA.HOLT@RCV.TEST"], "ignoreCase": true}}`: "12",
		`{"email": {"startsWith": "MIRA", "ignoreCase": true}}`:         "12",
		`{"email": {"endsWith": "@RCV.test"}}`:                          "1",
		// Relations.
		`{"orders": {"some": {"total": {"gte": "100"}}}}`:                          "14",
		`{"orders": {"some": {"everyone": true}}}`:                                 "124",
		`{"orders": {"none": {"everyone": true}}}`:                                 "3567",
		`{"orders": {"every": {"total": {"gte": "100"}}}}`:                         "3567",
		`{"orders": {"none": {"total": {"lt": "50"}}}}`:                            "34567",
		`{"organization": {"is": {"name": {"eq": "Holt"}}}}`:                       "12",
		`{"organization": {"isNot": {"name": {"eq": "Holt"}}}}`:                    "34567",
		`{"organization": {"is": {"users": {"some": {"country": {"eq": "SE"}}}}}}`: "12",
		// JSON.
		`{"prefs": {"path": ["mail", "weekly"], "eq": true}}`:     "1",
		`{"prefs": {"path": ["mail", "weekly"], "ne": true}}`:     "234567",
		`{"prefs": {"path": ["mail", "weekly"], "isNull": true}}`: "34567",
		`{"prefs": {"path": ["langs", 1], "eq": "en"}}`:           "1",
		`{"prefs": {"path": ["langs", 0, 0], "eq": "nb"}}`:        "",
		`{"prefs": {"isNull": true}}`:                             "34567",
		`{"prefs": {"path": ["mail"], "eq": "x"}}`:                "",
	} {
		q, err := s.query(t, "users", where, lens.Scope{}, lens.Bindings{})
		if err != nil {
			t.Errorf("%s: %v", where, err)
			continue
		}
		if got := s.ids(t, q); got != want {
			statement, args := lens.CountSQL(q)
			t.Errorf("%s: %q, want %q\n%s %v", where, got, want, statement, args)
		}
	}
	// A view is read like a table, by the key that the model gives it.
	q, err := s.query(t, "norwegians", `{"email": {"startsWith": "a"}}`, lens.Scope{}, lens.Bindings{})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.ids(t, q); got != "4" {
		t.Errorf("the view gives %q", got)
	}
}

func (s shopDatabase) testCatalogue(t *testing.T) {
	users, found := s.catalogue.Table("users")
	if !found {
		t.Fatal("no users")
	}
	kinds := map[string]catalogue.Kind{
		"id": catalogue.BigInt, "email": catalogue.Text, "country": catalogue.Text, "born": catalogue.Date, "prefs": catalogue.JSON,
		"score": catalogue.Float, "organization_id": catalogue.BigInt,
	}
	for name, kind := range kinds {
		if c, ok := users.Column(name); !ok || c.Kind != kind || c.Hidden {
			t.Errorf("%s: %+v, want %s", name, c, kind)
		}
	}
	if c, _ := users.Column("password_hash"); c == nil || !c.Hidden {
		t.Errorf("password_hash: %+v", c)
	}
	var names []string
	for _, r := range users.Relations() {
		names = append(names, r.Name)
	}
	if got := strings.Join(names, " "); got != "orders organization tags" {
		t.Errorf("relations %s", got)
	}
	if view, ok := s.catalogue.Table("norwegians"); !ok || !view.View {
		t.Errorf("the view: %+v", view)
	}
	if id, _ := users.Column("id"); id.Nullable || !users.Unique([]string{"id"}) {
		t.Error("the primary key is none")
	}
}

func (s shopDatabase) testScope(t *testing.T) {
	scope := lens.Scope{
		Where: map[string]lens.Condition{
			"users":     lens.Of("organization").Is(lens.Of("id").Eq(lens.Parameter("org"))),
			"orders":    lens.Of("total").Gt("6"),
			"user_tags": lens.Of("tag_id").Eq("2"),
		},
		Params: map[string]lens.Param{"org": {Kind: catalogue.BigInt}},
	}
	with := lens.Bindings{ScopeParams: map[string]any{"org": 1}}
	for where, want := range map[string]string{
		`{"everyone": true}`: "12",
		`{"any": [{"id": {"gt": 0}}, {"id": {"lte": 0}}]}`:                 "12",
		`{"not": {"id": {"eq": 1}}}`:                                       "2",
		`{"orders": {"some": {"total": {"lt": "6"}}}}`:                     "",
		`{"orders": {"every": {"total": {"gte": "100"}}}}`:                 "1",
		`{"tags": {"some": {"label": {"eq": "vip"}}}}`:                     "",
		`{"tags": {"none": {"label": {"eq": "vip"}}}}`:                     "12",
		`{"tags": {"some": {"label": {"eq": "new"}}}}`:                     "12",
		`{"organization": {"is": {"users": {"some": {"id": {"gt": 2}}}}}}`: "",
	} {
		q, err := s.query(t, "users", where, scope, with)
		if err != nil {
			t.Errorf("%s: %v", where, err)
			continue
		}
		if got := s.ids(t, q); got != want {
			t.Errorf("%s: %q, want %q", where, got, want)
		}
	}
	// Nobody's rows are seen through another table's relation either.
	q, err := s.query(t, "organizations", `{"users": {"some": {"everyone": true}}}`, scope, with)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.ids(t, q); got != "1" {
		t.Errorf("organizations: %q", got)
	}
	for name, test := range map[string]struct {
		with lens.Bindings
		want string
	}{
		"missing":   {lens.Bindings{}, "scope.users.organization.is.id.eq: parameter org is missing"},
		"by a lens": {lens.Bindings{Params: map[string]any{"org": 1}, ScopeParams: map[string]any{"org": 2}}, "params.org: no such parameter"},
	} {
		if _, err := s.query(t, "users", `{"everyone": true}`, scope, test.with); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
	if _, err := s.query(t, "users", `{"id": {"eq": {"param": "org"}}}`, scope, with); err == nil {
		t.Error("a lens used the scope's parameter")
	}
	misspelt := lens.Scope{Where: map[string]lens.Condition{"user": lens.Everyone{}}}
	if _, err := s.query(t, "users", `{"everyone": true}`, misspelt, with); err == nil || !strings.Contains(err.Error(), "scope.user:") {
		t.Errorf("a scope for a table that does not exist: %v", err)
	}
	closed := lens.Scope{Where: map[string]lens.Condition{"users": lens.Any{}}}
	q, err = s.query(t, "users", `{"everyone": true}`, closed, lens.Bindings{})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.ids(t, q); got != "" {
		t.Errorf("a closed table gives %q", got)
	}
}

func (s shopDatabase) testIncludes(t *testing.T) {
	q, err := s.query(t, "users", `{"organization": {"is": {"name": {"eq": "Holt"}}}}`, lens.Scope{}, lens.Bindings{})
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[any]bool{1: true, "2": true, int64(3): false, 99: false} {
		if got, err := q.Includes(t.Context(), s.source, key); err != nil || got != want {
			t.Errorf("includes %v: %v, %v", key, got, err)
		}
	}
	s.testIncludesByOtherKeys(t)
	for _, key := range [][]any{{}, {nil}, {"x"}, {"1 OR 1=1"}, {1, 2}, {true}, {1.5}} {
		if got, err := q.Includes(t.Context(), s.source, key...); err == nil || got {
			t.Errorf("includes %v: %v, %v", key, got, err)
		}
	}
}
