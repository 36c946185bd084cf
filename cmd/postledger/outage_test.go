package main_test

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/client"
	"github.com/postledger/postledger/internal/deliver/crashtest"
)

// outage is a server whose database is about to have a fault, a crowd that
// goes on sending through it, and a hop that keeps count.
type outage struct {
	t *testing.T
	*server
	form  outageForm
	hop   *crashtest.Sink
	crowd *crowd
	// attempts is how many connections to the database were asked for; nil
	// where there are none.
	attempts func() int
	// sessions is how many the process has at the database.
	sessions func() int
	// before is how many goroutines and sessions there are when all is well.
	goroutines, before int
	seen               int // lines of the log that were counted already
}

// outageForm is how long a fault lasts, and the settings that go with it.
type outageForm struct {
	lasts time.Duration
	// timeout, stale and heartbeat are the server's settings.
	timeout, stale, heartbeat time.Duration
	set                       []string
}

func shortOutage() outageForm {
	return outageForm{
		lasts: 4 * time.Second, timeout: time.Second, stale: time.Second, heartbeat: 200 * time.Millisecond,
		set: []string{
			"POSTLEDGER_TIMINGS__HEARTBEAT=200ms", "POSTLEDGER_TIMINGS__STALE_AFTER=1s", "POSTLEDGER_TIMINGS__LOST_AFTER=4s",
			"POSTLEDGER_TIMINGS__RECOVERY=500ms", "POSTLEDGER_DATABASE_TIMEOUT=1s",
		},
	}
}

// longOutage has the settings of an empty configuration.
func longOutage() outageForm {
	return outageForm{lasts: time.Minute, timeout: 15 * time.Second, stale: 20 * time.Second, heartbeat: 5 * time.Second}
}

// patient has the default bounds on silence, for a database that is slow.
func (f outageForm) patient() outageForm {
	f.timeout, f.set = 15*time.Second, nil
	return f
}

// outageKind is what can be expected of a fault.
type outageKind struct {
	// silent: the worker cannot write that it lives, and must stop sending.
	silent bool
	// beats, where a heartbeat succeeds now and then, are those in the ledger: a
	// worker that could write one may send until it is stale again.
	beats func() int64
	// hangs: what is asked gets no answer, rather than a refusal at once.
	hangs bool
	// creeps: what is asked is done in the end, so that with enough patience
	// nothing need be refused; every answer comes in its time all the same.
	creeps bool
}

func (k outageKind) beaten() int64 {
	if k.beats == nil {
		return 0
	}
	return k.beats()
}

func newOutage(t *testing.T, f outageForm, p place, args ...string) *outage {
	t.Helper()
	o := &outage{t: t, form: f, hop: crashtest.StartSink(t, "-late-every", "3", "-late", "20ms")}
	o.server = p.start(t, args...)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the server's log ends with\n%s", lastOf(o.spoken(), 6000))
		}
	})
	operator := o.operator(t)
	command(t, operator, "profiles", "put", "relay", "--from", "shop@example.org", "--transport", "smtp", "--host", "127.0.0.1",
		"--port", strconv.Itoa(o.hop.Port), "--tls", "none", "--connections", "8").expect(t, 0)
	o.crowd = newCrowd(t, o.server, o.appKey(t, "shop"))
	// Its key and profile, its turn, its transaction and that one's fate; and
	// what a machine with much to do adds.
	o.crowd.bound = 4*f.timeout + 5*time.Second
	return o
}

// spoken is the log without a line for each request.
func (o *outage) spoken() string {
	var b strings.Builder
	for line := range strings.Lines(o.logged()) {
		if !strings.Contains(line, `"msg":"request"`) {
			b.WriteString(line)
		}
	}
	return b.String()
}

func lastOf(text string, n int) string { return text[max(0, len(text)-n):] }

// calm has the crowd send for a moment, and measures what the process needs
// when all is well. Then the crowd goes on.
func (o *outage) calm() {
	o.t.Helper()
	o.crowd.begin()
	o.works()
	o.crowd.end()
	o.settled()
	o.goroutines = o.metric("go_goroutines")
	if o.sessions != nil {
		o.before = o.sessions()
	}
	o.crowd.begin()
	o.works()
}

