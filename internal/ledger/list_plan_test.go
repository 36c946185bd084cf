package ledger_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/ledger/ledgertest"
	"github.com/postledger/postledger/internal/testserver"
)

// largeRows are the deliveries of the ledger that lists are explained on; they
// were accepted over 60 days, one message each.
const largeRows = 200_000

// large is a filled ledger: App has 95 of 100 rows, small the others.
type large struct {
	*ledgertest.World
	small postledger.App
	start time.Time
	// id makes the expression for an id of a kind (three hexadecimal digits).
	id func(kind, i string) string
}

func fillLarge(t *testing.T, l *ledger.Ledger) *large {
	t.Helper()
	w := &large{World: ledgertest.NewWorld(t, func(*testing.T) *ledger.Ledger { return l })}
	ctx := t.Context()
	w.small = postledger.App{ID: w.NewID(), Name: "small"}
	if err := w.CreateApp(ctx, w.small, postledger.AuditEvent{Action: "app.create", Result: "done"}); err != nil {
		t.Fatal(err)
	}
	const step = int64(60*24*time.Hour/time.Millisecond) / largeRows
	w.start = time.Now().Add(-60 * 24 * time.Hour).Truncate(time.Millisecond)
	ms := fmt.Sprintf("(%d + i * %d)", w.start.UnixMilli(), step)
	series := fmt.Sprintf("(WITH RECURSIVE s(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM s WHERE i < %d) SELECT i FROM s) s", largeRows-1)
	w.id = func(kind, i string) string {
		return fmt.Sprintf("unhex(printf('%%012x70008%s%%012x', %s, %s))", kind, strings.ReplaceAll(ms, "i", "("+i+")"), i)
	}
	if !l.SQLite() {
		series = fmt.Sprintf("generate_series(0::bigint, %d) AS s(i)", largeRows-1)
		w.id = func(kind, i string) string {
			return fmt.Sprintf("(lpad(to_hex(%s::bigint), 12, '0') || '70008%s' || lpad(to_hex(%s), 12, '0'))::uuid",
				strings.ReplaceAll(ms, "i", "("+i+")"), kind, i)
		}
	}
	const app = "CASE WHEN i % 100 < 95 THEN ? ELSE ? END"
	cast := func(s string) string {
		if l.SQLite() {
			return s
		}
		return strings.ReplaceAll(s, "?", "?::uuid")
	}
	exec(t, l, cast(`INSERT INTO messages (id, app_id, request_id, profile_id, profile_name, lane, batch_id, ref_scope, ref_id, category,
			subject, size_bytes, recipients, unsettled, created_at, settled_at)
		SELECT `+w.id("111", "i")+`, `+app+`, 'r', ?, 'main', 'immediate',
			CASE WHEN (i / 500) % 10 = 0 THEN `+w.id("333", "(i / 500) * 500")+` END, '',
			CASE WHEN i % 5 = 1 THEN 'hot' WHEN i % 2 = 0 THEN 'r' || (i % 1000) ELSE '' END, 'system',
			'Week 12', 600, 1, 0, `+ms+` * 1000, `+ms+` * 1000 FROM `+series), w.App.ID, w.small.ID, w.Profile.ID)
	exec(t, l, cast(`INSERT INTO deliveries (id, message_id, envelope_id, app_id, profile_id, lane, status, kind, position,
			address, address_folded, created_at, settled_at, resolve_by)
		SELECT `+w.id("222", "i")+`, `+w.id("111", "i")+`, `+w.id("222", "i")+`, `+app+`, ?,
			CASE WHEN i = 7 THEN 'bulk' ELSE 'immediate' END,
			CASE i % 50 WHEN 0 THEN 'failed' WHEN 1 THEN 'canceled' WHEN 2 THEN 'suppressed' WHEN 3 THEN 'unconfirmed' ELSE 'sent' END, 'to', 0,
			'u' || (i % 20000) || '@d' || (i % 500) || '.example', 'u' || (i % 20000) || '@d' || (i % 500) || '.example',
			`+ms+` * 1000, `+ms+` * 1000, CASE WHEN i % 50 = 3 THEN 1 END FROM `+series), w.App.ID, w.small.ID, w.Profile.ID)
	if _, err := l.ExecRaw(ctx, `ANALYZE`); err != nil {
		t.Fatal(err)
	}
	return w
}

