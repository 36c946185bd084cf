package smtp

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/postledger/postledger/internal/transport"
)

const (
	// groupLimit bounds what is written before replies are read, so that
	// neither side can wait for the other with full buffers (RFC 2920 §3.1).
	groupLimit = 4 << 10
	// blockSize is the most of a message kept before it is written. What is
	// left at its end leaves together with the final dot.
	blockSize = 32 << 10
	// lastWords is how long a reply is waited for that may explain why a write
	// failed. If there is one, it has nearly always arrived before.
	lastWords = 250 * time.Millisecond
	// lookAfter is how long a connection may be idle without a look whether the
	// hop has said something; the look is a system call.
	lookAfter = time.Second
)

// conn is one connection with the hop, used by one goroutine at a time.
type conn struct {
	raw net.Conn // TCP; closing it interrupts everything
	net net.Conn // raw, or TLS over it
	in  *transport.ReplyReader
	out []byte // commands or a block of the message, reused

	ext extensions
	// plain says why mail leaves in clear text although TLS was offered.
	plain string

	born     time.Time
	lastUsed time.Time
	messages int
	// reused: at least one transaction was ended on it before.
	reused bool
	// open: a transaction was begun and not ended; RSET comes first.
	open bool
	// bare: the hop refused a parameter of MAIL or RCPT that it had offered.
	bare bool
	// broken: it must not be used again.
	broken bool
}

func newConn(raw net.Conn, now time.Time) *conn {
	return &conn{raw: raw, net: raw, in: transport.NewReplyReader(raw), born: now}
}

// startTLS makes the handshake. What was buffered in clear text is forgotten.
func (c *conn) startTLS(ctx context.Context, cfg *tls.Config) error {
	secure := tls.Client(c.raw, cfg)
	if err := secure.HandshakeContext(ctx); err != nil {
		return err
	}
	c.net = secure
	c.in.Reset(secure)
	return nil
}

func (c *conn) encrypted() bool { return c.net != c.raw }

// write sends what is in c.out and empties it.
func (c *conn) write(limit time.Duration) error {
	if err := c.net.SetWriteDeadline(time.Now().Add(limit)); err != nil {
		return err
	}
	_, err := c.net.Write(c.out)
	c.out = c.out[:0]
	return err
}

// read returns the next reply. The limit holds for the whole reply, however
// slowly its bytes drip in.
func (c *conn) read(limit time.Duration) (transport.Reply, error) {
	if !c.in.Ready() {
		if err := c.net.SetReadDeadline(time.Now().Add(limit)); err != nil {
			return transport.Reply{}, err
		}
	}
	return c.in.Read()
}

// command sends one line and reads its reply.
func (c *conn) command(limit time.Duration, line string) (transport.Reply, error) {
	c.out = append(append(c.out[:0], line...), "\r\n"...)
	if err := c.write(limit); err != nil {
		// The hop may have said why before it closed.
		if r, rerr := c.read(lastWords); rerr == nil && r.Negative() {
			return r, nil
		}
		return transport.Reply{}, err
	}
	return c.read(limit)
}

// drop closes without a word. Anything unfinished is lost for certain.
func (c *conn) drop() {
	c.broken = true
	c.raw.Close()
}

// quit is the polite end of an idle connection. The reply is not waited for:
// RFC 5321 §4.1.1.10 asks to, but nothing depends on it.
func (c *conn) quit() {
	if !c.broken {
		c.out = append(c.out[:0], "QUIT\r\n"...)
		_ = c.write(lastWords)
	}
	c.drop()
}

// guard drops a connection when a context ends.
type guard struct {
	stop func() bool
	done chan struct{}
}

// watch starts to drop c when ctx ends, until release.
func (c *conn) watch(ctx context.Context) guard {
	if ctx.Done() == nil {
		return guard{}
	}
	done := make(chan struct{})
	raw := c.raw
	return guard{done: done, stop: context.AfterFunc(ctx, func() {
		raw.Close()
		close(done)
	})}
}

// release ends the watch and reports whether the connection was left alone.
// After it, the context has no power over the connection. It may be called again.
func (g *guard) release() bool {
	if g.stop == nil {
		return g.done == nil
	}
	if g.stop() {
		*g = guard{}
		return true
	}
	<-g.done
	g.stop = nil
	return false
}
