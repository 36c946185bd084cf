package mime

import (
	"bytes"
	"io"
)

// scanEmbedded reads an attached message/* and reports whether it can be sent as
// 7bit, the only encoding of these types that passes every relay (RFC 2046
// §5.2.1), and how many octets it takes with CRLF line ends. It cannot if it has
// an octet outside 1–127, a line of more than 998 octets, or a line that would
// end one of the multiparts around it.
func (m *Message) scanEmbedded(a *Attachment) (wire int64, ok bool, err error) {
	s := m.newScan()
	n, err := m.copyContent(&s, a.Open)
	if err != nil {
		return 0, false, err
	}
	if n != a.Size {
		return 0, false, ErrContentChanged
	}
	return s.wire, s.fine(), nil
}

func (m *Message) newScan() embeddedScan {
	return embeddedScan{delimiter: append([]byte("--"), m.boundary[:]...), ok: true}
}

// embeddedScan is a writer that looks at content line by line.
type embeddedScan struct {
	delimiter []byte
	start     [2 + boundaryLen]byte // how the current line begins
	line      int                   // octets in it
	cr        bool
	wire      int64
	ok        bool
}

func (s *embeddedScan) Write(p []byte) (int, error) {
	for _, c := range p {
		if c == '\n' && s.cr {
			s.cr = false
			continue
		}
		s.cr = c == '\r'
		if c == '\r' || c == '\n' {
			s.wire += 2
			s.ok = s.fine()
			s.line = 0
			continue
		}
		if s.line < len(s.start) {
			s.start[s.line] = c
		}
		s.line++
		s.wire++
		s.ok = s.ok && c != 0 && c < 0x80
	}
	return len(p), nil
}

// fine reports whether all that was seen so far can be sent.
func (s *embeddedScan) fine() bool {
	return s.ok && s.line <= maxLine && !bytes.HasPrefix(s.start[:min(s.line, len(s.start))], s.delimiter)
}

// embeddedGuard passes content on after it was scanned.
type embeddedGuard struct {
	scan embeddedScan
	crlf crlfWriter
	wire int64
}

func (g *embeddedGuard) Write(p []byte) (int, error) {
	if _, err := g.scan.Write(p); err != nil {
		return 0, err
	}
	if !g.scan.fine() || g.scan.wire > g.wire {
		return 0, readError{ErrContentChanged}
	}
	return g.crlf.Write(p)
}

// crlfWriter makes every line end CRLF and counts what it writes.
type crlfWriter struct {
	w  io.Writer
	n  int64
	cr bool // the last octet was a CR, written as CRLF already
}

func (c *crlfWriter) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		if rest[0] == '\n' && c.cr {
			c.cr = false
			rest = rest[1:]
			continue
		}
		c.cr = rest[0] == '\r'
		line, skip := []byte("\r\n"), 1
		if c := rest[0]; c != '\r' && c != '\n' {
			line = rest
			if n := bytes.IndexAny(rest, "\r\n"); n >= 0 {
				line = rest[:n]
			}
			skip = len(line)
		}
		n, err := c.w.Write(line)
		c.n += int64(n)
		if err != nil {
			return len(p) - len(rest), err
		}
		rest = rest[skip:]
	}
	return len(p), nil
}
