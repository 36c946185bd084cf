package testserver

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"
)

// Direction is where bytes flow through a [TCPProxy].
type Direction int

const (
	// ToTarget is from the client to the target.
	ToTarget Direction = iota
	// ToClient is from the target to the client.
	ToClient
)

// TCPProxy stands between a client and a server and breaks what passes. A new
// proxy forwards everything, at once. All methods may be called at any time.
type TCPProxy struct {
	listener net.Listener
	target   string
	running  sync.WaitGroup

	mu     sync.Mutex
	links  map[*link]struct{}
	limits [2]*int64     // bytes still allowed before the cut, by direction; nil: no limit
	oneWay time.Duration // half of the added round trip
	open   chan struct{} // closed while bytes may pass
	refuse bool
	rate   int64 // bytes a second in each direction of a connection; 0: no bound
	// accepted counts every connection that was asked for.
	accepted int
}

// Proxy starts a proxy in front of the target (host:port) for the length of the
// test.
func Proxy(tb testing.TB, target string) *TCPProxy {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("start a proxy: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &TCPProxy{
		listener: listener,
		target:   target,
		links:    map[*link]struct{}{},
		open:     make(chan struct{}),
	}
	close(p.open)
	p.running.Go(func() { p.accept(ctx) })
	tb.Cleanup(func() {
		cancel()
		listener.Close()
		p.Cut()
		p.running.Wait()
	})
	return p
}

// Addr is where clients connect.
func (p *TCPProxy) Addr() string { return p.listener.Addr().String() }

// Cut resets every connection now, on both sides. New ones are accepted.
func (p *TCPProxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.reset()
	}
}

// CutAfterBytes lets exactly n more bytes pass in the direction, counted over
// all connections, and then breaks the connection that carries the next byte:
// its receiver gets the n bytes and the end of the stream, its sender a reset.
// With n = 0 the next byte does not arrive. It breaks one connection; later ones
// work.
func (p *TCPProxy) CutAfterBytes(direction Direction, n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.limits[direction] = &n
}

// Blackhole makes bytes vanish from view: connections stay open, new ones are
// accepted, nothing arrives. When it is switched off, what was held arrives, as
// TCP does after a partition.
func (p *TCPProxy) Blackhole(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.open:
		if on {
			p.open = make(chan struct{})
		}
	default:
		if !on {
			close(p.open)
		}
	}
}

// Delay adds to the round trip, half in each direction, for bytes that arrive
// from now on. It does not bound the throughput.
func (p *TCPProxy) Delay(roundTrip time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.oneWay = roundTrip / 2
}

// Rate bounds each direction of each connection to so many bytes a second, from
// now on; 0 takes the bound away.
func (p *TCPProxy) Rate(bytesPerSecond int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rate = bytesPerSecond
}

// Strand leaves the connections that exist without an answer for ever: what is
// written to them vanishes, and neither side hears of an end. New ones work. It
// is what a firewall does that forgets its connections.
func (p *TCPProxy) Strand() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.stranded.Store(true)
	}
}

// Accepted is how many connections were asked for since the proxy began.
func (p *TCPProxy) Accepted() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.accepted
}

// Refuse makes new connections end at once. Those that exist go on.
func (p *TCPProxy) Refuse(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = on
}

// Connections is how many connections pass through the proxy.
func (p *TCPProxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

func (p *TCPProxy) accept(ctx context.Context) {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed by the cleanup
		}
		p.running.Go(func() { p.connect(ctx, client.(*net.TCPConn)) })
	}
}

func (p *TCPProxy) connect(ctx context.Context, client *net.TCPConn) {
	p.mu.Lock()
	refuse := p.refuse
	p.accepted++
	p.mu.Unlock()
	if refuse {
		abort(client)
		return
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", p.target)
	if err != nil {
		abort(client)
		return
	}
	l := &link{client: client, target: conn.(*net.TCPConn)}
	p.mu.Lock()
	p.links[l] = struct{}{}
	p.mu.Unlock()
	// A test that ended meanwhile did not see this link when it cut the others.
	if ctx.Err() != nil {
		l.reset()
	}
	var pumps sync.WaitGroup
	pumps.Go(func() { p.pump(ctx, l, ToTarget) })
	pumps.Go(func() { p.pump(ctx, l, ToClient) })
	pumps.Wait()
	l.client.Close()
	l.target.Close()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}
