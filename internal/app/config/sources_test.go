package config_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/postledger/postledger/internal/app/config"
)

func TestSources(t *testing.T) {
	model := write(t, "model.yaml", "tables: {people: {name: users}}")
	dsn := write(t, "crm.dsn", "mysql://reader:pw@db/crm\n")
	file := write(t, "c.yaml", `
sources:
  shop: {dsn: 'postgres://reader:topsecret@db/shop', model: `+model+`, schemas: [public, sales], timeout: 5s}
  crm: {dsn: 'file:`+dsn+`'}
`)
	c, err := config.Load(file, []string{"POSTLEDGER_SOURCES__SHOP__ROWS=77", "POSTLEDGER_SOURCES__OLD_APP__DSN=sqlite:old.db"})
	if err != nil {
		t.Fatal(err)
	}
	got, o, m, err := c.Reads("shop")
	if err != nil || got != "postgres://reader:topsecret@db/shop" || o.Rows != 77 || o.Timeout != 5*time.Second || len(o.Schemas) != 2 || m.Tables["people"].Name != "users" {
		t.Errorf("shop: %s %+v %+v %v", got, o, m, err)
	}
	if got, _, _, err := c.Reads("crm"); err != nil || got != "mysql://reader:pw@db/crm" {
		t.Errorf("crm: %q, %v", got, err)
	}
	if got, _, _, err := c.Reads("old_app"); err != nil || got != "sqlite:old.db" {
		t.Errorf("old_app: %q, %v", got, err)
	}
	if _, _, _, err := c.Reads("none"); err == nil || !strings.Contains(err.Error(), "sources.none: is not configured") {
		t.Errorf("none: %v", err)
	}
	shown, err := c.Show()
	if err != nil || strings.Contains(shown, "topsecret") || !strings.Contains(shown, "sales") || !strings.Contains(shown, "file:"+dsn) {
		t.Errorf("%v\n%s", err, shown)
	}
}

func TestSourceFilesAreCheckedWhenTheyAreRead(t *testing.T) {
	open := write(t, "open.dsn", "sqlite:x.db")
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	bad := write(t, "model.yaml", "tabels: {}")
	for name, tt := range map[string]struct{ file, want string }{
		"a DSN for all":   {"{dsn: 'file:" + open + "'}", "sources.shop.dsn: names"},
		"a missing DSN":   {"{dsn: 'file:/nowhere'}", "sources.shop.dsn: cannot be read"},
		"a missing model": {"{dsn: 'sqlite:x.db', model: /nowhere}", "sources.shop.model: cannot be read"},
		"a bad model":     {"{dsn: 'sqlite:x.db', model: " + bad + "}", "sources.shop.model: read the model file"},
	} {
		c, err := config.Load(write(t, "c.yaml", "sources: {shop: "+tt.file+"}"), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, _, err := c.Reads("shop"); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}
