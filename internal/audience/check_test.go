package audience_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/audience"
	"github.com/postledger/postledger/lens/catalogue"
)

const everyone = `{"everyone":true}`

// Whatever says nothing, or not what it seems to, is refused by its place: B56.
func TestWhatSaysNothingIsRefused(t *testing.T) {
	w := newWorld(t, catalogue.SQLite, shop)
	for where, want := range map[string]string{
		`{}`:                                       "lens.where",
		`null`:                                     "lens.where",
		`{"all":[]}`:                               "lens.where.all",
		`{"not":{}}`:                               "lens.where.not",
		`{"not":{"any":[]}}`:                       "lens.where.not",
		`{"country":{"eq":null}}`:                  "lens.where.country.eq",
		`{"country":{}}`:                           "lens.where.country",
		`{"contry":{"eq":"NO"}}`:                   "lens.where.contry",
		`{"country":{"equals":"NO"}}`:              "lens.where.country.equals",
		`{"country":{"eq":7}}`:                     "lens.where.country.eq",
		`{"country":{"notIn":[]}}`:                 "lens.where.country.notIn",
		`{"password_hash":{"startsWith":"x"}}`:     "lens.where.password_hash",
		`{"country":{"eq":{"param":"c"}}}`:         "lens.where.country.eq",
		`{"all":[{"id":{"gt":1}},{"name":{}}]}`:    "lens.where.all[1].name",
		`{"orders":{"some":{"total":{"gte":{}}}}}`: "lens.where.orders.some.total.gte",
		`{"seen_at":{"gte":"yesterday"}}`:          "lens.where.seen_at.gte",
	} {
		_, err := w.Check(t.Context(), w.app, of(where))
		found := problems(t, err)
		if found[0].Rule != audience.RuleLens || found[0].Field != want || found[0].Message == "" {
			t.Errorf("%s: %+v, want %s", where, found, want)
		}
	}
	for _, where := range []string{`{"any":[]}`, `{"country":{"in":[]}}`} {
		if n := w.count(of(where)); n.Matched != 0 {
			t.Errorf("%s matches %d", where, n.Matched)
		}
	}
	if n := w.count(of(everyone)); n.Matched != 9 {
		t.Errorf("everyone is %d", n.Matched)
	}
}

func TestFieldsAreChecked(t *testing.T) {
	w := newWorld(t, catalogue.SQLite, shop)
	base := postledger.AudienceDefinition{
		Source: "shop", Address: "email", Locale: "language", Tenant: "tenant", Category: postledger.CategorySystem,
		Lens: json.RawMessage(`{"from":"users","where":{"everyone":true},"select":["id","email","language","tenant",{"company":["name","mail"]},{"orders":["id"]}]}`),
	}
	if _, err := w.Check(t.Context(), w.app, base); err != nil {
		t.Fatal(err)
	}
	related := base
	related.Address = "company.mail"
	got, err := w.Check(t.Context(), w.app, related)
	must(t, err)
	if string(got.Lens) == string(base.Lens) || !strings.Contains(string(got.Lens), `"everyone":true`) {
		t.Errorf("saved as %s", got.Lens)
	}
	for name, tt := range map[string]struct {
		change func(*postledger.AudienceDefinition)
		want   []string
	}{
		"no source":            {func(d *postledger.AudienceDefinition) { d.Source = "" }, []string{"source required"}},
		"another source":       {func(d *postledger.AudienceDefinition) { d.Source = "crm" }, []string{"source unknown"}},
		"nothing":              {func(d *postledger.AudienceDefinition) { *d = postledger.AudienceDefinition{} }, []string{"source required", "address required", "category required", "lens required"}},
		"a category":           {func(d *postledger.AudienceDefinition) { d.Category = "spam" }, []string{"category unknown"}},
		"not JSON":             {func(d *postledger.AudienceDefinition) { d.Lens = json.RawMessage(`{`) }, []string{"lens lens"}},
		"a list":               {func(d *postledger.AudienceDefinition) { d.Lens = json.RawMessage(`[]`) }, []string{"lens lens"}},
		"an unselected field":  {func(d *postledger.AudienceDefinition) { d.Address = "name" }, []string{"address field_kind"}},
		"a hidden field":       {func(d *postledger.AudienceDefinition) { d.Address = "password_hash" }, []string{"address field_kind"}},
		"a field of no text":   {func(d *postledger.AudienceDefinition) { d.Address, d.Timezone = "id", "tenant" }, []string{"address field_kind", "timezone field_kind"}},
		"a relation as field":  {func(d *postledger.AudienceDefinition) { d.Address = "company" }, []string{"address field_kind"}},
		"through many":         {func(d *postledger.AudienceDefinition) { d.Address = "orders.id" }, []string{"address field_kind"}},
		"a field with a field": {func(d *postledger.AudienceDefinition) { d.Address = "email.x" }, []string{"address field_kind"}},
		"odd":                  {func(d *postledger.AudienceDefinition) { d.Address = `email" --` }, []string{"address field_kind"}},
	} {
		d := base
		tt.change(&d)
		_, err := w.Check(t.Context(), w.app, d)
		var found []string
		for _, p := range problems(t, err) {
			found = append(found, p.Field+" "+p.Rule)
		}
		if strings.Join(found, ", ") != strings.Join(tt.want, ", ") {
			t.Errorf("%s: %q, want %q", name, found, tt.want)
		}
	}
}

