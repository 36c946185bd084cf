package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strconv"

	"github.com/postledger/postledger"
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
	// Neighbours: they come while the other two are busy.
	late, err := putProfile(ctx, l, j, "late")
	if err != nil {
		return result{}, err
	}
	other := postledger.App{ID: l.NewID(), Name: "other"}
	if err := l.CreateApp(ctx, other, audit("app.create")); err != nil {
		return result{}, err
	}
	for _, g := range []postledger.Grant{
		{AppID: app.ID, ProfileID: main.ID},
		{AppID: app.ID, ProfileID: held.ID},
		{AppID: app.ID, ProfileID: late.ID},
		{AppID: other.ID, ProfileID: main.ID},
	} {
		if err := l.PutGrant(ctx, g, audit("grant.put")); err != nil {
			return result{}, err
		}
	}
	w := world{App: app.ID, Other: other.ID, Main: main, Held: held, Late: late}
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
			text, html := j.bodies(i)
			ms = append(ms, message(l, j, &j.World.Main, i, postledger.LaneBulk, text, html))
		}
		if _, err := l.Accept(ctx, request(l, j, &j.World.Main, ms...)); err != nil {
			return result{}, err
		}
	}
	return m.stop()
}