// planCase is a filter and what may be read for one page of it.
type planCase struct {
	name     string
	messages bool
	f        ledger.Filter
	// indexes are those that rows are found by.
	indexes []string
	// reads bounds the rows read for a page of 50 with its total; a list with
	// a rest reads its budget for the page and for its end, and that of totals
	// twice. States are read apart and then merged: half as much again, and where
	// since bounds them each up to its limit.
	reads int
}

func (w *large) cases() []planCase {
	status := func(s ...postledger.Status) []postledger.Status { return s }
	sent, failed := postledger.StatusSent, postledger.StatusFailed
	now := time.Now()
	week := ledger.Filter{App: w.App.ID, Since: now.Add(-7 * 24 * time.Hour), Until: now}
	with := func(f ledger.Filter, change func(*ledger.Filter)) ledger.Filter { change(&f); return f }
	const total, rest = 12_000, 3*ledger.ListBudget + 3*ledger.TotalBudget
	d, m := "deliveries_", "messages_"
	page, err := w.Deliveries(w.T.Context(), ledger.Filter{}, ledger.Paging{Limit: 100})
	if err != nil {
		w.T.Fatal(err)
	}
	var ids []postledger.ID
	for _, i := range page.Items {
		ids = append(ids, i.ID)
	}
	var batch, message postledger.ID
	message = page.Items[0].MessageID
	one, err := w.Deliveries(w.T.Context(), ledger.Filter{App: w.App.ID, RefID: "r2"}, ledger.Paging{Limit: 1})
	if err != nil {
		w.T.Fatal(err)
	}
	all, err := w.Messages(w.T.Context(), ledger.Filter{Since: w.start, Until: w.start.Add(time.Minute)}, ledger.Paging{Limit: 1})
	if err != nil || len(all.Items) == 0 || len(one.Items) == 0 {
		w.T.Fatalf("the fill is not what it should be: %v", err)
	}
	batch = all.Items[0].BatchID
	return []planCase{
		{"everything", false, ledger.Filter{}, []string{d + "pkey"}, total},
		{"an app", false, ledger.Filter{App: w.App.ID}, []string{d + "app"}, 3 * total},
		{"a small app", false, ledger.Filter{App: w.small.ID}, []string{d + "app"}, total},
		{"an app without rows", false, ledger.Filter{App: w.NewID()}, []string{d + "app"}, total},
		{"an app's state", false, ledger.Filter{App: w.App.ID, Statuses: status(failed)}, []string{d + "app"}, total},
		{"a small app's state", false, ledger.Filter{App: w.small.ID, Statuses: status(sent)}, []string{d + "app"}, total},
		{"a small app's states", false, ledger.Filter{App: w.small.ID, Statuses: status(sent, failed)}, []string{d + "app"}, total},
		{"a state", false, ledger.Filter{Statuses: status(failed)}, []string{d + "app"}, total},
		{"what is unconfirmed", false, ledger.Filter{Statuses: status(postledger.StatusUnconfirmed)}, []string{d + "unconfirmed"}, total},
		{"an app's week", false, week, []string{d + "app"}, 30_000},
		{"a week", false, ledger.Filter{Since: week.Since, Until: now}, []string{d + "pkey"}, 30_000},
		{"an old day", false, ledger.Filter{App: w.App.ID, Since: w.start.Add(24 * time.Hour), Until: w.start.Add(48 * time.Hour)}, []string{d + "app"}, 2 * total},
		{"a profile", false, ledger.Filter{Profile: w.Profile.ID}, []string{d + "pkey"}, rest},
		{"an app's lane", false, ledger.Filter{App: w.App.ID, Lane: postledger.LaneBulk}, []string{d + "app"}, 2 * rest},
		{"a lane", false, ledger.Filter{Lane: postledger.LaneBulk}, []string{d + "pkey"}, rest},
		{"ids", false, ledger.Filter{App: w.App.ID, IDs: ids}, []string{d + "pkey"}, 1000},
		{"ids of a batch", false, ledger.Filter{IDs: ids, Batch: batch}, []string{d + "pkey", m + "pkey"}, 600},
		{"a message", false, ledger.Filter{App: w.App.ID, Message: message}, []string{d + "message", m + "app|" + m + "pkey"}, 100},
		{"a batch", false, ledger.Filter{App: w.App.ID, Batch: batch}, []string{d + "message", m + "batch"}, 8000},
		{"a reference", false, ledger.Filter{App: w.App.ID, RefID: "r2"}, []string{d + "message", m + "ref"}, 8000},
		{"a hot reference", false, ledger.Filter{App: w.App.ID, RefID: "hot"}, []string{d + "message", m + "ref"}, 8000},
		{"a recipient", false, ledger.Filter{App: w.App.ID, Recipient: "u77@d77.example"}, []string{d + "address"}, 200},
		{"anyone's recipient", false, ledger.Filter{Recipient: "u77@d77.example"}, []string{d + "address"}, 200},
		{"a prefix", false, ledger.Filter{App: w.App.ID, Prefix: "u1999"}, []string{d + "address"}, 1000},
		{"a short prefix", false, with(week, func(f *ledger.Filter) { f.Prefix = "u1" }), []string{d + "address", d + "app"}, rest},
		{"a domain", false, with(week, func(f *ledger.Filter) { f.Domain = "d77.example" }), []string{d + "app"}, 2 * rest},
		{"a part", false, with(week, func(f *ledger.Filter) { f.Contains = "77@" }), []string{d + "app"}, 2 * rest},
		{"messages", true, ledger.Filter{}, []string{d + "message", m + "pkey"}, total},
		{"an app's messages", true, ledger.Filter{App: w.App.ID}, []string{d + "message", m + "app"}, total},
		{"a small app's messages", true, ledger.Filter{App: w.small.ID}, []string{d + "message", m + "app"}, total},
		{"messages of a batch", true, ledger.Filter{App: w.App.ID, Batch: batch}, []string{d + "message", m + "batch"}, 2000},
		{"messages of a reference", true, ledger.Filter{App: w.App.ID, RefID: "hot"}, []string{d + "message", m + "ref"}, total},
		{"messages of a week", true, week, []string{d + "message", m + "app"}, 30_000},
		{"messages by id", true, ledger.Filter{App: w.App.ID, Message: message}, []string{m + "app|" + m + "pkey"}, 10},
		{"messages of a profile", true, ledger.Filter{Profile: w.Profile.ID}, []string{d + "message", m + "pkey"}, rest},
		{"messages in a state", true, ledger.Filter{App: w.App.ID, Statuses: status(failed)}, []string{d + "message", m + "app"}, 2 * rest},
		{"messages to a recipient", true, ledger.Filter{App: w.App.ID, Recipient: "u77@d77.example"}, []string{d + "address", d + "message", m + "pkey"}, 400},
	}
}

