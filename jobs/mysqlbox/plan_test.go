package mysqlbox_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/postledger/postledger/jobs/internal/plantest"
	"github.com/postledger/postledger/jobs/mysqlbox"
)

// With a backlog no statement reads the table from end to end. Rows that are
// admitted or set aside have no index of their own: they are found by their state.
func TestPlans(t *testing.T) {
	t.Parallel()
	db := open(t, "")
	migrate(t, db)
	plantest.Fill(t, db, "UNHEX(MD5(n))", "ANALYZE TABLE job_outbox")
	whole := regexp.MustCompile(`table=(job_outbox|o);.* type=(ALL|index);`)
	for _, s := range plantest.Statements(t, db, mysqlbox.Dialect()) {
		if s.Name == "upsert" || s.Name == "next due" {
			continue // an insert has no plan here, and the other reads one entry
		}
		key := "key=job_outbox_" + s.Index
		if s.Index == "admitted" || s.Index == "aside" {
			key = "key=job_outbox_"
		}
		plan := strings.Join(plantest.Explain(t, db, mysqlbox.Dialect(), s), "\n")
		if whole.MatchString(plan) || !strings.Contains(plan, key) {
			t.Errorf("%s: want the index %s\n%s", s.Name, s.Index, plan)
		}
		if s.Ordered && strings.Contains(plan, "filesort") {
			t.Errorf("%s: want the order of the index %s\n%s", s.Name, s.Index, plan)
		}
	}
}
