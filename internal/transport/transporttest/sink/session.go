package sink

import (
	"bytes"
	"net"
	"time"
)

// bufferSize holds a usual message whole, so that one read gets it.
const bufferSize = 64 << 10

// session is one connection.
type session struct {
	s    *Server
	c    net.Conn
	buf  []byte // received and not yet used: buf[r:]
	r    int
	out  []byte
	done chan error

	envid []byte
	rcpts [][]byte
	lines []byte
}

func newSession(s *Server, c net.Conn) *session {
	return &session{s: s, c: c, buf: make([]byte, 0, bufferSize), done: make(chan error, 1)}
}

// fill reads more; it first sends what is due.
func (ss *session) fill() bool {
	if !ss.flush() {
		return false
	}
	if ss.r == len(ss.buf) {
		ss.buf, ss.r = ss.buf[:0], 0
	}
	if len(ss.buf) == cap(ss.buf) {
		grown := make([]byte, len(ss.buf)-ss.r, 2*cap(ss.buf))
		copy(grown, ss.buf[ss.r:])
		ss.buf, ss.r = grown, 0
	}
	room := ss.buf[len(ss.buf):cap(ss.buf)]
	if rate := ss.s.cfg.BytesPerSecond; rate > 0 {
		room = room[:min(len(room), max(1, rate/10))] // ten reads a second
	}
	n, err := ss.c.Read(room)
	ss.buf = ss.buf[:len(ss.buf)+n]
	return (n > 0 || err == nil) && ss.slow(n)
}

// slow waits as long as n bytes may take.
func (ss *session) slow(n int) bool {
	rate := ss.s.cfg.BytesPerSecond
	if rate <= 0 {
		return true
	}
	wait := time.NewTimer(time.Duration(n) * time.Second / time.Duration(rate))
	defer wait.Stop()
	select {
	case <-wait.C:
		return true
	case <-ss.s.done:
		return false
	}
}

func (ss *session) flush() bool {
	if len(ss.out) == 0 {
		return true
	}
	_, err := ss.c.Write(ss.out)
	ss.out = ss.out[:0]
	return err == nil
}

func (ss *session) say(line string) { ss.out = append(append(ss.out, line...), "\r\n"...) }

// line returns the next command without its end.
func (ss *session) line() ([]byte, bool) {
	for {
		if i := bytes.IndexByte(ss.buf[ss.r:], '\n'); i >= 0 {
			l := ss.buf[ss.r : ss.r+i]
			ss.r += i + 1
			return bytes.TrimSuffix(l, []byte{'\r'}), true
		}
		if !ss.fill() {
			return nil, false
		}
	}
}

func (ss *session) serve() {
	ss.say("220 sink ESMTP")
	for {
		l, ok := ss.line()
		if !ok || !ss.command(l) {
			ss.flush()
			return
		}
	}
}

func (ss *session) command(l []byte) bool {
	if len(l) < 4 {
		ss.say("500 5.5.2 what")
		return true
	}
	switch verb := string(bytes.ToUpper(l[:4])); verb {
	case "EHLO":
		ss.say("250-sink")
		if !ss.s.cfg.NoPipelining {
			ss.say("250-PIPELINING")
		}
		ss.say("250-8BITMIME\r\n250-SMTPUTF8\r\n250-DSN\r\n250 SIZE 0")
	case "MAIL":
		ss.rcpts = ss.rcpts[:0]
		ss.envid = append(ss.envid[:0], after(l, "ENVID=")...)
		ss.say("250 2.1.0 ok")
	case "RCPT":
		addr := after(l, "<")
		if i := bytes.IndexByte(addr, '>'); i >= 0 {
			addr = addr[:i]
		}
		if r := ss.s.cfg.Refuse; r != "" && bytes.Contains(addr, []byte(r)) {
			ss.say("550 5.1.1 no such user")
			break
		}
		ss.rcpts = append(ss.rcpts, bytes.Clone(addr))
		ss.say("250 2.1.5 ok")
	case "DATA":
		if len(ss.rcpts) == 0 {
			ss.say("554 5.5.1 no valid recipients")
			break
		}
		ss.say("354 go")
		return ss.data()
	case "QUIT":
		ss.say("221 2.0.0 bye")
		return false
	default: // HELO, RSET, NOOP
		ss.say("250 2.0.0 ok")
	}
	return true
}

// after returns what follows key, up to a space.
func after(l []byte, key string) []byte {
	_, rest, _ := bytes.Cut(l, []byte(key))
	value, _, _ := bytes.Cut(rest, []byte{' '})
	return value
}

var end = []byte("\r\n.\r\n")

// data reads a message and answers its final dot.
func (ss *session) data() bool {
	cfg := &ss.s.cfg
	n := ss.s.arrived.Add(1)
	if nth(n, cfg.DropBeforeDot) {
		ss.flush()
		return false
	}
	from := 0
	for {
		if !ss.fill() {
			return false
		}
		msg := ss.buf[ss.r:]
		if i := bytes.Index(msg[from:], end); i >= 0 {
			msg = msg[:from+i+2]
			ss.r += len(msg) + 3
			return ss.finish(n, msg)
		}
		if bytes.HasPrefix(msg, end[2:]) {
			ss.r += 3
			return ss.finish(n, nil)
		}
		from = max(len(msg)-len(end)+1, 0)
	}
}

func (ss *session) finish(n int64, msg []byte) bool {
	cfg := &ss.s.cfg
	switch {
	case cfg.Wants != "" && !bytes.Contains(msg, []byte(cfg.Wants)):
		ss.say("554 5.6.0 what is wanted is not in it")
		return true
	case nth(n, cfg.DropLost):
		return false
	case nth(n, cfg.DropTaken):
		ss.take(msg)
		return false
	case nth(n, cfg.DeferEvery):
		ss.say("451 4.3.0 later")
		return true
	case nth(n, cfg.ThrottleEvery):
		ss.say("454 4.7.0 slow down")
		return true
	}
	if !ss.take(msg) {
		ss.say("451 4.3.0 no record")
		return true
	}
	if nth(n, cfg.LateEvery) {
		late := time.NewTimer(cfg.Late)
		defer late.Stop()
		select {
		case <-late.C:
		case <-ss.s.done:
			return false
		}
	}
	ss.say("250 2.0.0 ok")
	return true
}

func nth(n int64, every int) bool { return every > 0 && n%int64(every) == 0 }