// scanNode is a step of PostgreSQL's plan, with what it read.
type scanNode struct {
	Type    string  `json:"Node Type"`
	Table   string  `json:"Relation Name"`
	Index   string  `json:"Index Name"`
	Rows    float64 `json:"Actual Rows"`
	Loops   float64 `json:"Actual Loops"`
	Removed float64 `json:"Rows Removed by Filter"`
	Hit     float64 `json:"Shared Hit Blocks"`
	Read    float64 `json:"Shared Read Blocks"`
	Plans   []scanNode
}

// listed are the tables that lists may never read whole.
var listed = []string{"deliveries", "messages", "delivery_events", "contents"}

func (n *scanNode) walk(indexes map[string]bool, reads *int, faults *[]string) {
	if slices.Contains(listed, n.Table) {
		*reads += int((n.Rows + n.Removed) * n.Loops)
		if n.Type == "Seq Scan" {
			*faults = append(*faults, n.Type+" on "+n.Table)
		}
		// A row looked up by its id is four pages away. What an index passes over without finding a row stands in no number of rows:
		// a walk that does not end with its range goes on through all of an app's.
		if pages, rows := n.Hit+n.Read, (n.Rows+n.Removed)*n.Loops; pages > 6*rows+10*n.Loops {
			*faults = append(*faults, fmt.Sprintf("%s by %s: %v pages for %v rows", n.Type, n.Index, pages, rows))
		}
	}
	if n.Index != "" && n.Table != "apps" {
		indexes[n.Index] = true
	}
	for i := range n.Plans {
		n.Plans[i].walk(indexes, reads, faults)
	}
}

