package api_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/app"
	"github.com/postledger/postledger/internal/app/queue"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/jobs"
)

// queue is a job queue on the world's ledger, which runs nothing.
func (w *world) queue(log *slog.Logger) *queue.Queue {
	outbox, done := app.OpenOutbox(w.ledger, 3)
	w.outbox = outbox
	q, err := queue.New(queue.Config{Outbox: outbox, Registry: jobs.NewRegistry(), Alone: true, Owner: "test", Log: log})
	must(w.t, err)
	w.t.Cleanup(func() {
		must(w.t, q.Stop(context.Background()))
		must(w.t, done())
	})
	return q
}

// secretPayload is what no answer may hold.
const secretPayload = "ann@example.org"

func (w *world) addJobs() (waiting, later, aside postledger.ID) {
	ids := make([]postledger.ID, 3)
	rows := make([]jobs.Insertion, 3)
	for i := range ids {
		ids[i] = w.ledger.NewID()
		rows[i].Entry = jobs.Entry{Rev: 1, EnqueuedAt: time.Now(), Durable: true, Job: jobs.Job{
			ID: jobs.ID(ids[i]), Handler: "h", Payload: []byte(secretPayload), Lane: jobs.Slow, Group: "g", MaxAttempts: 3,
		}}
	}
	rows[0].DedupeKey = secretPayload
	rows[1].RunAt = time.Now().Add(time.Hour)
	_, err := w.outbox.Insert(w.t.Context(), rows)
	must(w.t, err)
	_, err = w.outbox.Quarantine(w.t.Context(), []jobs.ID{jobs.ID(ids[2])}, "far too often")
	must(w.t, err)
	return ids[0], ids[1], ids[2]
}

func TestJobs(t *testing.T) {
	backends(t, func(t *testing.T, w *world) {
		waiting, later, aside := w.addJobs()
		state := func(id postledger.ID) any {
			a := w.call("GET", "/v1/jobs/"+id.String(), w.admin, nil)
			a.want(200)
			return a.at("state")
		}
		for id, want := range map[postledger.ID]string{waiting: "waiting", later: "scheduled", aside: "quarantined"} {
			if got := state(id); got != want {
				t.Errorf("%s is %v, want %s", id, got, want)
			}
		}
		list := w.call("GET", "/v1/jobs?limit=2", w.admin, nil)
		list.want(200)
		more := w.call("GET", "/v1/jobs?limit=2&after="+list.text("next"), w.admin, nil)
		more.want(200)
		for _, a := range []*answer{list, more} {
			if strings.Contains(string(a.body), secretPayload) {
				t.Errorf("a payload is shown: %s", a.body)
			}
		}
		if n, m := len(list.at("items").([]any)), len(more.at("items").([]any)); n != 2 || m != 1 {
			t.Errorf("pages of %d and %d", n, m)
		}
		for query, want := range map[string]int{"state=quarantined": 1, "state=buffered": 2, "lane=fast": 0, "handler=h&group=g": 3, "group=x": 0} {
			a := w.call("GET", "/v1/jobs?"+query, w.admin, nil)
			a.want(200)
			if n := len(a.at("items").([]any)); n != want {
				t.Errorf("%s: %d jobs, want %d", query, n, want)
			}
		}
		queued := w.call("GET", "/v1/jobs/queue", w.admin, nil)
		queued.want(200)
		if queued.at("quarantined") != 1.0 || queued.at("scheduled") != 1.0 || queued.at("driver") != "memory" {
			t.Errorf("%s", queued.body)
		}

		ids := func(list ...postledger.ID) map[string]any { return map[string]any{"ids": list} }
		changed := func(path string, body map[string]any, want float64) {
			t.Helper()
			a := w.call("POST", path, w.admin, body)
			a.want(200)
			if a.at("changed") != want {
				t.Errorf("%s: %s, want %v", path, a.body, want)
			}
		}
		changed("/v1/jobs/release", ids(waiting, later, aside, aside), 1)
		changed("/v1/jobs/release", ids(aside), 0)
		changed("/v1/jobs/retry", ids(later, waiting), 1)
		if state(later) != "waiting" || state(aside) != "waiting" {
			t.Errorf("later is %v, aside is %v", state(later), state(aside))
		}
		body := ids(later)
		body["reason"] = "by hand"
		changed("/v1/jobs/quarantine", body, 1)
		changed("/v1/jobs/retry", ids(later), 1)

		// Decisions are audited, without what they are about.
		page, err := w.ledger.Audit(t.Context(), ledger.AuditFilter{Action: "job.release"}, ledger.Paging{Limit: 10})
		must(t, err)
		if len(page.Items) != 2 || page.Items[0].TargetID != aside.String() || page.Items[1].Detail != "3 jobs" {
			t.Errorf("audited: %+v", page.Items)
		}

		for _, bad := range []struct {
			method, path string
			body         any
			status       int
			says         string
		}{
			{"GET", "/v1/jobs/" + w.ledger.NewID().String(), nil, 404, "job_unknown"},
			{"GET", "/v1/jobs/x", nil, 400, "id"},
			{"GET", "/v1/jobs?state=lost", nil, 400, "state"},
			{"GET", "/v1/jobs?limit=1001", nil, 400, "limit"},
			{"GET", "/v1/jobs?after=x", nil, 400, "after"},
			{"POST", "/v1/jobs/retry", ids(), 400, "ids"},
			{"POST", "/v1/jobs/release", ids(make([]postledger.ID, 1001)...), 400, "ids"},
			{"POST", "/v1/jobs/quarantine", ids(later), 400, "reason"},
		} {
			a := w.call(bad.method, bad.path, w.admin, bad.body)
			a.want(bad.status)
			if !strings.Contains(string(a.body), bad.says) {
				t.Errorf("%s %s: %s does not say %q", bad.method, bad.path, a.body, bad.says)
			}
		}
		for _, key := range []string{w.read, w.content, w.audit} {
			w.call("GET", "/v1/jobs", key, nil).want(403)
		}
	})
}

