package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/deliver"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/secret"
	"github.com/postledger/postledger/internal/transport/smtp"
)

// bulkConnections are used for bulk mail at once, by both sides.
const bulkConnections = 32

// profileConnections leaves that many to bulk: a quarter is kept for the
// immediate lane.
const profileConnections = 43

// prepare makes the ledger's tables, an app and a profile.
func prepare(j *job) (result, error) {
	ctx := context.Background()
	l, err := ledger.Open(ctx, j.URL, ledger.Options{})
	if err != nil {
		return result{}, err
	}
	defer l.Close()
	if err := l.Migrate(ctx); err != nil {
		return result{}, err
	}
	audit := func(action string) postledger.AuditEvent {
		return postledger.AuditEvent{ID: l.NewID(), Action: action, Result: "done"}
	}
	app := postledger.App{ID: l.NewID(), Name: "bench"}
	if err := l.CreateApp(ctx, app, audit("app.create")); err != nil {
		return result{}, err
	}
	main, err := putProfile(ctx, l, j, "main")
	if err != nil {
		return result{}, err
	}
	// What is accepted to measure accepting stays where it is.
	held, err := putProfile(ctx, l, j, "held")
	if err != nil {
		return result{}, err
	}
	if err := l.PauseProfile(ctx, held.ID, "measured", "", audit("profile.pause")); err != nil {
		return result{}, err
	}
	for _, p := range []postledger.ID{main.ID, held.ID} {
		if err := l.PutGrant(ctx, postledger.Grant{AppID: app.ID, ProfileID: p}, audit("grant.put")); err != nil {
			return result{}, err
		}
	}
	w := world{App: app.ID, Main: main, Held: held}
	// A key may send so many requests a second, and a burst of twice as many:
	// with a key for each hundred requests none of them meets the limit.
	for range j.N/100 + 1 {
		token, sum := secret.NewToken("app")
		key := postledger.APIKey{ID: l.NewID(), AppID: app.ID, Name: "bench", Scopes: []postledger.Scope{postledger.ScopeSend}, Hint: token[len(token)-4:]}
		if err := l.CreateAPIKey(ctx, key, sum, audit("key.create")); err != nil {
			return result{}, err
		}
		w.Tokens = append(w.Tokens, token)
	}
	return result{World: w}, nil
}

func putProfile(ctx context.Context, l *ledger.Ledger, j *job, name string) (postledger.Profile, error) {
	host, port, err := net.SplitHostPort(j.Sink)
	if err != nil {
		return postledger.Profile{}, err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return postledger.Profile{}, err
	}
	settings, err := json.Marshal(hopSettings{host, number, string(smtp.TLSNone)})
	if err != nil {
		return postledger.Profile{}, err
	}
	p, err := l.PutProfile(ctx, postledger.Profile{
		Name: name, IsDefault: name == "main",
		Config: postledger.ProfileConfig{
			From: from, Transport: "smtp", Settings: settings, Connections: profileConnections, QuotaPerDay: new(quota),
		},
	}, 0, postledger.AuditEvent{ID: l.NewID(), Action: "profile.put", Result: "done"})
	if err == nil && p.Config.Connections-p.Config.ImmediateReserve() != bulkConnections {
		err = fmt.Errorf("bulk may not use %d connections", bulkConnections)
	}
	return p, err
}

type hopSettings struct {
	Host string `json:"host"`
	Port int    `json:"port"`
	TLS  string `json:"tls"`
}

// quota is never reached, but charged.
const quota = int64(1) << 40

// message is message i of a run, ready to be accepted.
func message(l *ledger.Ledger, j *job, p *postledger.Profile, i int, lane postledger.Lane, text, html string) ledger.NewMessage {
	id, d := l.NewID(), l.NewID()
	to := recipient(j.Run, i)
	return ledger.NewMessage{
		Message: postledger.Message{
			ID: id, AppID: j.World.App, ProfileID: p.ID, ProfileName: p.Name, RequestID: "bench",
			Lane: lane, Category: postledger.CategorySystem, Subject: subject,
			SizeBytes: int64(len(text) + len(html)), Recipients: 1,
		},
		Content: postledger.Content{Text: text, HTML: html},
		Key:     fmt.Sprintf("%s-%d-%d", lane, j.Run, i), Fingerprint: "1:bench",
		Deliveries: []postledger.Delivery{{
			ID: d, MessageID: id, EnvelopeID: d, AppID: j.World.App, ProfileID: p.ID,
			Lane: lane, Kind: postledger.KindTo, Address: to, AddressFolded: to,
		}},
	}
}

func request(l *ledger.Ledger, j *job, p *postledger.Profile, ms ...ledger.NewMessage) *ledger.AcceptRequest {
	return &ledger.AcceptRequest{
		AppID: j.World.App, ProfileID: p.ID, Revision: p.Revision, Quota: p.Config.QuotaPerDay, Messages: ms,
		Audit: postledger.AuditEvent{ID: l.NewID(), AppID: j.World.App, Action: "message.accept", Result: "done"},
	}
}