// works waits until the server is ready, and more is accepted and at the hop.
func (o *outage) works() {
	o.t.Helper()
	accepted, _, _ := o.crowd.counts()
	lines := o.hop.Lines()
	o.until("the server works", func() bool {
		a, _, _ := o.crowd.counts()
		return a > accepted+20 && o.hop.Lines() > lines+20 && o.ready()
	})
}

// refuses waits until requests are refused and the server says that it is not
// ready.
func (o *outage) refuses() {
	o.t.Helper()
	_, refused, _ := o.crowd.counts()
	o.until("requests are refused", func() bool {
		_, r, _ := o.crowd.counts()
		return r > refused
	})
	o.until("it says that it is not ready", func() bool { return !o.ready() })
}

// lasts is a fault's time, in which something is looked at again and again.
func (o *outage) lasts(d time.Duration, look func()) {
	o.t.Helper()
	over := time.After(d)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return
		case <-tick.C:
			look()
		case <-o.done:
			o.t.Fatalf("the server has ended: %s", o.logged())
		}
	}
}

// until polls; a server that ends meanwhile fails the test.
func (o *outage) until(what string, ok func() bool) {
	o.t.Helper()
	deadline := time.After(3 * patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
			if o.t.Failed() {
				o.t.FailNow()
			}
		case <-o.done:
			o.t.Fatalf("wait until %s: the server has ended: %s", what, lastOf(o.logged(), 4000))
		case <-deadline:
			o.t.Fatalf("%s: it does not happen", what)
		}
	}
}

