package smtp

import (
	"bytes"
	"time"
)

// bodyWriter puts a message into the connection's buffer in the form DATA
// wants (RFC 5321 §4.5.2), and writes full blocks out. It writes only when
// more follows: the last bytes stay buffered, for the write with the final dot.
type bodyWriter struct {
	c     *conn
	limit time.Duration
	// mid: the last byte was inside a line.
	mid bool
	// cr: a CR was the last byte and has not been written.
	cr bool
	// err is the connection's error, as opposed to the message's own.
	err error
}

// Write never returns fewer bytes than it was given, unless the connection failed.
func (w *bodyWriter) Write(p []byte) (int, error) {
	n := len(p)
	for looked := false; len(p) > 0 && w.err == nil; {
		if !looked && !w.cr && !w.mid {
			looked = true
			k := wholeLines(p)
			w.put(p[:k])
			p = p[k:]
			continue
		}
		if w.cr {
			w.endLine()
			if p[0] == '\n' {
				p = p[1:]
				continue
			}
		}
		if !w.mid && p[0] == '.' {
			w.put([]byte{'.'})
		}
		line := p
		lf := bytes.IndexByte(p, '\n')
		if lf >= 0 {
			line = p[:lf]
		}
		cr := bytes.IndexByte(line, '\r')
		switch {
		case cr < 0 && lf < 0: // the line goes on in the next Write
			w.put(p)
			w.mid = true
			p = nil
		case cr >= 0 && cr == lf-1: // what every line should be
			w.put(p[:lf+1])
			w.mid = false
			p = p[lf+1:]
		case cr >= 0: // a CR that no LF follows, or not in this Write
			w.put(p[:cr])
			w.cr = true
			p = p[cr+1:]
		default: // a bare LF
			w.put(line)
			w.endLine()
			p = p[lf+1:]
		}
	}
	if w.err != nil {
		return 0, w.err
	}
	return n, nil
}

// wholeLines is how much of p may leave as it is: whole lines, none of which
// begins with a dot, and no CR or LF but at their ends. That is nearly all of
// every message.
func wholeLines(p []byte) int {
	n, lines := 0, 0
	for n < len(p) && p[n] != '.' {
		lf := bytes.IndexByte(p[n:], '\n')
		if lf < 1 || p[n+lf-1] != '\r' {
			break
		}
		n += lf + 1
		lines++
	}
	if bytes.Count(p[:n], []byte{'\r'}) != lines {
		return 0
	}
	return n
}

// endLine writes the CRLF for a line that lacked it.
func (w *bodyWriter) endLine() {
	w.put([]byte("\r\n"))
	w.mid, w.cr = false, false
}

func (w *bodyWriter) put(b []byte) {
	for len(b) > 0 && w.err == nil {
		room := blockSize - len(w.c.out)
		if room == 0 {
			w.err = w.c.write(w.limit)
			continue
		}
		k := min(room, len(b))
		w.c.out = append(w.c.out, b[:k]...)
		b = b[k:]
	}
}

// finish adds the end of the last line, if it has none, and the final dot,
// beyond the block size if need be: they stay in the buffer.
func (w *bodyWriter) finish() {
	if w.cr || w.mid {
		w.c.out = append(w.c.out, "\r\n"...)
	}
	w.c.out = append(w.c.out, ".\r\n"...)
}
