package metrics

import (
	"fmt"
	"strings"
)

// metric is one name, as it is registered and documented.
type metric struct {
	name   string
	kind   string
	labels []string
	help   string
}

// The metrics, in the order of a message's way.
var (
	buildInfo = metric{"postledger_build_info", "gauge", []string{"version", "schema"}, "Always 1; says what runs."}

	httpRequests = metric{"postledger_http_requests_total", "counter", []string{"route", "status"}, "Requests answered by the API, by route and status."}
	httpSeconds  = metric{"postledger_http_request_seconds", "histogram", []string{"route"}, "Time from a request to the end of its answer, waiting by Prefer included."}
	waiters      = metric{"postledger_waiters", "gauge", nil, "Callers that wait for their message to settle (at most 1,000)."}

	accepted = metric{"postledger_accepted_deliveries_total", "counter", []string{"profile"}, "Deliveries accepted by this process."}

	leased       = metric{"postledger_leased_deliveries_total", "counter", []string{"lane"}, "Deliveries leased by this process."}
	leaseSeconds = metric{"postledger_lease_seconds", "histogram", []string{"lane"}, "Time of one lease in the ledger."}

	sent        = metric{"postledger_sent_total", "counter", []string{"profile", "lane", "outcome"}, "Transactions with the next hop, by the outcome of an envelope."}
	sendSeconds = metric{"postledger_send_seconds", "histogram", []string{"profile", "lane"}, "Time of one transaction with the next hop."}

	settled  = metric{"postledger_settled_total", "counter", []string{"profile", "status", "reason"}, "Deliveries settled by this process. Mail that a sandbox kept has the reason sandbox."}
	requeued = metric{"postledger_requeued_total", "counter", []string{"profile", "reason"}, "Deliveries that wait again after a lease: deferred ones are retries, the others were not charged."}
	latency  = metric{"postledger_delivery_seconds", "histogram", []string{"lane"}, "Time from acceptance to the next hop's responsibility, for deliveries that were sent."}

	webhookTries    = metric{"postledger_webhook_tries_total", "counter", []string{"verdict"}, "Tries to tell an endpoint of a delivery: delivered, throttled (429, 502, 503, 504), refused (any other answer), gone (410), unreachable, or forbidden (an address that webhooks do not go to)."}
	webhookSeconds  = metric{"postledger_webhook_try_seconds", "histogram", nil, "Time of one such try."}
	webhookEvents   = metric{"postledger_webhook_events_total", "counter", []string{"end"}, "Events that are not tried again: delivered, exhausted (the last try failed), or dropped (the endpoint was disabled or removed, or the delivery is not kept any more)."}
	webhookDisabled = metric{"postledger_webhooks_disabled_total", "counter", nil, "Endpoints that this process disabled by itself: nothing had succeeded for 21 hours, or they said that they are gone."}
	webhooks        = metric{"postledger_webhooks", "gauge", []string{"state"}, "Endpoints: working, failing (no try has succeeded for a while), or disabled."}

	counts       = metric{"postledger_audience_counts_total", "counter", []string{"outcome"}, "Counts of audiences that were asked for, by how they ended: done, refused (the audience is not good), busy (as many ran as may), unavailable (the source did not answer as it should), too_long, gone (the caller), stopped (with the process), or failed (the ledger or the disk)."}
	countRows    = metric{"postledger_audience_count_rows_total", "counter", nil, "Rows of applications' databases that counts have read, also those that did not come to their end."}
	countSeconds = metric{"postledger_audience_count_seconds", "histogram", nil, "Time of one count, from the request to its end, but for busy ones."}

	profileUp = metric{"postledger_profile_up", "gauge", []string{"profile", "state"}, "1 for the state a profile's next hop is in: up, down or paused."}

	profileRate = metric{"postledger_profile_rate", "gauge", []string{"profile"}, "Recipients a minute that this process may send now: its share of the profile's pace, less what a throttling hop took away; 0 is no bound."}

	journalTaken = metric{"postledger_journal_slots_taken", "gauge", nil, "Envelopes of this process between their final dot and the commit of their settle: what a crash now would leave to the wire journal."}

	waiting     = metric{"postledger_waiting_deliveries", "gauge", []string{"profile"}, "Queued deliveries of a profile, counted up to 10,000."}
	oldestDue   = metric{"postledger_oldest_due_seconds", "gauge", []string{"lane"}, "How long ago the oldest waiting delivery of a lane was due; 0 when none is late. Paused profiles count."}
	unconfirmed = metric{"postledger_unconfirmed_deliveries", "gauge", nil, "Deliveries whose fate is unknown, counted up to 10,000."}
	workers     = metric{"postledger_workers", "gauge", nil, "Processes that deliver from this ledger and have not ended."}
	retention   = metric{"postledger_retention_lag_seconds", "gauge", nil, "How long ago the oldest thing that retention should have removed was due for it; 0 when nothing is."}
	logBytes    = metric{"postledger_sqlite_log_bytes", "gauge", nil, "Size of the embedded ledger's write-ahead log; 0 with PostgreSQL. It grows while a reader holds an old snapshot."}
	sampleFails = metric{"postledger_sample_failures_total", "counter", nil, "Looks at the ledger that failed; the gauges above then keep their last values."}
	sampledAt   = metric{"postledger_sampled_timestamp_seconds", "gauge", nil, "When the ledger was last looked at for these gauges."}

	dbOpen        = metric{"postledger_db_connections", "gauge", []string{"state"}, "Open connections of the ledger's pool (SQLite: readers), in_use or idle."}
	dbMax         = metric{"postledger_db_connections_max", "gauge", nil, "The bound of the pool."}
	dbWaits       = metric{"postledger_db_waits_total", "counter", nil, "How often something waited for a connection."}
	dbWaitSeconds = metric{"postledger_db_wait_seconds_total", "counter", nil, "How long it waited together."}
)

