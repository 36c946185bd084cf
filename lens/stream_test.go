package lens_test

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/postledger/postledger/lens"
	"github.com/postledger/postledger/lens/catalogue"
)

func (d *database) numbered(t *testing.T, table string, n int, text func(i int) string) {
	t.Helper()
	d.exec(t, "CREATE TABLE "+table+" (id bigint NOT NULL PRIMARY KEY, note "+map[bool]string{true: "mediumtext", false: "text"}[d.dialect == catalogue.MySQL]+")")
	some := 3_000
	if len(text(n-1)) > 1_000 {
		some = 50
	}
	for from := 0; from < n; from += some {
		var rows []string
		for i := from; i < min(from+some, n); i++ {
			rows = append(rows, fmt.Sprintf("(%d, '%s')", i, text(i)))
		}
		d.exec(t, "INSERT INTO "+table+" VALUES "+strings.Join(rows, ", "))
	}
}

// Whoever leaves a stream, wherever, leaves nothing behind, and the cursor of the last
// page goes on with the next row: also from the middle of what one statement read, and
// while the next is being read.
func TestAStreamThatIsLeftLeavesNothing(t *testing.T) {
	for _, d := range databases(t) {
		t.Run(string(d.dialect), func(t *testing.T) {
			const rows = 9_000
			d.numbered(t, "numbers", rows, func(int) string { return "x" })
			shop := shopDatabase{d, d.open(t, catalogue.Model{})}
			q := shop.ask(t, `{"from": "numbers", "where": {"everyone": true}, "select": ["id"]}`)
			for _, leave := range []int{1, 2, 4, 9} {
				n, page := 0, 0
				var after lens.Cursor
				for p, err := range q.Stream(t.Context(), d.source, "") {
					if err != nil {
						t.Fatal(err)
					}
					n, after = n+len(p.Rows), p.Next
					if page++; page == leave {
						break
					}
				}
				stacks := make([]byte, 1<<20)
				if stacks = stacks[:runtime.Stack(stacks, true)]; bytes.Contains(stacks, []byte("lens.(*reading)")) {
					t.Errorf("left after page %d, it reads on", leave)
				}
				if (after == "") != (n == rows) {
					t.Fatalf("page %d: %d rows, and the cursor %q", leave, n, after)
				}
				for row, err := range q.Rows(t.Context(), d.source, after) {
					if after == "" {
						break
					}
					if err != nil {
						t.Fatal(err)
					}
					if row["id"] != fmt.Sprint(n) {
						t.Fatalf("left after page %d: row %v comes after %d", leave, row["id"], n)
					}
					n++
				}
				if n != rows {
					t.Errorf("left after page %d: %d rows of %d", leave, n, rows)
				}
			}
		})
	}
}

// Wide rows come in pages of fewer: what a statement reads is bounded in bytes.
func TestAStreamOfWideRows(t *testing.T) {
	for _, d := range databases(t) {
		t.Run(string(d.dialect), func(t *testing.T) {
			const rows, wide = 200, 60_000
			d.numbered(t, "wide", rows, func(i int) string {
				if i < 20 {
					return "small"
				}
				return strings.Repeat("w", wide)
			})
			shop := shopDatabase{d, d.open(t, catalogue.Model{})}
			q := shop.ask(t, `{"from": "wide", "where": {"everyone": true}, "select": ["id", "note"]}`)
			n := 0
			for p, err := range q.Stream(t.Context(), d.source, "") {
				if err != nil {
					t.Fatal(err)
				}
				size := 0
				for _, row := range p.Rows {
					if row["id"] != fmt.Sprint(n) {
						t.Fatalf("row %v comes after %d", row["id"], n)
					}
					n++
					size += len(row["note"].(string))
				}
				if size > 2<<20+wide {
					t.Errorf("a page holds %d bytes", size)
				}
			}
			if n != rows {
				t.Errorf("%d rows of %d", n, rows)
			}
		})
	}
}
