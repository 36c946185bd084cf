// Package quickstart shows Postledger at work in a minute: a real server on an
// embedded ledger in a throwaway directory, whose only profile is a sandbox, so
// that nothing leaves the machine. It speaks to it over HTTP, as an application
// would, counts an audience in a small shop's database, and ends with the books.
package quickstart

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/client"
	"github.com/postledger/postledger/internal/app"
	"github.com/postledger/postledger/internal/app/config"
	"github.com/postledger/postledger/internal/secret"
)

// Options say how to run it.
type Options struct {
	Version string
	Out     io.Writer
	// Keep leaves the server running until the context ends.
	Keep bool
	// Program is how the next commands name the binary.
	Program string
}

// settleTimeout is many times what 505 deliveries take.
const settleTimeout = 2 * time.Minute

// Run does everything. It fails when anything is not as it should be, also
// when the books do not balance.
func Run(ctx context.Context, o Options) (err error) {
	dir, err := os.MkdirTemp("", "postledger-quickstart-")
	if err != nil {
		return fmt.Errorf("make a throwaway directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s := &show{o: o, dir: dir, ctx: ctx}
	if err := s.serve(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.server.Stop(), s.log.Close()) }()
	for _, step := range []func() error{s.prepare, s.send, s.watch, s.failures, s.audience, s.books, s.next} {
		if err := step(); err != nil {
			return err
		}
	}
	if o.Keep {
		s.say("\nThe server runs until you press Ctrl-C.\n")
		<-ctx.Done()
	}
	return nil
}

type show struct {
	o        Options
	ctx      context.Context //nolint:containedctx // of the one run it belongs to
	dir      string
	config   config.Config
	log      *os.File
	server   *app.App
	operator *client.Client
	app      *client.Client
	accepted int
	first    postledger.ID
}

func (s *show) say(format string, args ...any) { fmt.Fprintf(s.o.Out, format, args...) }

// serve makes the ledger with its first key, and starts the server.
func (s *show) serve() error {
	s.config = config.Default()
	s.config.DataDir = s.dir
	s.config.Database = config.SQLite(filepath.Join(s.dir, "postledger.db"))
	s.config.Blobs, s.config.JournalDir = filepath.Join(s.dir, "blobs"), filepath.Join(s.dir, "journal")
	s.config.HTTP, s.config.AdminHTTP = "127.0.0.1:0", "127.0.0.1:0"
	s.config.StopTimeout = 20 * time.Second
	if err := s.makeShop(); err != nil {
		return err
	}
	token, err := s.operatorKey()
	if err != nil {
		return err
	}
	if s.log, err = os.OpenFile(filepath.Join(s.dir, "postledger.log"), os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600); err != nil {
		return fmt.Errorf("make log file: %w", err)
	}
	s.server = app.New(s.config, app.Options{Version: s.o.Version, Log: app.NewLog(s.config.Log, s.log)})
	if err := s.server.Start(s.ctx); err != nil {
		return errors.Join(err, s.log.Close())
	}
	s.operator, err = client.New("http://"+s.server.Addr(), token)
	if err != nil {
		return errors.Join(err, s.server.Stop(), s.log.Close())
	}
	s.say("Postledger %s serves http://%s (SQLite in %s)\n\n", s.o.Version, s.server.Addr(), s.dir)
	return nil
}

func (s *show) operatorKey() (_ string, err error) {
	l, err := app.OpenLedger(s.ctx, &s.config, app.Migrated, nil)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	token, sum := secret.NewToken("op")
	k := postledger.APIKey{
		ID: l.NewID(), Name: "quickstart", Scopes: []postledger.Scope{postledger.ScopeAdmin, postledger.ScopeAudit}, Hint: token[len(token)-4:],
	}
	return token, l.CreateAPIKey(s.ctx, k, sum, postledger.AuditEvent{
		ID: l.NewID(), ActorType: "shell", ActorID: "quickstart", Action: "api_key.create", TargetType: "api_key", TargetID: k.ID.String(), Result: "done",
	})
}

// prepare makes an app, its key and a profile.
func (s *show) prepare() error {
	a, err := s.operator.CreateApp(s.ctx, "shop")
	if err != nil {
		return err
	}
	p, err := s.operator.PutProfile(s.ctx, "sandbox", client.ProfileChange{ProfileConfig: postledger.ProfileConfig{
		From: "shop@example.com", FromName: "The Shop", Transport: "sandbox", Connections: 8,
	}})
	if err != nil {
		return err
	}
	k, err := s.operator.CreateAPIKey(s.ctx, client.NewAPIKey{
		App: a.ID, Name: "quickstart", Scopes: []postledger.Scope{postledger.ScopeSend, postledger.ScopeRead, postledger.ScopeContent},
	})
	if err != nil {
		return err
	}
	s.say("made     app %s, an API key, profile %s (from %s, nothing leaves)\n", a.Name, p.Name, p.From)
	// For the commands at the end: no key on a command line.
	for name, text := range map[string]string{"credentials": k.Token, "authorization": "Authorization: Bearer " + k.Token} {
		if err := config.WriteSecretFile(filepath.Join(s.dir, name), text+"\n"); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	s.app, err = client.New("http://"+s.server.Addr(), k.Token)
	return err
}

// batchSize is how many messages the batch has.
const batchSize = 500

// send submits three messages and a batch.
func (s *show) send() error {
	for _, m := range []struct {
		says string
		m    client.Message
	}{
		{"a message to two recipients", client.Message{
			To: client.To("ada@example.net"), Cc: client.To("bob@example.net"), Subject: "Your order has shipped",
			Text: "Dear customer,\nit is on its way.\n", HTML: "<p>Dear customer,<br>it is <b>on its way</b>.</p>", Key: "quickstart-order",
		}},
		{"a message with an attachment", client.Message{
			To: client.To("ada@example.net"), Subject: "Your invoice", Text: "The invoice is attached.\n", Key: "quickstart-invoice",
			Attachments: []client.Attachment{client.Bytes("invoice.txt", "text/plain", []byte("1 book  12.00\n"))},
		}},
		{"a message that its next hop refuses", client.Message{
			To: client.To("nobody+rejected@example.net"), Subject: "Welcome", Text: "Nobody reads this.\n", Key: "quickstart-rejected",
		}},
	} {
		a, err := s.app.Send(s.ctx, &m.m)
		if err != nil {
			return err
		}
		if s.first.IsZero() {
			s.first = a.ID
		}
		s.accepted += len(m.m.To) + len(m.m.Cc)
		s.say("accepted %s  %s\n", a.ID, m.says)
	}
	b := client.Batch{Key: "quickstart-news"}
	for i := range batchSize {
		b.Messages = append(b.Messages, &client.Message{
			To: client.To(fmt.Sprintf("reader%03d@example.org", i)), Subject: fmt.Sprintf("News for reader %d", i), Text: "There is news.\n",
		})
	}
	a, err := s.app.SendBatch(s.ctx, &b)
	if err != nil {
		return err
	}
	s.accepted += batchSize
	s.say("accepted %s  a batch of %d messages\n", a.BatchID, batchSize)
	again, err := s.app.SendBatch(s.ctx, &b)
	if err != nil {
		return err
	}
	if !again.Replayed {
		return errors.New("the batch was accepted twice under one key")
	}
	s.say("replayed %s  the same batch again, under the same key: nothing was written\n\n", a.BatchID)
	return nil
}

// watch shows the ledger once a second until all has settled.
func (s *show) watch() error {
	ctx, cancel := context.WithTimeout(s.ctx, settleTimeout)
	defer cancel()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	began := time.Now()
	for {
		n := map[postledger.Status]int{}
		all := 0
		for d, err := range s.app.Deliveries(ctx, client.DeliveryFilter{PageSize: 1000}) {
			if err != nil {
				return err
			}
			n[d.Status]++
			all++
		}
		s.say("%4.0fs  ", time.Since(began).Seconds())
		for _, st := range postledger.Statuses() {
			if n[st] > 0 {
				s.say(" %d %s ", n[st], st)
			}
		}
		s.say("\n")
		if all != s.accepted {
			return fmt.Errorf("the ledger has %d deliveries, %d were accepted", all, s.accepted)
		}
		if n[postledger.StatusQueued]+n[postledger.StatusSending] == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until all has settled: %w", ctx.Err())
		case <-tick.C:
		}
	}
}

// failures lists what was not sent, and why.
func (s *show) failures() error {
	s.say("\nnot sent:\n")
	for d, err := range s.app.Deliveries(s.ctx, client.DeliveryFilter{Statuses: []postledger.Status{postledger.StatusFailed}}) {
		if err != nil {
			return err
		}
		s.say("  %s  %s %s: %s\n", d.Address, d.Status, d.Reason, d.Response)
	}
	return nil
}

var errBooks = errors.New("the books do not balance")

// books audits the ledger the way `postledger books` does.
func (s *show) books() (err error) {
	l, err := app.OpenLedger(s.ctx, &s.config, app.Existing, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	r, err := l.Books(s.ctx, s.server.StoredBlobs)
	if err != nil {
		return err
	}
	for _, d := range r.Differences {
		s.say("books: %s: %d, among them %v\n", d.Kind, d.Count, d.Samples)
	}
	if len(r.Differences) > 0 {
		return errBooks
	}
	s.say("\nbooks: %d accepted = %d kept by the sandbox + %d failed; they balance\n\n", r.Totals.Accepted, r.Totals.Sandbox, r.Totals.States[postledger.StatusFailed])
	return nil
}

// next says what to try.
func (s *show) next() error {
	host, port, err := net.SplitHostPort(s.server.Addr())
	if err != nil {
		return err
	}
	base := "http://" + net.JoinHostPort(host, port)
	if !s.o.Keep {
		s.say("The API was at %s. Next:\n", base)
		s.say("  %s quickstart --keep     # the same, and it stays up\n", s.o.Program)
		s.say("  %s serve                 # a server that lasts; see deploy/postledger.example.yaml\n", s.o.Program)
		s.say("  %s --help\n", s.o.Program)
		return nil
	}
	s.say("The API is at %s (%s/docs), metrics at http://%s/metrics. Try:\n\n", base, base, s.server.AdminAddr())
	s.say("  curl -sS -H @%s -H 'Content-Type: application/json' -d '{\"to\":[{\"address\":\"you@example.com\"}],\"subject\":\"Hello\",\"text\":\"Hello.\"}' %s/v1/messages\n\n", filepath.Join(s.dir, "authorization"), base)
	s.say("  export POSTLEDGER_SERVER=%s POSTLEDGER_CREDENTIALS=%s\n", base, filepath.Join(s.dir, "credentials"))
	s.say("  %s send --to you@example.com --subject Hello --text Hello --wait\n", s.o.Program)
	s.say("  %s messages show %s\n", s.o.Program, s.first)
	s.say("  %s audience preview regulars\n", s.o.Program)
	return nil
}
