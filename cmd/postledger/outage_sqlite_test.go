package main_test

import (
	"database/sql"
	"os"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // registers the database/sql driver "sqlite"

	"github.com/postledger/postledger/internal/testserver"
)

// What befalls an embedded ledger's disk and file.
func TestSQLiteFaults(t *testing.T) {
	t.Parallel()
	for name, fault := range sqliteFaults() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fault(t, shortOutage())
		})
	}
}

func TestSQLiteFaultsLong(t *testing.T) {
	if os.Getenv("POSTLEDGER_LONG") == "" {
		t.Skip("POSTLEDGER_LONG is not set")
	}
	for name, fault := range sqliteFaults() {
		t.Run(name, func(t *testing.T) { fault(t, longOutage()) })
	}
}

func sqliteFaults() map[string]func(*testing.T, outageForm) {
	return map[string]func(*testing.T, outageForm){
		"disk full": func(t *testing.T, f outageForm) {
			disk := testserver.NewSmallDisk(t, 96)
			p := newPlace(t, f.set...)
			p.dir = disk.Dir
			p.env = append(p.env, "POSTLEDGER_DATA_DIR="+disk.Dir)
			o := newOutage(t, f, p)
			o.calm()
			// A commit that needs no new page still succeeds.
			o.fault(outageKind{silent: true, beats: func() int64 { return beats(t, p) }}, disk.Fill, disk.Free)
			o.over()
		},
		"a reader that stays": func(t *testing.T, f outageForm) {
			p := newPlace(t, f.set...)
			o := newOutage(t, f, p)
			o.crowd.size = 50_000
			if os.Getenv("POSTLEDGER_LONG") != "" {
				o.crowd.size = 200_000
			}
			o.calm()
			reader := read(t, p)
			before, refused := walBytes(t, p), o.crowd.refused
			o.lasts(f.lasts, func() {
				if !o.ready() {
					t.Error("it is not ready")
				}
			})
			// What it is cut back to, and more.
			o.until("the log grows", func() bool { return walBytes(t, p) > logLimit+logLimit/4 })
			grown := walBytes(t, p)
			if grown > 300<<20 {
				o.until("it is said", func() bool { return strings.Contains(o.logged(), "write-ahead log grows") })
			}
			o.until("it is measured", func() bool { return o.metric("postledger_sqlite_log_bytes") > before })
			if err := reader.Rollback(); err != nil {
				t.Fatal(err)
			}
			o.works()
			o.until("the log is cut back", func() bool { return walBytes(t, p) <= logLimit })
			t.Logf("the log grew from %d to %d MiB, and is %d in the end", before>>20, grown>>20, walBytes(t, p)>>20)
			if o.crowd.refused != refused {
				t.Errorf("%d requests were refused", o.crowd.refused-refused)
			}
			o.over()
		},
	}
}

// logLimit is what a write-ahead log is cut back to (journal_size_limit).
const logLimit = 64 << 20

// read opens a snapshot of an embedded ledger, as another program would.
func read(t *testing.T, p place) *sql.Tx {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+p.database()+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := tx.QueryRowContext(t.Context(), "SELECT count(*) FROM workers").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return tx
}

// beats is how many heartbeats the ledger holds.
func beats(t *testing.T, p place) (n int64) {
	t.Helper()
	tx := read(t, p)
	defer func() { _ = tx.Rollback() }()
	if err := tx.QueryRowContext(t.Context(), "SELECT sum(beat) FROM workers").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func walBytes(t *testing.T, p place) int {
	t.Helper()
	info, err := os.Stat(p.database() + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	return int(info.Size())
}
