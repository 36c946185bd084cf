package smtp_test

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/transport/smtp"
	"github.com/postledger/postledger/internal/transport/transporttest"
)

// A context that ends before the dot ends the try, wherever it hangs.
func TestContextEndsBeforeTheDot(t *testing.T) {
	for _, step := range []transporttest.Step{
		transporttest.StepGreeting, transporttest.StepHello, transporttest.StepMail,
		transporttest.StepRcpt, transporttest.StepData,
	} {
		t.Run(string(step), func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			hop := transporttest.NewHop(t, transporttest.HopConfig{Rules: []transporttest.Rule{
				{At: step, Do: transporttest.Action{Hook: cancel, Hold: make(chan struct{})}},
			}})
			tr := dial(t, hop)
			e, w := envelope(), transporttest.NewWire(t)
			out := tr.Send(ctx, e, w)
			transporttest.CheckOutcomes(t, e, w, out)
			wantClasses(t, out, postledger.OutcomeReturned)
			if w.WasBegun() {
				t.Error("begun")
			}
		})
	}
}

// A refused parameter is not the last word: without the second try the message
// is returned, never refused.
func TestContextEndsAtARefusedParameter(t *testing.T) {
	for range 20 {
		ctx, cancel := context.WithCancel(context.Background())
		hop := transporttest.NewHop(t, transporttest.HopConfig{Rules: []transporttest.Rule{
			{At: transporttest.StepMail, Do: transporttest.Action{Hook: cancel, Reply: "555 5.5.4 SIZE not known"}},
		}})
		out := dial(t, hop).Send(ctx, envelope(), transporttest.NewWire(t))
		wantClasses(t, out, postledger.OutcomeReturned)
	}
}

// stoppingMessage ends the context while it is written.
type stoppingMessage struct {
	transporttest.Bytes
	stop func()
}

func (m stoppingMessage) Size() int64 { m.stop(); return m.Bytes.Size() }

// A context that ends right before the dot: it must not leave.
func TestContextEndsWhileTheMessageIsWritten(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	hop := transporttest.NewHop(t, transporttest.HopConfig{Rules: []transporttest.Rule{
		{At: transporttest.StepData, Do: transporttest.Action{Hook: cancel}},
	}})
	tr := dial(t, hop)
	e, w := envelope(), transporttest.NewWire(t)
	// The hop ends the context before it answers DATA.
	wantClasses(t, tr.Send(ctx, e, w), postledger.OutcomeReturned)
	ctx, cancel = context.WithCancel(context.Background())
	e.Message = stoppingMessage{transporttest.Letter(), cancel}
	wantClasses(t, tr.Send(ctx, e, w), postledger.OutcomeReturned)
	hop.Close()
	wantAccepted(t, hop, 0)
}

func TestContextEndsWhileWaitingForAConnection(t *testing.T) {
	busy, release := make(chan struct{}), make(chan struct{})
	hop := transporttest.NewHop(t, transporttest.HopConfig{Rules: []transporttest.Rule{
		{At: transporttest.StepMail, Do: transporttest.Action{Hook: sync.OnceFunc(func() { close(busy) }), Hold: release}},
	}})
	tr := dial(t, hop, oneConnection)
	var wg sync.WaitGroup
	wg.Go(func() {
		out, _ := send(t, tr, envelope())
		wantClasses(t, out, postledger.OutcomeAccepted)
	})
	<-busy
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	wantClasses(t, tr.Send(ctx, envelope(), transporttest.NewWire(t)), postledger.OutcomeReturned)
	if o := tr.Probe(ctx); o.Class != postledger.OutcomeReturned {
		t.Errorf("probe: %v", o)
	}
	close(release)
	wg.Wait()
}

func TestBoundedConnections(t *testing.T) {
	hop := transporttest.NewHop(t, transporttest.HopConfig{})
	tr := dial(t, hop, func(c *smtp.Config) { c.MaxConnections = 3 })
	var wg sync.WaitGroup
	for range 12 {
		wg.Go(func() {
			for range 10 {
				send(t, tr, envelope())
			}
		})
	}
	wg.Wait()
	wantAccepted(t, hop, 120)
	if n := hop.Connections(); n > 3 {
		t.Errorf("%d connections, want at most 3", n)
	}
}

// clock is a time that a test sets.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// A connection is used until it was idle for too long or is too old, and then
// ended with QUIT.
func TestIdleAndAge(t *testing.T) {
	quit := make(chan struct{}, 3)
	hop := transporttest.NewHop(t, transporttest.HopConfig{Rules: []transporttest.Rule{
		{At: transporttest.StepQuit, Do: transporttest.Action{Hook: func() { quit <- struct{}{} }}},
	}})
	at := &clock{now: time.Now()}
	tr := dial(t, hop, func(c *smtp.Config) {
		c.Now, c.MaxIdle, c.MaxAge = at.Now, 20*time.Second, 60*time.Second
	})
	for i, step := range []struct {
		wait        time.Duration
		connections int
	}{
		{0, 1},
		{19 * time.Second, 1},
		{19 * time.Second, 1},
		{20 * time.Second, 2}, // idle for too long
		{15 * time.Second, 2},
		{15 * time.Second, 2},
		{15 * time.Second, 2},
		{15 * time.Second, 3}, // too old
	} {
		at.advance(step.wait)
		send(t, tr, envelope())
		if n := hop.Connections(); n != step.connections {
			t.Fatalf("step %d: %d connections, want %d", i, n, step.connections)
		}
	}
	at.advance(20 * time.Second)
	tr.Prune(at.Now())
	for range 3 {
		<-quit
	}
}

