package lens_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/postledger/postledger/lens/catalogue"
)

// A stream holds one page, whatever is behind it: 64 MB above idle are enough.
func TestStreamMemory(t *testing.T) { streamMemory(t, 5_000) }

// TestLongStreamMemory is the same with a million.
func TestLongStreamMemory(t *testing.T) {
	if os.Getenv("POSTLEDGER_LONG") == "" {
		t.Skip("set POSTLEDGER_LONG=1: it takes minutes")
	}
	streamMemory(t, 1_000_000)
}

func streamMemory(t *testing.T, users int) {
	for _, d := range databases(t) {
		t.Run(string(d.dialect), func(t *testing.T) {
			d.exec(t, "CREATE TABLE orgs (id bigint NOT NULL PRIMARY KEY, name varchar(40))")
			d.exec(t, "CREATE TABLE users (id bigint NOT NULL PRIMARY KEY, org_id bigint, note varchar(200), FOREIGN KEY (org_id) REFERENCES orgs (id))")
			d.exec(t, "CREATE TABLE orders (id bigint NOT NULL PRIMARY KEY, user_id bigint, FOREIGN KEY (user_id) REFERENCES users (id))")
			if d.dialect != catalogue.MySQL { // which makes the index by itself
				d.exec(t, "CREATE INDEX orders_user ON orders (user_id)")
			}
			fill := func(table string, n int, row func(i int) string) {
				for from := 0; from < n; from += 5_000 {
					var rows []string
					for i := from; i < min(from+5_000, n); i++ {
						rows = append(rows, row(i))
					}
					d.exec(t, "INSERT INTO "+table+" VALUES "+strings.Join(rows, ", "))
				}
			}
			fill("orgs", 1_000, func(i int) string { return fmt.Sprintf("(%d, 'organization %d')", i, i) })
			note := strings.Repeat("prefers letters ", 11)
			fill("users", users, func(i int) string { return fmt.Sprintf("(%d, %d, '%s%d')", i, i%1_000, note, i) })
			fill("orders", users/2, func(i int) string { return fmt.Sprintf("(%d, %d)", i, 2*i) })
			shop := shopDatabase{d, d.open(t, catalogue.Model{})}
			for _, relation := range []string{`{"org": {"select": ["name"]}}`, `{"orders": {"select": ["id"]}}`} {
				q := shop.ask(t, `{"from": "users", "where": {"everyone": true}, "select": ["id", "note", `+relation+`]}`)
				idle, most, n := resident(t), 0, 0
				for p, err := range q.Stream(t.Context(), d.source, "") {
					if err != nil {
						t.Fatal(err)
					}
					n += len(p.Rows)
					most = max(most, resident(t))
				}
				if n != users || most-idle > 64_000_000 {
					t.Errorf("%d rows of %d, %d bytes above idle", n, users, most-idle)
				}
				t.Logf("%s: %d rows, %d KiB above idle", relation, n, (most-idle)>>10)
			}
		})
	}
}

// resident is this process's size in memory.
func resident(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}
