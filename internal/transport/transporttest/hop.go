package transporttest

import (
	"crypto/tls"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"testing"
)

// HopConfig is what a Hop offers and does. Its zero value accepts everything
// and offers PIPELINING, 8BITMIME, SMTPUTF8, DSN and SIZE, without TLS.
type HopConfig struct {
	// Extensions replaces the list of what EHLO offers, without STARTTLS and
	// AUTH. An empty, non-nil list offers nothing.
	Extensions []string
	// TLS is the server's side; nil offers none.
	TLS *tls.Config
	// Implicit speaks TLS from the first byte.
	Implicit bool
	// Logins are user names and passwords (or tokens); nil offers no AUTH.
	Logins map[string]string
	// Mechanisms are offered with Logins, default PLAIN LOGIN XOAUTH2.
	Mechanisms []string
	// MaxRecipients of a transaction; more get a 452. 0 is no limit.
	MaxRecipients int
	Rules         []Rule
	// OnAccept is called for each accepted message before its reply is sent.
	OnAccept func(Acceptance)
}

// Acceptance is a message the hop took responsibility for.
type Acceptance struct {
	Conn       int
	Encrypted  bool
	ReturnPath string
	Recipients []string
	// Mail is the MAIL command, Rcpts the RCPT commands of Recipients.
	Mail  string
	Rcpts []string
	// Data is the message without stuffed dots and final dot.
	Data []byte
}

// Hop is a scripted next hop on a loopback port. It ends with its test.
type Hop struct {
	tb   testing.TB
	cfg  HopConfig
	ln   net.Listener
	done chan struct{}
	wg   sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	script   script
	conns    map[net.Conn]struct{}
	count    int
	commands []string
	accepted []Acceptance
	faults   []string
}

// NewHop starts a hop.
func NewHop(tb testing.TB, cfg HopConfig) *Hop {
	tb.Helper()
	if cfg.Extensions == nil {
		cfg.Extensions = []string{"PIPELINING", "8BITMIME", "SMTPUTF8", "DSN", "SIZE 35000000", "ENHANCEDSTATUSCODES"}
	}
	if cfg.Mechanisms == nil {
		cfg.Mechanisms = []string{"PLAIN", "LOGIN", "XOAUTH2"}
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("listen: %v", err)
	}
	h := &Hop{
		tb: tb, cfg: cfg, ln: ln,
		done:   make(chan struct{}),
		conns:  make(map[net.Conn]struct{}),
		script: script{rules: cfg.Rules, used: make([]int, len(cfg.Rules))},
	}
	h.wg.Go(h.listen)
	tb.Cleanup(func() {
		h.Close()
		for _, f := range h.Faults() {
			tb.Errorf("protocol violation: %s", f)
		}
	})
	return h
}

// Close ends the hop and waits for its sessions.
func (h *Hop) Close() {
	h.mu.Lock()
	first := !h.closed
	h.closed = true
	for c := range h.conns {
		c.Close()
	}
	h.mu.Unlock()
	if first {
		close(h.done)
		h.ln.Close()
	}
	h.wg.Wait()
}

// Addr is where it listens.
func (h *Hop) Addr() string { return h.ln.Addr().String() }

// Host is its address without the port.
func (h *Hop) Host() string { return "127.0.0.1" }

// Port is the TCP port.
func (h *Hop) Port() int {
	_, port, _ := net.SplitHostPort(h.ln.Addr().String())
	n, _ := strconv.Atoi(port)
	return n
}

// Accepted are the messages taken so far.
func (h *Hop) Accepted() []Acceptance {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.accepted)
}

// Connections is how many there were.
func (h *Hop) Connections() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.count
}

// Commands are the command lines received, each with "n: " of its connection
// in front, in the order in which they were handled.
func (h *Hop) Commands() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.commands)
}

// Faults are what clients did wrong.
func (h *Hop) Faults() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.faults)
}

// TakeFaults returns and forgets them, for tests that expect some.
func (h *Hop) TakeFaults() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.faults
	h.faults = nil
	return f
}

// Say writes text, unasked, on every open connection and closes them.
func (h *Hop) Say(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.conns {
		_, _ = c.Write([]byte(text))
		c.Close()
	}
}

func (h *Hop) fault(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.faults = append(h.faults, fmt.Sprintf(format, args...))
}

func (h *Hop) listen() {
	for {
		c, err := h.ln.Accept()
		if err != nil {
			return
		}
		h.mu.Lock()
		if h.closed {
			h.mu.Unlock()
			c.Close()
			return
		}
		h.count++
		s := newSession(h, c, h.count)
		h.conns[c] = struct{}{}
		h.mu.Unlock()
		h.wg.Go(func() {
			s.serve()
			c.Close()
			h.mu.Lock()
			delete(h.conns, c)
			h.mu.Unlock()
		})
	}
}
