package pgbox_test

import (
	"strings"
	"testing"

	"github.com/postledger/postledger/jobs/internal/plantest"
	"github.com/postledger/postledger/jobs/pgbox"
)

// With a backlog no statement reads the table from end to end.
func TestPlans(t *testing.T) {
	t.Parallel()
	db, _ := open(t)
	plantest.Fill(t, db, "md5(n::text)::uuid", "VACUUM (ANALYZE) job_outbox")
	for _, s := range plantest.Statements(t, db, pgbox.Dialect()) {
		if s.Name == "backlog" {
			continue // it counts most rows; which way is cheaper depends on their size
		}
		plan := strings.Join(plantest.Explain(t, db, pgbox.Dialect(), s), "\n")
		if strings.Contains(plan, "Seq Scan on job_outbox") || !strings.Contains(plan, "job_outbox_"+s.Index) {
			t.Errorf("%s: want the index %s\n%s", s.Name, s.Index, plan)
		}
		if s.Ordered && strings.Contains(plan, "Sort") {
			t.Errorf("%s: want the order of the index %s\n%s", s.Name, s.Index, plan)
		}
	}
}
