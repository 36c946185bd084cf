package metrics

import (
	"database/sql"
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics is the registry of one process. Its methods may be called from any
// goroutine and do not block.
type Metrics struct {
	registry *prometheus.Registry

	httpRequests, accepted, leased, sent, settled, requeued *prometheus.CounterVec
	httpSeconds, leaseSeconds, sendSeconds, latency         *prometheus.HistogramVec
	profileUp, profileRate, waiting, oldestDue              *prometheus.GaugeVec
	journalTaken                                            prometheus.Gauge
	webhookTries, webhookEvents                             *prometheus.CounterVec
	webhookSeconds                                          prometheus.Observer
	webhookDisabled                                         prometheus.Counter
	webhooks                                                *prometheus.GaugeVec
	counts                                                  *prometheus.CounterVec
	countRows                                               prometheus.Counter
	countSeconds                                            prometheus.Observer
	waiters, unconfirmed, workers, retention, sampledAt     prometheus.Gauge
	logBytes                                                prometheus.Gauge
	sampleFails                                             prometheus.Counter
	jobs                                                    jobMetrics
}

// Requests take from half a millisecond (a replay) to half a minute (Prefer).
func buckets() []float64 {
	return []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}
}

// From acceptance to the next hop: from milliseconds to a day of retries.
func longBuckets() []float64 {
	return []float64{.01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 14400, 86400}
}

// New makes the registry. pool reads the state of the ledger's connections.
func New(version string, schema int, pool func() sql.DBStats) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	m.httpRequests, m.accepted, m.leased = m.counters(httpRequests), m.counters(accepted), m.counters(leased)
	m.sent, m.settled, m.requeued = m.counters(sent), m.counters(settled), m.counters(requeued)
	m.httpSeconds, m.leaseSeconds = m.histograms(httpSeconds, buckets()), m.histograms(leaseSeconds, buckets())
	m.sendSeconds, m.latency = m.histograms(sendSeconds, buckets()), m.histograms(latency, longBuckets())
	m.webhookTries, m.webhookEvents, m.webhooks = m.counters(webhookTries), m.counters(webhookEvents), m.gauges(webhooks)
	m.webhookSeconds = m.histograms(webhookSeconds, buckets()).WithLabelValues()
	m.webhookDisabled = m.counters(webhookDisabled).WithLabelValues()
	m.counts, m.countRows = m.counters(counts), m.counters(countRows).WithLabelValues()
	m.countSeconds = m.histograms(countSeconds, buckets()).WithLabelValues()
	m.profileUp, m.waiting, m.oldestDue = m.gauges(profileUp), m.gauges(waiting), m.gauges(oldestDue)
	m.profileRate = m.gauges(profileRate)
	m.waiters, m.unconfirmed, m.workers = m.gauge(waiters), m.gauge(unconfirmed), m.gauge(workers)
	m.journalTaken = m.gauge(journalTaken)
	m.logBytes = m.gauge(logBytes)
	m.retention, m.sampledAt = m.gauge(retention), m.gauge(sampledAt)
	m.sampleFails = m.counters(sampleFails).WithLabelValues()
	m.makeJobs()
	m.gauges(buildInfo).WithLabelValues(version, strconv.Itoa(schema)).Set(1)
	m.registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		poolCollector{pool, describe(dbOpen), describe(dbMax), describe(dbWaits), describe(dbWaitSeconds)},
	)
	return m
}

// Handler answers scrapes.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

func (m *Metrics) counters(d metric) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: d.name, Help: d.help}, d.labels)
	m.registry.MustRegister(v)
	return v
}

func (m *Metrics) gauges(d metric) *prometheus.GaugeVec {
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: d.name, Help: d.help}, d.labels)
	m.registry.MustRegister(v)
	return v
}

func (m *Metrics) gauge(d metric) prometheus.Gauge { return m.gauges(d).WithLabelValues() }

func (m *Metrics) histograms(d metric, buckets []float64) *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: d.name, Help: d.help, Buckets: buckets}, d.labels)
	m.registry.MustRegister(v)
	return v
}

func describe(d metric) *prometheus.Desc { return prometheus.NewDesc(d.name, d.help, d.labels, nil) }

// poolCollector reads the pool when it is scraped: that costs a mutex.
type poolCollector struct {
	stats                    func() sql.DBStats
	open, max, waits, waited *prometheus.Desc
}

func (c poolCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.open, c.max, c.waits, c.waited} {
		ch <- d
	}
}

func (c poolCollector) Collect(ch chan<- prometheus.Metric) {
	s := c.stats()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	gauge(c.open, float64(s.InUse), "in_use")
	gauge(c.open, float64(s.Idle), "idle")
	gauge(c.max, float64(s.MaxOpenConnections))
	ch <- prometheus.MustNewConstMetric(c.waits, prometheus.CounterValue, float64(s.WaitCount))
	ch <- prometheus.MustNewConstMetric(c.waited, prometheus.CounterValue, s.WaitDuration.Seconds())
}