// Every filter that is allowed is served by its index, and reads no more than
// its bound, on a ledger of 200,000 rows.
func TestListPlansPostgres(t *testing.T) {
	w := fillLarge(t, open(t, testserver.Postgres(t)))
	for _, c := range w.cases() {
		es, err := w.ExplainList(t.Context(), c.messages, c.f, ledger.Paging{Limit: 50, Total: true})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		indexes, reads := map[string]bool{}, 0
		var faults []string
		for _, e := range es {
			var plans []struct{ Plan scanNode }
			if err := json.Unmarshal([]byte(e.Plan), &plans); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			plans[0].Plan.walk(indexes, &reads, &faults)
		}
		checkPlan(t, &c, indexes, faults, es)
		if reads > c.reads {
			t.Errorf("%s: reads %d rows, bound %d", c.name, reads, c.reads)
			logPlans(t, es)
		}
	}
	walkRest(t, w)
}

func checkPlan(t *testing.T, c *planCase, indexes map[string]bool, faults []string, es []ledger.Explained) {
	t.Helper()
	var got []string
	for i := range indexes {
		got = append(got, i)
	}
	slices.Sort(got)
	// "a|b" is either.
	wanted := slices.EqualFunc(got, c.indexes, func(g, w string) bool { return slices.Contains(strings.Split(w, "|"), g) })
	if len(faults) > 0 || !wanted {
		t.Errorf("%s: uses %v, want %v; faults %v", c.name, got, c.indexes, faults)
		logPlans(t, es)
	}
}

func logPlans(t *testing.T, es []ledger.Explained) {
	t.Helper()
	for _, e := range es {
		t.Logf("%.1500s\n%.6000s", e.Query, e.Plan)
	}
}

var sqliteUse = regexp.MustCompile(`(?m)^(SCAN|SEARCH) ([dm])(?: EXISTS)?(?: USING (?:COVERING )?INDEX (\w+)| USING PRIMARY KEY)?`)

var sqliteInner = regexp.MustCompile(`(?m)^(?:CO-ROUTINE|MATERIALIZE) ([dm])$`)

func TestListPlansSQLite(t *testing.T) {
	w := fillLarge(t, open(t, "sqlite://"+filepath.Join(t.TempDir(), "ledger.db")))
	for _, c := range w.cases() {
		es, err := w.ExplainList(t.Context(), c.messages, c.f, ledger.Paging{Limit: 50, Total: true})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		indexes := map[string]bool{}
		var faults []string
		for _, e := range es {
			uses := sqliteUse.FindAllStringSubmatch(e.Plan, -1)
			if inner := sqliteInner.FindStringSubmatch(e.Plan); inner != nil {
				// The outer select's scan of the inner one, whose alias is the table's.
				i := slices.IndexFunc(uses, func(m []string) bool { return m[0] == "SCAN "+inner[1] })
				for j := i + 1; j < len(uses); j++ {
					if uses[j][0] == "SCAN "+inner[1] {
						i = j
					}
				}
				if i >= 0 {
					uses = slices.Delete(uses, i, i+1)
				}
			}
			for _, m := range uses {
				table := map[string]string{"d": "deliveries", "m": "messages"}[m[2]]
				index := m[3]
				if index == "" || strings.HasPrefix(index, "sqlite_autoindex") {
					// WITHOUT ROWID: the table is its primary key's tree.
					index = table + "_pkey"
				}
				indexes[index] = true
				if m[1] == "SCAN" && !strings.Contains(e.Query, "LIMIT ?") {
					faults = append(faults, "an unbounded scan of "+table)
				}
			}
			if strings.Contains(e.Plan, "USE TEMP B-TREE FOR ORDER BY") && !strings.Contains(e.Query, "SELECT * FROM (") && !strings.Contains(e.Query, ".id IN (") {
				faults = append(faults, "a sort of more than a page")
			}
		}
		checkPlan(t, &c, indexes, faults, es)
	}
	walkRest(t, w)
}

// walkRest finds the one bulk delivery, the oldest but seven, in steps of the
// budget: pages without items lead on, and each row is read once.
func walkRest(t *testing.T, w *large) {
	t.Helper()
	p := ledger.Paging{Limit: 10}
	found, pages := 0, 0
	for {
		page, err := w.Deliveries(t.Context(), ledger.Filter{Lane: postledger.LaneBulk}, p)
		if err != nil {
			t.Fatal(err)
		}
		pages++
		found += len(page.Items)
		if page.Next == "" {
			break
		}
		p.Cursor = page.Next
	}
	if want := largeRows/ledger.ListBudget + 1; found != 1 || pages > want || pages < want-1 {
		t.Errorf("found %d of 1 in %d pages, want %d pages", found, pages, want)
	}
}