// A source of nobody and one of another app are one thing to ask for.
func TestAnotherAppsSourceIsUnknown(t *testing.T) {
	w := newWorld(t, catalogue.SQLite, shop)
	_, theirs := w.Check(t.Context(), w.other, of(everyone))
	none := of(everyone)
	none.Source = "nobody"
	_, nobodys := w.Check(t.Context(), w.app, none)
	if problems(t, theirs)[0] != problems(t, nobodys)[0] {
		t.Errorf("another app's source: %v; nobody's: %v", theirs, nobodys)
	}
}

// What cannot be checked is not good; and why it cannot is not for the caller.
func TestADownSourceSavesNothing(t *testing.T) {
	w := newWorld(t, catalogue.SQLite, shop)
	w.down = errors.New("connection refused by 10.0.0.7")
	_, err := w.Check(t.Context(), w.app, of(everyone))
	var down *audience.UnavailableError
	if !errors.As(err, &down) || down.Source != "shop" {
		t.Errorf("got %v", err)
	}
	w.down = nil
	w.exec(`ALTER TABLE users RENAME TO people`)
	_, err = w.Preview(t.Context(), w.app, of(everyone), nil, audience.Want{Counts: true}, func(audience.Progress) {})
	if found := problems(t, err); found[0].Field != "lens.from" {
		t.Errorf("a table that went since the catalogue was read: %+v", found)
	}
}

// A column that came since the catalogue was read is found; one that went is
// missed as soon as the catalogue is read.
func TestTheCatalogueIsReadAnew(t *testing.T) {
	w := newWorld(t, catalogue.SQLite, shop)
	w.exec(`ALTER TABLE users ADD COLUMN vip BIGINT`)
	if _, err := w.Check(t.Context(), w.app, of(`{"vip":{"isNull":true}}`)); err != nil || w.fresh != 1 {
		t.Errorf("%v, read anew %d times", err, w.fresh)
	}
	w.exec(`ALTER TABLE users DROP COLUMN vip`)
	// The catalogue at hand still has it.
	for _, want := range []audience.Want{{Sample: true}, {Counts: true}} {
		_, err := w.Preview(t.Context(), w.app, of(`{"vip":{"isNull":true}}`), nil, want, func(audience.Progress) {})
		if err == nil {
			t.Fatalf("%+v was found out, of a column that is gone", want)
		}
		if found := problems(t, err); found[0].Field != "lens.where.vip" {
			t.Errorf("%+v: %+v", want, found)
		}
		w.exec(`ALTER TABLE users ADD COLUMN vip BIGINT`)
		w.read()
		w.exec(`ALTER TABLE users DROP COLUMN vip`)
	}
	_, err := w.Check(t.Context(), w.app, of(`{"vip":{"isNull":true}}`))
	if found := problems(t, err); found[0].Field != "lens.where.vip" {
		t.Errorf("%+v", found)
	}
}

// A floor that no longer fits is nobody's input, and is not described.
func TestABrokenFloorIsNotTheCallersFault(t *testing.T) {
	w := newWorld(t, catalogue.SQLite, shop)
	w.scope(`{where: {users: {country: {eq: "NO"}}}}`)
	w.exec(`ALTER TABLE users RENAME COLUMN country TO land`)
	w.read()
	_, err := w.Check(t.Context(), w.app, of(everyone))
	var down *audience.UnavailableError
	if !errors.As(err, &down) {
		t.Errorf("got %v", err)
	}
}