func TestSchedules(t *testing.T) {
	w := sqlite(t)
	must(t, jobs.NewScheduler(noHot{}, w.outbox, jobs.SchedulerConfig{}).Save(t.Context(), jobs.Schedule{
		Name: "nightly", Spec: "0 3 * * *", Zone: "Europe/Oslo", Enabled: true, Handler: "h",
	}))
	see := func() map[string]any {
		a := w.call("GET", "/v1/jobs/schedules", w.admin, nil)
		a.want(200)
		return a.at("items").([]any)[0].(map[string]any)
	}
	if s := see(); s["name"] != "nightly" || s["zone"] != "Europe/Oslo" || s["enabled"] != true || s["next_at"] == nil {
		t.Errorf("%v", s)
	}
	w.call("POST", "/v1/jobs/schedules/nightly/disable", w.admin, nil).want(204)
	if s := see(); s["enabled"] != false {
		t.Errorf("%v", s)
	}
	w.call("POST", "/v1/jobs/schedules/nightly/enable", w.admin, nil).want(204)
	made := w.call("POST", "/v1/jobs/schedules/nightly/run", w.admin, nil)
	made.want(200)
	got := w.call("GET", "/v1/jobs/"+made.at("job").(string), w.admin, nil)
	got.want(200)
	if got.at("kind") != "trigger" {
		t.Errorf("%s", got.body)
	}
	for _, verb := range []string{"enable", "disable", "run"} {
		w.call("POST", "/v1/jobs/schedules/daily/"+verb, w.admin, nil).want(404)
	}
	page, err := w.ledger.Audit(t.Context(), ledger.AuditFilter{Action: "schedule.run"}, ledger.Paging{Limit: 10})
	must(t, err)
	if len(page.Items) != 1 || page.Items[0].TargetID != "nightly" {
		t.Errorf("audited: %+v", page.Items)
	}
}

// noHot is a hot set that is out of reach.
type noHot struct{ jobs.Hot }

func (noHot) Epoch(context.Context) (string, error) { return "", errors.New("out of reach") }
