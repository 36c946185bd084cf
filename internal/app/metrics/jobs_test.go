package metrics_test

import (
	"strings"
	"testing"
	"time"

	"github.com/postledger/postledger/internal/app/metrics"
	"github.com/postledger/postledger/jobs"
)

// jobsOf gives a value to each metric of jobs.
func jobsOf(m *metrics.Metrics) {
	o := m.JobObserver()
	o.Enqueued(jobs.Slow, 5, 2)
	o.Unavailable()
	o.Ran("webhook", jobs.Slow, jobs.Retried, time.Minute, time.Second)
	m.JobDrain(func() jobs.DrainStats { return jobs.DrainStats{Drained: 7, Refused: 1, Rebuffered: 3} })
	m.HotJobs(&jobs.Depth{Slow: jobs.LaneDepth{Jobs: 4, Bytes: 900}}, 90*time.Second)
	m.JobBacklog(&jobs.Backlog{
		Buffered: map[jobs.Lane]int64{jobs.Slow: 11}, Oldest: map[jobs.Lane]time.Duration{jobs.Slow: time.Hour},
		Scheduled: 2, Admitted: 4, Quarantined: 1,
	})
}

func TestJobs(t *testing.T) {
	m := exercised(t)
	got := scrape(t, m)
	for _, want := range []string{
		`postledger_jobs_enqueued_total{lane="slow"} 5`,
		`postledger_jobs_spilled_total{lane="slow"} 2`,
		`postledger_jobs_unreached_total 1`,
		`postledger_jobs_drained_total 7`,
		`postledger_jobs_recovered_total 3`,
		`postledger_job_runs_total{handler="webhook",outcome="retried"} 1`,
		`postledger_job_wait_seconds_count{lane="slow"} 1`,
		`postledger_hot_jobs{lane="slow"} 4`,
		`postledger_hot_job_bytes{lane="slow"} 900`,
		`postledger_job_overflow_seconds 90`,
		`postledger_job_rows{lane="slow",state="waiting"} 11`,
		`postledger_job_rows{lane="",state="quarantined"} 1`,
		`postledger_job_oldest_seconds{lane="slow"} 3600`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("no line %q", want)
		}
	}
	// What another process knows has no value here.
	m.HotJobs(nil, 0)
	m.JobBacklog(nil)
	for _, name := range []string{"postledger_hot_jobs{", "postledger_job_rows{", "postledger_job_oldest_seconds{", "postledger_job_overflow_seconds "} {
		if strings.Contains(scrape(t, m), name) {
			t.Errorf("%s has a value", name)
		}
	}
}
