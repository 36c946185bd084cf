package deliver_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/postledger/postledger/internal/testserver"
)

// A database of PostgreSQL takes a second to make, migrate and drop, so tests
// hand them on: emptied, and only by a test that passed.
type databases struct {
	process processTB
	mu      sync.Mutex
	idle    []string
}

// processTB is a testing.TB that lives as long as the process.
type processTB struct {
	testing.TB
	ends []func()
}

func (p *processTB) Helper()          {}
func (p *processTB) Cleanup(f func()) { p.ends = append(p.ends, f) }
func (p *processTB) Logf(format string, args ...any) {
	fmt.Printf(format+"\n", args...)
}

func (p *processTB) Errorf(format string, args ...any) { p.Logf(format, args...) }

func (p *processTB) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

func (p *processTB) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func (p *processTB) end() {
	for i := len(p.ends) - 1; i >= 0; i-- {
		p.ends[i]()
	}
}

// shared are the databases of this test binary.
var shared databases

// postgres is the URL of an empty database that no other test uses.
func postgres(t *testing.T) string {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	var url string
	if n := len(shared.idle); n > 0 {
		url, shared.idle = shared.idle[n-1], shared.idle[:n-1]
	} else {
		url = testserver.Postgres(&shared.process)
	}
	t.Cleanup(func() {
		if t.Failed() {
			return
		}
		if err := empty(url); err != nil {
			t.Errorf("empty the database: %v", err)
			return
		}
		shared.mu.Lock()
		defer shared.mu.Unlock()
		shared.idle = append(shared.idle, url)
	})
	return url
}

// empty deletes all rows but those of the schema.
func empty(url string) error {
	ctx := context.Background()
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	_, err = c.Exec(ctx, `DO $$ DECLARE t text; BEGIN
		FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = 'public'
			AND tablename NOT IN ('ledger_state', 'settings', 'goose_db_version') LOOP
			EXECUTE 'DELETE FROM ' || quote_ident(t);
		END LOOP;
		UPDATE ledger_state SET state = 'open', restored_at = NULL;
	END $$`)
	return err
}

// database is the URL of an empty database of a kind.
func database(t *testing.T, kind string) string {
	t.Helper()
	if kind == "postgres" {
		return postgres(t)
	}
	return "sqlite://" + filepath.Join(t.TempDir(), "ledger.db")
}
