package main_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/postledger/postledger/client"
	"github.com/postledger/postledger/internal/testserver"
	"github.com/postledger/postledger/jobs"
	"github.com/postledger/postledger/jobs/pgbox"
	"github.com/postledger/postledger/jobs/sqlitebox"
)

// outbox is the place's rows of jobs, as another program sees them.
func (p place) outbox(t *testing.T) jobs.Outbox {
	t.Helper()
	driver, dsn := "sqlite", p.database()+"?_pragma=busy_timeout(10000)"
	for _, v := range p.env {
		if url, ok := strings.CutPrefix(v, "POSTLEDGER_DATABASE="); ok {
			driver, dsn = "pgx", url
		}
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if driver == "pgx" {
		return pgbox.New(db)
	}
	return sqlitebox.New(db)
}

// addJobs writes jobs of a handler that every server has, as a transaction of the
// application's would.
func addJobs(t *testing.T, box jobs.Outbox, n int, change func(*jobs.Entry)) {
	t.Helper()
	var ids jobs.IDSource
	rows := make([]jobs.Insertion, n)
	for i := range rows {
		rows[i].Entry = jobs.Entry{Rev: 1, Durable: true, EnqueuedAt: time.Now(), Job: jobs.Job{
			ID: ids.Next(time.Now()), Handler: "jobs.prune", Lane: jobs.Slow, Group: fmt.Sprint("g", i%7), MaxAttempts: 5,
		}}
		change(&rows[i].Entry)
	}
	if _, err := box.Insert(context.Background(), rows); err != nil {
		t.Fatal(err)
	}
}

func asTheyAre(*jobs.Entry) {}

// allRan waits until no row is left.
func (s *server) allRan(t *testing.T, box jobs.Outbox) {
	t.Helper()
	eventually(t, "all jobs have run", func() bool {
		b, err := box.Backlog(context.Background())
		if err == nil && b.Quarantined > 0 {
			t.Fatalf("jobs were set aside: %s", s.logged())
		}
		return err == nil && b.Rows()+b.Admitted == 0
	})
}

// What was accepted runs after a kill -9 with jobs waiting, and with jobs hot.
func TestJobsOutliveAKill(t *testing.T) {
	t.Parallel()
	for _, db := range []string{"sqlite", "postgres"} {
		t.Run(db, func(t *testing.T) {
			t.Parallel()
			p, args := onDatabase(t, db)
			if db == "postgres" {
				// Memory's lease would keep the next process waiting for its life.
				p.env = append(p.env, "POSTLEDGER_JOBS__DRIVER=redis", "POSTLEDGER_JOBS__REDIS="+testserver.PrivateRedis(t).URL())
			}
			s := p.start(t, args...)
			box := p.outbox(t)
			addJobs(t, box, 20, asTheyAre)
			s.allRan(t, box)
			addJobs(t, box, 3000, asTheyAre)
			s.signal(t, syscall.SIGKILL)
			b, err := box.Backlog(t.Context())
			if err != nil || b.Rows()+b.Admitted == 0 {
				t.Fatalf("nothing was left by the kill: %+v (%v)", b, err)
			}
			addJobs(t, box, 500, asTheyAre)
			s = p.start(t)
			s.allRan(t, box)
			if code := s.signal(t, syscall.SIGTERM); code != 0 {
				t.Errorf("exit code %d: %s", code, s.logged())
			}
		})
	}
}

// Without Redis, at the start and later, mail is taken and sent, and jobs wait;
// when it is back, also empty, they run.
func TestMailGoesOnWithoutRedis(t *testing.T) {
	t.Parallel()
	server := testserver.PrivateRedis(t, "maxmemory-policy=allkeys-lru")
	server.Kill()
	p := newPlace(t, "POSTLEDGER_JOBS__DRIVER=redis", "POSTLEDGER_JOBS__REDIS="+server.URL())
	s := p.start(t)
	box := p.outbox(t)
	operator := s.operator(t)
	command(t, operator, "profiles", "put", "box", "--from", "shop@example.org", "--transport", "sandbox").expect(t, 0)
	app := s.appKey(t, "shop")
	mail := func() {
		t.Helper()
		command(t, app, "send", "--to", "a@example.com", "--subject", "x", "--text", "x", "--wait").expect(t, 0, "sent")
		if r, err := http.Get(s.api + "/readyz"); err != nil || r.StatusCode != http.StatusOK {
			t.Errorf("readyz: %v (%v)", r, err)
		}
	}
	addJobs(t, box, 10, asTheyAre)
	mail()
	s.saysAt(t, "/readyz", "what is hot cannot be reached")
	p.run(t, "doctor", "--no-dns").expect(t, 1, "FAULT", "Redis")
	server.Start()
	s.allRan(t, box)
	s.saysAt(t, "/readyz", "allkeys-lru")
	p.run(t, "doctor", "--no-dns").expect(t, 0, "warning", "allkeys-lru")
	eventually(t, "it warns of the policy", func() bool { return strings.Contains(s.logged(), `"maxmemory_policy":"allkeys-lru"`) })

	server.Kill()
	addJobs(t, box, 10, asTheyAre)
	mail()
	server.Wipe()
	server.Start()
	s.allRan(t, box)
	mail()
	command(t, operator, "jobs", "status").expect(t, 0, "redis: 0 run", "0 are set aside")
	if code := s.signal(t, syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d: %s", code, s.logged())
	}
}

// saysAt waits until the administration says a text.
func (s *server) saysAt(t *testing.T, path, text string) {
	t.Helper()
	eventually(t, path+" says "+text, func() bool {
		r, err := http.Get(s.admin + path)
		if err != nil {
			return false
		}
		defer r.Body.Close()
		body, err := io.ReadAll(r.Body)
		return err == nil && strings.Contains(string(body), text)
	})
}

func TestJobCommands(t *testing.T) {
	t.Parallel()
	s := newPlace(t).start(t)
	box := s.outbox(t)
	operator := s.operator(t)
	run := func(args ...string) result {
		t.Helper()
		return command(t, operator, append([]string{"jobs"}, args...)...)
	}
	// A handler that nobody has fails, and is tried again in some seconds.
	var ids []string
	addJobs(t, box, 3, func(e *jobs.Entry) {
		e.Handler, e.Group, e.RunAt = "of.another.version", "", time.Now().Add(time.Hour)
		e.Payload = []byte("ann@example.org")
		ids = append(ids, e.ID.String())
	})
	run("ls").expect(t, 0, ids[0], ids[2], "scheduled", "of.another.version", "0/5")
	if shown := run("show", ids[0]).expect(t, 0, "15 bytes", "scheduled"); strings.Contains(shown.stdout, "ann@") {
		t.Errorf("it shows a payload: %s", shown.stdout)
	}
	run("quarantine", ids[0], ids[1], "--reason", "not now").expect(t, 0, "set aside: 2, unchanged: 0")
	run("ls", "--state", "quarantined", "--handler", "of.another.version").expect(t, 0, ids[0], ids[1], "not now")
	run("release", ids[2]).expect(t, 0, "released: 0, unchanged: 1")
	run("release", "--all", "--handler", "nobody").expect(t, 0, "released: 0, unchanged: 0")
	run("release", "--all", "--handler", "of.another.version").expect(t, 0, "released: 2, unchanged: 0")
	run("retry", ids[2]).expect(t, 0, "due now: 1, unchanged: 0")
	run("retry", ids[2], "--all").expect(t, 2, "not both")
	run("retry").expect(t, 2, "give ids, or --all")
	run("show", "0190").expect(t, 2, "ID: ")
	c := s.client(t, operator)
	_, err := c.RetryJobs(t.Context())
	if err == nil || !strings.Contains(err.Error(), string(client.ErrBadInput)) {
		t.Errorf("no ids: %v", err)
	}

	run("schedules", "ls").expect(t, 0, "jobs.prune", "17 3 * * *", "UTC", "yes")
	run("schedules", "disable", "jobs.prune").expect(t, 0, "jobs.prune: disabled")
	run("schedules", "disable", "nobody").expect(t, 1, "schedule_unknown")
	// What an operator said outlives a restart.
	if code := s.signal(t, syscall.SIGTERM); code != 0 {
		t.Fatalf("exit code %d: %s", code, s.logged())
	}
	s = s.place.start(t)
	operator[0] = "POSTLEDGER_SERVER=" + s.api
	run("schedules", "ls").expect(t, 0, "no")
	run("schedules", "run", "jobs.prune").expect(t, 0, "jobs.prune: job ")
	eventually(t, "its job has run", func() bool {
		rows, _, err := box.List(context.Background(), jobs.Query{Handler: "jobs.prune", Limit: 9})
		return err == nil && len(rows) == 0
	})
	s.saysAt(t, "/metrics", `postledger_job_runs_total{handler="jobs.prune",outcome="done"} 1`)
	run("schedules", "enable", "jobs.prune").expect(t, 0, "enabled")
	command(t, operator, "audit", "ls").expect(t, 0, "job.quarantine", "job.release", "job.retry", "schedule.disable", "schedule.run")
}
