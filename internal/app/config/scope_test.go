package config_test

import (
	"strings"
	"testing"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/app/config"
	"github.com/postledger/postledger/lens"
)

func withScope(t *testing.T, apps, scope string) (*config.Config, error) {
	t.Helper()
	file := write(t, "scope.yaml", scope)
	c, err := config.Load(write(t, "c.yaml", "sources: {shop: {dsn: 'sqlite:x.db', apps: "+apps+", scope: '"+file+"'}}"), nil)
	return &c, err
}

// Floors add up: for everybody, and besides by an app's name and by its id.
func TestFloorsOfAnApp(t *testing.T) {
	shop, forum := postledger.App{ID: postledger.ID{1}, Name: "shop"}, postledger.App{ID: postledger.ID{2}, Name: "forum"}
	c, err := withScope(t, "[shop, forum, "+shop.ID.String()+"]", `
zone: Europe/Oslo
where:
  users: {deleted_at: {isNull: true}}
apps:
  shop: {users: {country: {eq: NO}}, secrets: {any: []}}
  `+shop.ID.String()+`: {users: {seen_at: {gte: now-1d}}}
`)
	if err != nil {
		t.Fatal(err)
	}
	f, err := c.Floors("shop")
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		app  postledger.App
		want int // conditions on users
	}{"shop": {shop, 3}, "forum": {forum, 1}} {
		floor, err := f.For(tt.app)
		if err != nil || floor.Zone != "Europe/Oslo" || leaves(floor.Where["users"]) != tt.want {
			t.Errorf("%s: %+v %v", name, floor, err)
		}
		if _, closed := floor.Where["secrets"].(lens.Any); closed != (name == "shop") {
			t.Errorf("%s: secrets %v", name, floor.Where["secrets"])
		}
	}
	settings := c.Sources["shop"]
	if !settings.Allows(shop) || !settings.Allows(forum) || settings.Allows(postledger.App{ID: postledger.ID{3}, Name: "Shop"}) {
		t.Error("who may use the source")
	}
	if none := (config.Source{}); none.Allows(shop) || none.Allows(postledger.App{}) {
		t.Error("a source that names no app is for one")
	}
}

func leaves(c lens.Condition) int {
	all, many := c.(lens.All)
	if !many {
		return 1
	}
	n := 0
	for _, inner := range all.Conditions {
		n += leaves(inner)
	}
	return n
}

func TestFloorsAreReadStrictly(t *testing.T) {
	for text, want := range map[string]string{
		``:                                  "is no YAML document",
		`[]`:                                "must be a group of keys",
		`zone: UTC`:                         "has neither where nor apps",
		`wher: {users: {id: {eq: 1}}}`:      "wher: unknown",
		`where: {}`:                         "where: must be an object",
		`where:`:                            "where: must be an object",
		`where: {users: {}}`:                "where.users: an empty condition is refused",
		`where: {users: {country: NO}}`:     "where.users.country: ",
		"where: {a: 1}\nwhere: {a: 1}":      "is given twice",
		`where: {users: {country: {ne: }}}`: "where.users.country.ne",
		`apps: {shop: {users: {not: {country: {lt: }}}}}`: "apps.shop: where.users",
		`apps: {}`:                                      "apps.must be a group",
		`apps: {shop: {}}`:                              "apps.shop: where: must be an object",
		`apps: {shop: {users: {all: []}}}`:              "apps.shop: where.users.all: an empty list",
		`apps: {crm: {users: {id: {eq: 1}}}}`:           "apps.crm: sources.shop.apps does not name it",
		"zone: 7\nwhere: {users: {id: {eq: 1}}}":        "zone: must be text",
		"where: {users: {id: {eq: 1}}}\n---\nwhere: {}": "something follows",
	} {
		c, err := withScope(t, "[shop]", text)
		if err == nil {
			_, err = c.Floors("shop")
		}
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "sources.shop.scope") {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if _, err := withScope(t, "[shop, shop]", "where: {a: {b: {eq: 1}}}"); err == nil || !strings.Contains(err.Error(), "sources.shop.apps: has") {
		t.Errorf("an app twice: %v", err)
	}
	c, err := config.Load(write(t, "c.yaml", "sources: {shop: {dsn: 'sqlite:x.db', scope: /nowhere}}"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Floors("shop"); err == nil || !strings.Contains(err.Error(), "sources.shop.scope: cannot be read") {
		t.Errorf("a missing file: %v", err)
	}
}

func TestAudienceBounds(t *testing.T) {
	for text, want := range map[string]string{
		"{count_timeout: 10ms}": "audiences.count_timeout", "{count_timeout: 25h}": "audiences.count_timeout",
		"{counts: 0}": "audiences.counts", "{counts: 101}": "audiences.counts", "{count: 1}": "audiences.count: is no key",
	} {
		if _, err := config.Load(write(t, "c.yaml", "audiences: "+text), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
