package testserver

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// link is one client's connection and the one to the target behind it.
type link struct {
	client, target *net.TCPConn
	// stranded links lose what they get, and every sign of an end.
	stranded atomic.Bool
}

func (l *link) ends(direction Direction) (from, to *net.TCPConn) {
	if direction == ToTarget {
		return l.client, l.target
	}
	return l.target, l.client
}

func (l *link) reset() {
	abort(l.client)
	abort(l.target)
}

// abort closes with a reset instead of an orderly end.
func abort(conn *net.TCPConn) {
	_ = conn.SetLinger(0) // fails only on a connection that is closed already
	conn.Close()
}

// chunk is what one read gave, and when it is due at the other end.
type chunk struct {
	data []byte
	end  error // the stream ends after data: io.EOF, or it broke
	due  time.Time
}

const (
	chunkBytes = 32 << 10
	// chunksInFlight bounds what a delayed direction holds: 256 × 32 KiB = 8 MiB
	// a connection, which at a round trip of 100 ms still allows 160 MB/s.
	chunksInFlight = 256
)

// pump carries one direction of a link until it ends or is cut. Reading goes on
// while earlier chunks wait for their time, so a delay does not bound the rate.
func (p *TCPProxy) pump(ctx context.Context, l *link, direction Direction) {
	from, to := l.ends(direction)
	flight := make(chan chunk, chunksInFlight)
	broken := make(chan struct{}) // closed when the writer has given up
	var reader sync.WaitGroup
	reader.Go(func() { p.read(from, flight, broken) })
	if p.write(ctx, l, direction, flight) {
		// The sender has ended its stream; the other direction may go on.
		_ = to.CloseWrite()
	} else {
		l.reset()
	}
	close(broken)
	reader.Wait()
}

func (p *TCPProxy) read(from *net.TCPConn, flight chan<- chunk, broken <-chan struct{}) {
	for {
		buffer := make([]byte, chunkBytes)
		n, err := from.Read(buffer)
		select {
		case flight <- chunk{data: buffer[:n], end: err, due: time.Now().Add(p.delay())}:
		case <-broken:
			return
		}
		if err != nil {
			return
		}
	}
}

// write reports whether the stream came to an orderly end.
func (p *TCPProxy) write(ctx context.Context, l *link, direction Direction, flight <-chan chunk) bool {
	from, to := l.ends(direction)
	for {
		c := <-flight // the reader sends until an end
		if !p.hold(ctx, c.due) {
			return false
		}
		if l.stranded.Load() {
			if c.end == nil {
				continue
			}
			<-ctx.Done() // the other side does not hear of it
			return false
		}
		data, cut := p.allow(direction, c.data)
		if !p.trickle(ctx, to, data) {
			return false
		}
		if cut {
			// The receiver must get what was let through: a reset would
			// throw away what it has not read. It gets an orderly end.
			to.Close()
			abort(from)
			return false
		}
		if c.end != nil {
			return errors.Is(c.end, io.EOF)
		}
	}
}

// trickle writes at the rate that is allowed. It reports whether all was
// written.
func (p *TCPProxy) trickle(ctx context.Context, to net.Conn, data []byte) bool {
	for len(data) > 0 {
		part := data
		if rate := p.bytesPerSecond(); rate > 0 {
			// Twenty parts a second.
			part = data[:min(int64(len(data)), max(1, rate/20))]
			if !p.hold(ctx, time.Now().Add(time.Duration(len(part))*time.Second/time.Duration(rate))) {
				return false
			}
		}
		if _, err := to.Write(part); err != nil {
			return false
		}
		data = data[len(part):]
	}
	return true
}

func (p *TCPProxy) bytesPerSecond() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rate
}

// hold waits until the time has come and the proxy is open. It reports whether
// the test still runs.
func (p *TCPProxy) hold(ctx context.Context, due time.Time) bool {
	if wait := time.Until(due); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return false
		}
	}
	p.mu.Lock()
	open := p.open
	p.mu.Unlock()
	select {
	case <-open:
		return true
	case <-ctx.Done():
		return false
	}
}

func (p *TCPProxy) delay() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.oneWay
}

// allow is the part of the data that may pass, and whether the connection is to
// be cut after it.
func (p *TCPProxy) allow(direction Direction, data []byte) ([]byte, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := p.limits[direction]
	if left == nil {
		return data, false
	}
	if int64(len(data)) <= *left {
		*left -= int64(len(data))
		return data, false
	}
	p.limits[direction] = nil
	return data[:*left], true
}
