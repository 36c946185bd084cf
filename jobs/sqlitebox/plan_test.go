package sqlitebox_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/postledger/postledger/jobs/internal/plantest"
	"github.com/postledger/postledger/jobs/sqlitebox"
)

// With a backlog no statement reads the table from end to end. The database is
// not analyzed: few are.
func TestPlans(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "jobs.db")+"?_pragma=journal_mode(WAL)")
	migrate(t, db)
	plantest.Fill(t, db, "randomblob(16)")
	whole := regexp.MustCompile(`SCAN (job_outbox|o);`)
	for _, s := range plantest.Statements(t, db, sqlitebox.Dialect()) {
		if s.Name == "upsert" {
			continue // an insert has no plan here
		}
		plan := strings.Join(plantest.Explain(t, db, sqlitebox.Dialect(), s), "\n")
		if whole.MatchString(plan) || !strings.Contains(plan, "job_outbox_"+s.Index) {
			t.Errorf("%s: want the index %s\n%s", s.Name, s.Index, plan)
		}
		if s.Ordered && strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("%s: want the order of the index %s\n%s", s.Name, s.Index, plan)
		}
	}
}