// load accepts N bulk messages, each with its own content, 500 a request.
func load(j *job) (result, error) {
	ctx := context.Background()
	l, err := ledger.Open(ctx, j.URL, ledger.Options{})
	if err != nil {
		return result{}, err
	}
	defer l.Close()
	m, err := startMeter(j.URL)
	if err != nil {
		return result{}, err
	}
	for i := 0; i < j.N; {
		var ms []ledger.NewMessage
		for ; i < j.N && len(ms) < 500; i++ {
			text, html := bodies(i)
			ms = append(ms, message(l, j, &j.World.Main, i, postledger.LaneBulk, text, html))
		}
		if _, err := l.Accept(ctx, request(l, j, &j.World.Main, ms...)); err != nil {
			return result{}, err
		}
	}
	return m.stop()
}

// counter ends a run when enough has been settled.
type counter struct {
	sent, other atomic.Int64
	want        int64
	done        chan struct{}
}

func (*counter) Leased(postledger.Lane, int, time.Duration)                           {}
func (*counter) Sent(string, postledger.Lane, postledger.OutcomeClass, time.Duration) {}
func (*counter) Health(string, string)                                                {}

func (c *counter) Settled(_ string, ss []ledger.Settled) {
	for i := range ss {
		if ss[i].Status != postledger.StatusSent {
			c.other.Add(1)
		}
		if c.sent.Add(1) == c.want {
			close(c.done)
		}
	}
}

// counted is a ledger that counts its transactions.
type counted struct {
	*ledger.Ledger
	leases, leased, settles, settled atomic.Int64
}

func (c *counted) Lease(ctx context.Context, worker postledger.ID, last ledger.Counts, wants []ledger.Want) ([]ledger.Claimed, error) {
	out, err := c.Ledger.Lease(ctx, worker, last, wants)
	c.leases.Add(1)
	for i := range out {
		c.leased.Add(int64(len(out[i].Leased)))
	}
	return out, err
}

func (c *counted) SettleBy(ctx context.Context, worker postledger.ID, last ledger.Counts, ss []ledger.Settlement) ([]ledger.Settled, int64, error) {
	c.settles.Add(1)
	c.settled.Add(int64(len(ss)))
	return c.Ledger.SettleBy(ctx, worker, last, ss)
}

// average is how many rows a transaction had; none when there was no transaction.
func average(rows, transactions *atomic.Int64) float64 {
	return float64(rows.Load()) / float64(max(1, transactions.Load()))
}

// bulk delivers the N messages that load has left.
func bulk(j *job) (result, error) {
	ctx := context.Background()
	l, err := ledger.Open(ctx, j.URL, ledger.Options{})
	if err != nil {
		return result{}, err
	}
	defer l.Close()
	c := &counter{want: int64(j.N), done: make(chan struct{})}
	books := &counted{Ledger: l}
	w, err := deliver.New(deliver.Config{
		Ledger: books, Hop: relay, JournalDir: j.Dir, Host: "bench", Version: "bench", Observer: c,
		Pause: func(context.Context, postledger.ID, string) error { return errors.New("the profile was paused") },
		Open:  func(context.Context, string) (io.ReadCloser, error) { return nil, errors.New("no attachments here") },
	})
	if err != nil {
		return result{}, err
	}
	m, err := startMeter(j.URL)
	if err != nil {
		return result{}, err
	}
	if err := w.Start(ctx); err != nil {
		return result{}, err
	}
	select {
	case <-c.done:
	case err := <-w.Failed():
		return result{}, err
	case <-time.After(5 * time.Minute):
		return result{}, fmt.Errorf("%d of %d were settled in 5 minutes", c.sent.Load(), j.N)
	}
	r, err := m.stop()
	r.Lease = average(&books.leased, &books.leases)
	r.Settle = average(&books.settled, &books.settles)
	if n := c.other.Load(); n > 0 {
		err = errors.Join(err, fmt.Errorf("%d deliveries were not sent", n))
	}
	return r, errors.Join(err, w.Stop(ctx))
}

// relay is the way out to the sink.
func relay(p postledger.Profile) (deliver.Hop, error) {
	var s hopSettings
	if err := json.Unmarshal(p.Config.Settings, &s); err != nil {
		return deliver.Hop{}, err
	}
	t, err := smtp.New(smtp.Config{
		Host: s.Host, Port: s.Port, TLS: smtp.TLSMode(s.TLS), HelloName: "bench.example", MaxConnections: p.Config.Connections,
	})
	return deliver.Hop{Transport: t}, err
}

// isPostgres tells the databases apart.
func isPostgres(url string) bool { return strings.HasPrefix(url, "postgres") }
