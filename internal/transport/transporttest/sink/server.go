package sink

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Config is how a Server behaves. The zero value takes everything, offers
// PIPELINING and DSN, and keeps no record.
type Config struct {
	// Record is the file lines are appended to; "" keeps none.
	Record string
	// Fsync makes each line durable before its 250. Lines of messages that
	// arrive meanwhile share one fsync.
	Fsync bool
	// NoPipelining does not offer it.
	NoPipelining bool
	// Refuse answers 550 5.1.1 to every recipient with this in its address.
	Refuse string
	// Wants answers 554 5.6.0 to the final dot of a message without this in it.
	Wants string
	// Taken hears the recipients of each message that was taken, before it is
	// answered, from the session's goroutine. It must not keep them.
	Taken func(recipients [][]byte)

	// BytesPerSecond is how fast a connection is read; 0 is as fast as can be.
	BytesPerSecond int

	// Each of these does its thing with every n-th message; 0 is never. Where
	// several would, the first does.
	DropBeforeDot int // drops the connection after the 354, takes nothing
	DropLost      int // reads the message, does not take it, drops the connection
	DropTaken     int // takes the message, drops the connection unanswered
	DeferEvery    int // 451 4.3.0 to the final dot
	ThrottleEvery int // 454 4.7.0 to the final dot
	LateEvery     int // takes the message and answers after Late
	Late          time.Duration
}

// Counts is what a Server did.
type Counts struct {
	Connections, Messages, Recipients, Bytes int64
}

// Server is a sink. Make one with New.
type Server struct {
	cfg    Config
	record *record

	connections, messages, recipients, bytes atomic.Int64
	arrived                                  atomic.Int64 // messages begun, for "every n-th"

	mu     sync.Mutex
	closed bool
	lns    []net.Listener
	conns  map[net.Conn]struct{}
	wg     sync.WaitGroup
	done   chan struct{}
}

// New opens the record, if there is one.
func New(cfg Config) (*Server, error) {
	s := &Server{cfg: cfg, conns: make(map[net.Conn]struct{}), done: make(chan struct{})}
	if cfg.Record != "" {
		var err error
		if s.record, err = openRecord(cfg.Record, cfg.Fsync); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Serve accepts connections until Close.
func (s *Server) Serve(ln net.Listener) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return errors.Join(errors.New("serve: the sink is closed"), ln.Close())
	}
	s.lns = append(s.lns, ln)
	s.mu.Unlock()
	for {
		c, err := ln.Accept()
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			if err == nil {
				c.Close()
			}
			return nil
		}
		if err != nil {
			s.mu.Unlock()
			return err
		}
		s.conns[c] = struct{}{}
		s.mu.Unlock()
		s.connections.Add(1)
		s.wg.Go(func() {
			newSession(s, c).serve()
			c.Close()
			s.mu.Lock()
			delete(s.conns, c)
			s.mu.Unlock()
		})
	}
}

// Counts are the figures so far.
func (s *Server) Counts() Counts {
	return Counts{s.connections.Load(), s.messages.Load(), s.recipients.Load(), s.bytes.Load()}
}

// Close ends every session, waits for them and closes the record.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	close(s.done)
	for _, ln := range s.lns {
		ln.Close()
	}
	for c := range s.conns {
		c.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
	if s.record != nil {
		return s.record.close()
	}
	return nil
}