// The job queue's.
var (
	jobsEnqueued   = metric{"postledger_jobs_enqueued_total", "counter", []string{"lane"}, "Background jobs that this process handed over."}
	jobsSpilled    = metric{"postledger_jobs_spilled_total", "counter", []string{"lane"}, "Those of them that wait in their rows, because what is hot had no room or could not be reached."}
	jobsUnreached  = metric{"postledger_jobs_unreached_total", "counter", nil, "How often what is hot (Redis) could not be reached to hand a job over."}
	jobsDrained    = metric{"postledger_jobs_drained_total", "counter", nil, "Rows that this process moved to where workers get at them. One process at a time does."}
	jobsRefused    = metric{"postledger_jobs_refused_total", "counter", nil, "Rows that could not be moved; after five times one is set aside."}
	jobsRecovered  = metric{"postledger_jobs_recovered_total", "counter", nil, "Rows that wait again because their jobs were lost with Redis or with a process."}
	jobRuns        = metric{"postledger_job_runs_total", "counter", []string{"handler", "outcome"}, "Runs of jobs by this process, by how they ended: done, retried, postponed, set_aside, replaced or abandoned."}
	jobRunSeconds  = metric{"postledger_job_run_seconds", "histogram", []string{"handler"}, "Time of one run."}
	jobWaitSeconds = metric{"postledger_job_wait_seconds", "histogram", []string{"lane"}, "Time from handing a job over to the start of a run."}

	hotJobs     = metric{"postledger_hot_jobs", "gauge", []string{"lane"}, "Jobs in memory or Redis, which limits bound. No value where another process has them, or Redis is out of reach."}
	hotJobBytes = metric{"postledger_hot_job_bytes", "gauge", []string{"lane"}, "Their bytes, as an allocator counts them."}
	jobOverflow = metric{"postledger_job_overflow_seconds", "gauge", nil, "For how long new jobs have had to wait in rows; 0 when they need not."}
	jobBacklog  = metric{"postledger_job_rows", "gauge", []string{"lane", "state"}, "Rows of jobs: waiting, scheduled (for later), admitted (hot), quarantined (set aside). Only the process that moves them has values."}
	jobOldest   = metric{"postledger_job_oldest_seconds", "gauge", []string{"lane"}, "How long the oldest waiting row of a lane has waited. Only the process that moves them has values."}
)

func all() []metric {
	return []metric{
		buildInfo, httpRequests, httpSeconds, waiters, accepted, leased, leaseSeconds, sent, sendSeconds,
		settled, requeued, latency, webhookTries, webhookSeconds, webhookEvents, webhookDisabled, webhooks, counts, countRows, countSeconds, profileUp, profileRate, journalTaken, waiting, oldestDue, unconfirmed, workers, retention, logBytes, sampleFails, sampledAt,
		dbOpen, dbMax, dbWaits, dbWaitSeconds,
		jobsEnqueued, jobsSpilled, jobsUnreached, jobsDrained, jobsRefused, jobsRecovered, jobRuns, jobRunSeconds, jobWaitSeconds,
		hotJobs, hotJobBytes, jobOverflow, jobBacklog, jobOldest,
	}
}

// Markdown is docs/metrics.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString(`# Metrics

<!-- Made from internal/app/metrics/names.go: go test ./internal/app/metrics -run TestVerifyMetrics -update -->

The administration listener (` + "`admin_http`" + `) answers ` + "`/metrics`" + ` in Prometheus' format. Counters are this
process's own and start at 0 with it; gauges about the ledger are the same for all processes of a
ledger, and are read every ten seconds.

| name | type | labels | meaning |
|---|---|---|---|
`)
	for _, m := range all() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m.name, m.kind, strings.Join(m.labels, ", "), m.help)
	}
	b.WriteString(`
The usual metrics of a Go process (` + "`go_…`, `process_…`" + `) come along.

## What to watch

| alarm | when |
|---|---|
| immediate mail is late | ` + "`postledger_oldest_due_seconds{lane=\"immediate\"} > 60`" + ` |
| a next hop is unreachable or refuses us | ` + "`postledger_profile_up{state!=\"up\"} == 1`" + ` for 5 minutes |
| somebody must decide | ` + "`postledger_unconfirmed_deliveries > 0`" + ` for an hour |
| retention does not keep up | ` + "`postledger_retention_lag_seconds > 86400`" + ` |
| somebody reads the embedded ledger for too long | ` + "`postledger_sqlite_log_bytes > 256e6`" + ` |
| the ledger cannot be asked | ` + "`time() - postledger_sampled_timestamp_seconds > 120`" + ` |
| background jobs do not keep up | ` + "`postledger_job_overflow_seconds > 300`" + ` |
| jobs were given up | ` + "`sum(postledger_job_rows{state=\"quarantined\"}) > 0`" + ` |
| Redis cannot be reached | ` + "`rate(postledger_jobs_unreached_total[5m]) > 0`" + ` |
| a source of audiences cannot be read | ` + "`rate(postledger_audience_counts_total{outcome=~\"unavailable|too_long\"}[15m]) > 0`" + ` |
| requests wait for the database | ` + "`rate(postledger_db_wait_seconds_total[5m]) > 0.5`" + ` |
`)
	return b.String()
}
