package testserver_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/postledger/postledger/internal/testserver"
)

// echoServer returns what it gets and remembers it.
type echoServer struct {
	addr string
	got  chan []byte // what each connection sent until its end
}

func newEchoServer(t *testing.T) *echoServer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &echoServer{addr: listener.Addr().String(), got: make(chan []byte, 16)}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer conn.Close()
				var got bytes.Buffer
				// A broken connection ends the copy: what came is what counts.
				_, _ = io.Copy(conn, io.TeeReader(conn, &got))
				s.got <- got.Bytes()
			})
		}
	})
	// Registered first, so it runs after the proxy's cleanup has cut all.
	t.Cleanup(func() {
		listener.Close()
		running.Wait()
	})
	return s
}

func dial(t *testing.T, addr string) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	// A test that would wait for ever fails instead.
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn.(*net.TCPConn)
}

func say(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
}

func hear(t *testing.T, conn net.Conn, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != want {
		t.Fatalf("heard %q (%v), want %q", got, err, want)
	}
}

func TestProxyForwardsAndPassesTheEnd(t *testing.T) {
	t.Parallel()
	server := newEchoServer(t)
	conn := dial(t, testserver.Proxy(t, server.addr).Addr())
	sent := bytes.Repeat([]byte("0123456789abcdef"), 64<<10) // 1 MiB
	var writer sync.WaitGroup
	writer.Go(func() {
		if _, err := conn.Write(sent); err != nil {
			t.Error(err)
		}
		if err := conn.CloseWrite(); err != nil {
			t.Error(err)
		}
	})
	got, err := io.ReadAll(conn)
	writer.Wait()
	if err != nil || !bytes.Equal(got, sent) {
		t.Fatalf("got %d bytes (%v), want the %d that were sent", len(got), err, len(sent))
	}
}

func TestProxyCutResetsAllConnections(t *testing.T) {
	t.Parallel()
	server := newEchoServer(t)
	proxy := testserver.Proxy(t, server.addr)
	first, second := dial(t, proxy.Addr()), dial(t, proxy.Addr())
	for _, conn := range []net.Conn{first, second} {
		say(t, conn, "ping")
		hear(t, conn, "ping")
	}
	if n := proxy.Connections(); n != 2 {
		t.Errorf("%d connections, want 2", n)
	}
	proxy.Cut()
	for _, conn := range []net.Conn{first, second} {
		if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("after the cut: %v, want a reset", err)
		}
	}
	third := dial(t, proxy.Addr())
	say(t, third, "ping")
	hear(t, third, "ping")
}

func TestProxyCutAfterBytesToTarget(t *testing.T) {
	t.Parallel()
	for _, allowed := range []int64{0, 1, 7, 40_000} {
		server := newEchoServer(t)
		proxy := testserver.Proxy(t, server.addr)
		conn := dial(t, proxy.Addr())
		proxy.CutAfterBytes(testserver.ToTarget, allowed)
		sent := bytes.Repeat([]byte("x"), int(allowed)+10)
		// The connection may break while this writes.
		_, _ = conn.Write(sent)
		if got := <-server.got; int64(len(got)) != allowed {
			t.Errorf("the target got %d bytes, want exactly %d", len(got), allowed)
		}
		if _, err := io.Copy(io.Discard, conn); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the client saw %v, want a reset", err)
		}
	}
}

func TestProxyCutAfterBytesToClientLosesTheReply(t *testing.T) {
	t.Parallel()
	server := newEchoServer(t)
	proxy := testserver.Proxy(t, server.addr)
	conn := dial(t, proxy.Addr())
	say(t, conn, "ping")
	hear(t, conn, "ping")

	proxy.CutAfterBytes(testserver.ToClient, 3)
	say(t, conn, "COMMIT")
	if got, err := io.ReadAll(conn); string(got) != "COM" || err != nil {
		t.Errorf("the client got %q (%v), want the first 3 bytes and the end", got, err)
	}
	if got := <-server.got; string(got) != "pingCOMMIT" {
		t.Errorf("the target got %q: the request must have arrived whole", got)
	}
	again := dial(t, proxy.Addr())
	say(t, again, "ping")
	hear(t, again, "ping")
}

func TestProxyBlackholeHoldsEverythingUntilItEnds(t *testing.T) {
	t.Parallel()
	server := newEchoServer(t)
	proxy := testserver.Proxy(t, server.addr)
	conn := dial(t, proxy.Addr())
	say(t, conn, "before")
	hear(t, conn, "before")

	proxy.Blackhole(true)
	say(t, conn, "held")
	if err := conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("read %d bytes (%v) through a black hole", n, err)
	}
	proxy.Blackhole(false)
	if err := conn.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	hear(t, conn, "held")
}

func TestProxyDelayAddsARoundTripButKeepsTheRate(t *testing.T) {
	t.Parallel()
	const roundTrip = 60 * time.Millisecond
	server := newEchoServer(t)
	proxy := testserver.Proxy(t, server.addr)
	proxy.Delay(roundTrip)
	conn := dial(t, proxy.Addr())

	began := time.Now()
	say(t, conn, "ping")
	hear(t, conn, "ping")
	if took := time.Since(began); took < roundTrip {
		t.Errorf("a round trip took %v, want at least %v", took, roundTrip)
	}

	// 64 chunks one after the other would take 64 delays; in flight together
	// they take little more than one. Half leaves room for a busy machine.
	sent := bytes.Repeat([]byte("x"), 64*(32<<10))
	began = time.Now()
	var writer sync.WaitGroup
	writer.Go(func() {
		if _, err := conn.Write(sent); err != nil {
			t.Error(err)
		}
	})
	if _, err := io.CopyN(io.Discard, conn, int64(len(sent))); err != nil {
		t.Fatal(err)
	}
	writer.Wait()
	if took := time.Since(began); took > 32*roundTrip {
		t.Errorf("2 MiB took %v: the delay bounds the throughput", took)
	}
}

func TestProxyRefuses(t *testing.T) {
	t.Parallel()
	server := newEchoServer(t)
	proxy := testserver.Proxy(t, server.addr)
	proxy.Refuse(true)
	// The reset comes before or after the client has seen the connection.
	if refused, err := net.Dial("tcp", proxy.Addr()); err == nil {
		defer refused.Close()
		if _, err := refused.Read(make([]byte, 1)); err == nil {
			t.Fatal("a refused connection gave data")
		}
	}
	proxy.Refuse(false)
	conn := dial(t, proxy.Addr())
	say(t, conn, "ping")
	hear(t, conn, "ping")
}
