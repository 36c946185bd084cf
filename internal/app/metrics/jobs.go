package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/postledger/postledger/jobs"
)

// jobMetrics are the job queue's.
type jobMetrics struct {
	enqueued, spilled, runs *prometheus.CounterVec
	unreached               prometheus.Counter
	runSeconds, waitSeconds *prometheus.HistogramVec
	hot, hotBytes           *prometheus.GaugeVec
	backlog, oldest         *prometheus.GaugeVec
	overflow                *prometheus.GaugeVec
}

func (m *Metrics) makeJobs() {
	m.jobs = jobMetrics{
		enqueued: m.counters(jobsEnqueued), spilled: m.counters(jobsSpilled), runs: m.counters(jobRuns),
		unreached:  m.counters(jobsUnreached).WithLabelValues(),
		runSeconds: m.histograms(jobRunSeconds, buckets()), waitSeconds: m.histograms(jobWaitSeconds, longBuckets()),
		hot: m.gauges(hotJobs), hotBytes: m.gauges(hotJobBytes),
		backlog: m.gauges(jobBacklog), oldest: m.gauges(jobOldest), overflow: m.gauges(jobOverflow),
	}
}

// JobObserver hears of jobs.
func (m *Metrics) JobObserver() jobs.Observer { return jobObserver{&m.jobs} }

type jobObserver struct{ m *jobMetrics }

func (o jobObserver) Enqueued(lane jobs.Lane, accepted, spilled int) {
	o.m.enqueued.WithLabelValues(string(lane)).Add(float64(accepted))
	o.m.spilled.WithLabelValues(string(lane)).Add(float64(spilled))
}

func (o jobObserver) Unavailable() { o.m.unreached.Inc() }

func (o jobObserver) Ran(handler string, lane jobs.Lane, outcome jobs.Outcome, waited, took time.Duration) {
	o.m.runs.WithLabelValues(handler, string(outcome)).Inc()
	o.m.runSeconds.WithLabelValues(handler).Observe(took.Seconds())
	o.m.waitSeconds.WithLabelValues(string(lane)).Observe(max(0, waited.Seconds()))
}

// JobDrain serves what the drain of this process has counted, as it is scraped.
func (m *Metrics) JobDrain(stats func() jobs.DrainStats) {
	m.registry.MustRegister(drainCollector{stats, describe(jobsDrained), describe(jobsRefused), describe(jobsRecovered)})
}

type drainCollector struct {
	stats                       func() jobs.DrainStats
	drained, refused, recovered *prometheus.Desc
}

func (c drainCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- c.drained
	ch <- c.refused
	ch <- c.recovered
}

func (c drainCollector) Collect(ch chan<- prometheus.Metric) {
	s := c.stats()
	ch <- prometheus.MustNewConstMetric(c.drained, prometheus.CounterValue, float64(s.Drained))
	ch <- prometheus.MustNewConstMetric(c.refused, prometheus.CounterValue, float64(s.Refused))
	ch <- prometheus.MustNewConstMetric(c.recovered, prometheus.CounterValue, float64(s.Rebuffered))
}

// HotJobs notes what the hot set holds; nil is a set that is another process's or
// out of reach, which has no value.
func (m *Metrics) HotJobs(depth *jobs.Depth, overflow time.Duration) {
	for _, g := range []*prometheus.GaugeVec{m.jobs.hot, m.jobs.hotBytes, m.jobs.overflow} {
		g.Reset()
	}
	if depth == nil {
		return
	}
	for _, lane := range jobs.Lanes {
		m.jobs.hot.WithLabelValues(string(lane)).Set(float64(depth.Of(lane).Jobs))
		m.jobs.hotBytes.WithLabelValues(string(lane)).Set(float64(depth.Of(lane).Bytes))
	}
	m.jobs.overflow.WithLabelValues().Set(overflow.Seconds())
}

// JobBacklog notes what waits in rows; nil is another process's to tell.
func (m *Metrics) JobBacklog(b *jobs.Backlog) {
	m.jobs.backlog.Reset()
	m.jobs.oldest.Reset()
	if b == nil {
		return
	}
	for _, lane := range jobs.Lanes {
		m.jobs.backlog.WithLabelValues(string(lane), "waiting").Set(float64(b.Buffered[lane]))
		m.jobs.oldest.WithLabelValues(string(lane)).Set(b.Oldest[lane].Seconds())
	}
	m.jobs.backlog.WithLabelValues("", "scheduled").Set(float64(b.Scheduled))
	m.jobs.backlog.WithLabelValues("", "admitted").Set(float64(b.Admitted))
	m.jobs.backlog.WithLabelValues("", "quarantined").Set(float64(b.Quarantined))
}
