package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/client"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/secret"
	"github.com/postledger/postledger/internal/testserver"
	"github.com/postledger/postledger/internal/webhook"
)

// A whole server each, beside whose mail nobody, or one endpoint, is told of every
// delivery; in the last what waits to be sent is in Redis, whose CPU is not counted.
const (
	toldNobody = "a server's bulk: nobody is told"
	toldMemory = "a server's bulk: one endpoint is told of all"
	toldRedis  = "a server's bulk: one endpoint is told of all, by Redis"
	toldFloor  = "telling an endpoint: a row in, a request, a row out, a record"
)

// hooks is what the part "webhooks" has.
type hooks struct {
	receiver *receiverProcess
	redis    string
}

// prepareWebhooks makes a ledger for each server, and whom two of them tell.
func (b *bench) prepareWebhooks() (err error) {
	if b.hooks.receiver, err = startReceiver(); err != nil {
		return err
	}
	b.s.host.Cleanup(b.hooks.receiver.stop)
	b.hooks.redis = testserver.PrivateRedis(b.s.host, "appendonly=no").URL()
	for _, name := range []string{toldNobody, toldMemory, toldRedis} {
		if err := b.prepareTold(name); err != nil {
			return err
		}
	}
	return nil
}

// toldDatabases are the ledgers' names.
func toldDatabases() map[string]string {
	return map[string]string{toldNobody: "told_nobody", toldMemory: "told_memory", toldRedis: "told_redis"}
}

func (b *bench) prepareTold(name string) error {
	p, err := b.database(toldDatabases()[name])
	if err != nil || name == toldNobody {
		return err
	}
	st, err := b.hooks.receiver.state()
	if err != nil {
		return err
	}
	j := b.toldJob(name, 0)
	j.N = 0
	operator, err := run("operator", job{URL: p.url})
	if err != nil {
		return err
	}
	server, err := startAttended(servePart, &j)
	if err != nil {
		return err
	}
	c, err := client.New(server.where, operator.World.Tokens[0])
	if err == nil {
		_, err = c.CreateWebhook(context.Background(), client.NewWebhook{App: p.world.App, URL: "http://" + st.Addr + "/in", States: webhook.States()})
	}
	_, end := server.finish()
	return errors.Join(err, end)
}

// operator makes a key of an operator.
func operator(j *job) (result, error) {
	ctx := context.Background()
	l, err := ledger.Open(ctx, j.URL, ledger.Options{})
	if err != nil {
		return result{}, err
	}
	defer l.Close()
	token, sum := secret.NewToken("op")
	key := postledger.APIKey{ID: l.NewID(), Name: "bench", Scopes: []postledger.Scope{postledger.ScopeAdmin}, Hint: token[len(token)-4:]}
	err = l.CreateAPIKey(ctx, key, sum, postledger.AuditEvent{ID: l.NewID(), Action: "key.create", Result: "done"})
	return result{World: world{Tokens: []string{token}}}, err
}

func (b *bench) toldJob(name string, i int) job {
	p := b.own[toldDatabases()[name]]
	j := b.bulkJob(fmt.Sprint(toldDatabases()[name], "-", i))
	j.URL, j.World = p.url, p.world
	if name == toldRedis {
		j.Redis = b.hooks.redis
	}
	return j
}

func (b *bench) webhooks(i int) error {
	names := []string{toldNobody, toldMemory, toldRedis}
	for k := range names {
		name := names[k]
		if i%2 == 1 {
			name = names[len(names)-1-k]
		}
		r, err := b.told(name, i)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		b.figures.add(name, b.o.n, r)
	}
	st, err := b.hooks.receiver.state()
	if err != nil {
		return err
	}
	return b.pair(i, step{toldFloor, "told-floor", "", job{URL: b.own[toldDatabases()[toldNobody]].url, Sink: st.Addr, N: b.o.n}})
}

// told lets a server that has been warmed up by a tenth as much deliver a run of bulk,
// until the last event is taken and nothing of it is left to be written.
func (b *bench) told(name string, i int) (r result, err error) {
	j := b.toldJob(name, i)
	if b.o.profiles != "" && i == b.o.pairs-1 {
		j.Profile = b.profile(toldDatabases()[name], j.URL)
	}
	server, err := startAttended(servePart, &j)
	if err != nil {
		return r, err
	}
	ended := false
	defer func() {
		if !ended {
			err = errors.Join(err, server.end())
		}
	}()
	warm := j
	warm.N, warm.Run = j.N/10, 2*i
	if err := b.deliver(name, warm); err != nil {
		return r, err
	}
	if err := server.warm(); err != nil {
		return r, err
	}
	j.Run = 2*i + 1
	began := time.Now()
	if err := b.deliver(name, j); err != nil {
		return r, err
	}
	seconds := time.Since(began).Seconds()
	ended = true
	r, err = server.finish()
	r.Seconds = seconds
	return r, err
}

// deliver accepts bulk and waits until the server has nothing left to do with it.
func (b *bench) deliver(name string, j job) error {
	mail, err := b.s.sink.state()
	if err != nil {
		return err
	}
	events, err := b.hooks.receiver.state()
	if err != nil {
		return err
	}
	if _, err := run("load", j); err != nil {
		return err
	}
	const patience = 5 * time.Minute
	if err := b.s.sink.await(mail.Messages+int64(j.N), patience); err != nil {
		return err
	}
	want := events.Events
	if name != toldNobody {
		want += j.N
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		events, err := b.hooks.receiver.state()
		if err != nil {
			return err
		}
		left := -1
		if events.Events >= want {
			if left, err = openWork(j.URL); err != nil || left == 0 {
				return err
			}
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d of %d events have come after %s; %d are open in the ledger", events.Events, want, patience, left)
		}
	}
}

// openWork counts deliveries and jobs, by a connection that is gone when the server's
// backends are counted.
func openWork(url string) (n int, err error) {
	ctx := context.Background()
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		return 0, fmt.Errorf("connect: %w", err)
	}
	defer c.Close(ctx)
	err = c.QueryRow(ctx, `SELECT (SELECT count(*) FROM deliveries WHERE status IN ('queued', 'sending')) +
		(SELECT count(*) FROM job_outbox)`).Scan(&n)
	return n, err
}

func (b *bench) judgeWebhooks() error {
	f := b.figures
	f.atMost("CPU of a bulk delivery of which one endpoint is told, of one of which nobody is", toldMemory, toldNobody, cpuOf, 1.5)
	var more []float64
	for i := range f.runs[toldRedis] {
		more = append(more, cpuOf(f.runs[toldRedis][i])/cpuOf(f.runs[toldNobody][i]))
	}
	f.tell("the same by Redis", middle(more), "×")
	more = nil
	for i := range f.runs[toldFloor] {
		more = append(more, 1+cpuOf(f.runs[toldFloor][i])/cpuOf(f.runs[toldNobody][i]))
	}
	f.tell("the same if telling cost its floor", middle(more), "×")
	return b.toldStatements()
}

// toldStatements tells what a delivery of which one endpoint is told costs PostgreSQL,
// by statement, in a run of its own.
func (b *bench) toldStatements() error {
	if !b.s.statements {
		return nil
	}
	j := b.toldJob(toldMemory, b.o.pairs)
	list, err := b.s.statementsOf(j.URL, func() error {
		_, err := b.told(toldMemory, b.o.pairs)
		return err
	})
	for _, st := range list[:min(len(list), 16)] {
		// It counts what warmed the server up, too.
		b.figures.tell(fmt.Sprintf("told: %.90s (%d times)", st.text, st.calls), st.us/(1.1*float64(j.N)), "µs a delivery")
	}
	return err
}