func TestClosed(t *testing.T) {
	hop := transporttest.NewHop(t, transporttest.HopConfig{})
	tr := dial(t, hop)
	send(t, tr, envelope())
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
	out, _ := send(t, tr, envelope())
	wantClasses(t, out, postledger.OutcomeReturned)
	if o := tr.Probe(context.Background()); o.Class != postledger.OutcomeReturned {
		t.Errorf("probe: %v", o)
	}
}

func TestProbe(t *testing.T) {
	ctx := context.Background()
	hop := transporttest.NewHop(t, transporttest.HopConfig{Rules: []transporttest.Rule{
		{At: transporttest.StepReset, Conn: 1, Message: 1, Do: transporttest.Goodbye("421 4.3.2 bye")},
	}})
	tr := dial(t, hop)
	for range 2 {
		if o := tr.Probe(ctx); o.Class != postledger.OutcomeAccepted {
			t.Fatalf("probe: %v", o)
		}
	}
	out, _ := send(t, tr, envelope())
	wantClasses(t, out, postledger.OutcomeAccepted)
	if n := hop.Connections(); n != 1 {
		t.Errorf("%d connections: a probed one is kept", n)
	}
	if o := tr.Probe(ctx); o.Class != postledger.OutcomeAccepted || hop.Connections() != 2 {
		t.Errorf("probe of a dead connection: %v, %d connections", o, hop.Connections())
	}
	hop.Close()
	if o := tr.Probe(ctx); o.Class != postledger.OutcomeUnavailable || o.Phase != postledger.PhaseConnect {
		t.Errorf("probe of a dead hop: %v", o)
	}
}

// Nobody listens, or the name does not resolve: nothing is charged.
func TestCannotConnect(t *testing.T) {
	hop := transporttest.NewHop(t, transporttest.HopConfig{})
	hop.Close()
	out, _ := send(t, dial(t, hop), envelope("a@rcv.test", "b@rcv.test"))
	wantClasses(t, out, postledger.OutcomeUnavailable, postledger.OutcomeUnavailable)

	noName := func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "relay.test", IsNotFound: true}}
	}
	out, _ = send(t, dial(t, hop, func(c *smtp.Config) { c.Dial = noName }), envelope())
	wantClasses(t, out, postledger.OutcomeUnavailable)
	if out[0].Phase != postledger.PhaseConnect {
		t.Errorf("got %v", out[0])
	}
}

// An address that could end its command early reaches no hop, the others do.
func TestUnsafeAddresses(t *testing.T) {
	hop := transporttest.NewHop(t, transporttest.HopConfig{})
	tr := dial(t, hop)
	for _, bad := range []string{
		"a@rcv.test>\r\nDATA", "a@rcv.test\nRSET", "a\x00@rcv.test", `"a> NOTIFY=NEVER"@rcv.test`, "<a@rcv.test", "", "\xff@rcv.test",
	} {
		out, _ := send(t, tr, envelope("ok@rcv.test", bad))
		wantClasses(t, out, postledger.OutcomeAccepted, postledger.OutcomeRefused)
		e := envelope()
		e.ReturnPath = bad
		if bad == "" {
			continue // the null path
		}
		out, w := send(t, tr, e)
		wantClasses(t, out, postledger.OutcomeRefused)
		if w.WasBegun() {
			t.Error("begun")
		}
	}
	for _, a := range hop.Accepted() {
		if !slices.Equal(a.Recipients, []string{"ok@rcv.test"}) {
			t.Errorf("accepted for %q", a.Recipients)
		}
	}
}

func TestConfig(t *testing.T) {
	good := smtp.Config{Host: "relay.test", Port: 587, TLS: smtp.TLSRequired, Username: "u", Password: "p"}
	if _, err := smtp.New(good); err != nil {
		t.Fatal(err)
	}
	for field, change := range map[string]func(*smtp.Config){
		"host":       func(c *smtp.Config) { c.Host = "" },
		"port":       func(c *smtp.Config) { c.Port = 70000 },
		"tls":        func(c *smtp.Config) { c.TLS = "maybe" },
		"auth":       func(c *smtp.Config) { c.Auth = "CRAM-MD5" },
		"hello name": func(c *smtp.Config) { c.HelloName = "a\r\nMAIL" },
		"username":   func(c *smtp.Config) { c.Username = "" },
		"limits":     func(c *smtp.Config) { c.MaxConnections = -1 },
		"timeout":    func(c *smtp.Config) { c.Timeouts.Dot = -1 },
		"clear text": func(c *smtp.Config) { c.TLS = smtp.TLSOpportunistic },
		"\"none\"":   func(c *smtp.Config) { c.TLS = smtp.TLSNone },
	} {
		bad := good
		change(&bad)
		_, err := smtp.New(bad)
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: error %v", field, err)
		}
	}
}