func (o *outage) get(path string) (int, string) {
	o.t.Helper()
	resp, err := http.Get(o.admin + path)
	if err != nil {
		o.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		o.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func (o *outage) ready() bool {
	status, _ := o.get("/readyz")
	return status == http.StatusOK
}

// metric is the value of one without labels.
func (o *outage) metric(name string) int {
	o.t.Helper()
	_, text := o.get("/metrics")
	found := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindStringSubmatch(text)
	if found == nil {
		o.t.Fatalf("there is no metric %s", name)
	}
	v, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		o.t.Fatal(err)
	}
	return int(v)
}

// complaints are the lines at warning and above since the last look, without
// those that each request causes.
func (o *outage) complaints() (lines []string) {
	all := strings.Split(o.logged(), "\n")
	for _, text := range all[o.seen:] {
		var line struct{ Level, Msg string }
		if json.Unmarshal([]byte(text), &line) == nil && (line.Level == "WARN" || line.Level == "ERROR") && line.Msg != "request failed" {
			lines = append(lines, line.Msg)
		}
	}
	o.seen = len(all) - 1
	return lines
}

// fault has the crowd send through one, and checks that it is weathered: it is
// said, the worker is silent when it must be, nothing storms, and it is over
// when it is over.
func (o *outage) fault(kind outageKind, begin, end func()) {
	o.t.Helper()
	o.complaints()
	accepted, refused, _ := o.crowd.counts()
	tried := 0
	if o.attempts != nil {
		tried = o.attempts()
	}
	began := time.Now()
	begin()
	if kind.creeps {
		o.until("requests are answered", func() bool { a, r, _ := o.crowd.counts(); return a+r > accepted+refused })
	} else {
		o.refuses()
	}
	said := time.Since(began)
	// What was asked for just before the worker became stale may be at the hop
	// a moment later.
	o.lasts(time.Second-said, func() {})
	beats := kind.beaten()
	o.lasts(o.form.stale+time.Second-time.Since(began), func() {})
	lines := o.hop.Lines()
	o.lasts(o.form.lasts-time.Since(began), func() {})
	if more := o.hop.Lines() - lines; kind.silent && more != 0 && kind.beaten() == beats {
		o.t.Errorf("%d were sent by a worker that could not say that it lives", more)
	}
	lasted := time.Since(began)
	complaints := o.complaints()
	if o.attempts != nil {
		tried = o.attempts() - tried
	}
	a, r, slowest := o.crowd.counts()
	end()
	ended := time.Now()
	o.works()
	_, _, after := o.crowd.counts()
	o.t.Logf("%v: said after %v; %d accepted, %d refused, slowest answer %v; %d lines %v, %d connections; worked %v after its end, slowest answer %v",
		lasted.Round(time.Millisecond), said.Round(time.Millisecond), a-accepted, r-refused, slowest.Round(time.Millisecond),
		len(complaints), tally(complaints), tried, time.Since(ended).Round(time.Millisecond), after.Round(time.Millisecond))
	o.storms(kind, lasted, len(complaints), tried)
}

// storms checks what a fault made the process say and ask.
func (o *outage) storms(kind outageKind, lasted time.Duration, lines, connections int) {
	o.t.Helper()
	const pool = 16
	seconds := lasted.Seconds()
	// Each heartbeat; a lease a second; and of the settler, the scan, the
	// policy and the sweep some while their rests grow to five seconds, and one
	// in five seconds each from then on, beside the gauges'.
	if most := 40 + seconds*(1/o.form.heartbeat.Seconds()+1+4./5+1./10); float64(lines) > most {
		o.t.Errorf("%d lines in %v, more than %.0f", lines, lasted, most)
	}
	// Those that were made at the same moment, and for each that was given up
	// one that tells the server so; six while the rest grows to a second; and
	// one a second from then on.
	most := 2*pool + 6 + seconds
	if kind.hangs {
		// Each of a pool's waits for its time and rests for a second.
		most += 2 * pool * seconds / (o.form.timeout.Seconds() + 1)
	}
	if float64(connections) > most {
		o.t.Errorf("%d connections in %v, more than %.0f", connections, lasted, most)
	}
}

func tally(lines []string) map[string]int {
	n := map[string]int{}
	for _, l := range lines {
		n[l]++
	}
	return n
}

// over checks the ledger against what was asked for and what the hop has, and
// the process against what it needed before.
func (o *outage) over() {
	o.t.Helper()
	o.crowd.end()
	o.settled()
	copies := o.hop.Copies()
	asked := o.crowd.asked
	states := map[postledger.Status]int{}
	for d, err := range o.client(o.t, o.crowd.app).Deliveries(o.t.Context(), client.DeliveryFilter{PageSize: 1000}) {
		if err != nil {
			o.t.Fatal(err)
		}
		states[d.Status]++
		if n := copies[d.Address]; d.Status == postledger.StatusSent && n != 1 || n > 1 {
			o.t.Errorf("%s is %s/%s and has %d copies", d.Address, d.Status, d.Reason, n)
		}
		delete(copies, d.Address)
	}
	if states[postledger.StatusSent] != asked {
		o.t.Errorf("%d were accepted, and in the ledger are %v", asked, states)
	}
	for address, n := range copies {
		o.t.Errorf("%s has %d copies, and is not in the ledger", address, n)
	}
	// The client's own connections and the hop's come and go.
	const slack = 12
	o.until("goroutines are as few as before", func() bool {
		n := o.metric("go_goroutines")
		return n <= o.goroutines+slack
	})
	if o.sessions != nil {
		o.until("sessions are as few as before", func() bool { return o.sessions() <= max(o.before, 16) })
	}
	if code := o.signal(o.t, syscall.SIGTERM); code != 0 {
		o.t.Errorf("exit code %d: %s", code, lastOf(o.logged(), 4000))
	}
	books(o.t, o.place)
}

// settled waits until nothing is queued or on the wire.
func (o *outage) settled() {
	o.t.Helper()
	c := o.client(o.t, o.crowd.app)
	f := client.DeliveryFilter{Statuses: []postledger.Status{postledger.StatusQueued, postledger.StatusSending}, PageSize: 1}
	o.until("all is settled", func() bool {
		for _, err := range c.Deliveries(o.t.Context(), f) {
			if err != nil {
				o.t.Fatal(err)
			}
			return false
		}
		return true
	})
}
