package transport

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/postledger/postledger"
)

// Bounds of what is read and kept of one reply. RFC 5321 §4.5.3.1.5 allows
// 512 octets a line; hops that write more are read to the end of the line, so
// that their next reply is still found, but not beyond maxReplyBytes.
const (
	readBuffer    = 4 << 10
	maxReplyBytes = 64 << 10
	maxReplyKept  = 8 << 10
)

// ErrBadReply reports bytes that are no SMTP reply (RFC 5321 §4.2): nothing
// can be concluded from them, and the connection must not be used again.
var ErrBadReply = errors.New("not an SMTP reply")

// Reply is one reply of the hop, all of its lines.
type Reply struct {
	Code int
	// Enhanced is set only if its class is the first digit of Code; where
	// they differ the reply code decides alone (RFC 2034 §4).
	Enhanced postledger.EnhancedCode
	// Text is the text of the lines, joined by "\n", without the codes. It is
	// as the hop sent it: see Line for what may be stored.
	Text string

	cut bool // more text followed than is kept
}

// Positive reports a 2yz: the command was done.
func (r Reply) Positive() bool { return r.Code/100 == 2 }

// Intermediate reports a 3yz: the hop waits for what follows.
func (r Reply) Intermediate() bool { return r.Code/100 == 3 }

// Negative reports a 4yz or 5yz.
func (r Reply) Negative() bool { return r.Code/100 == 4 || r.Code/100 == 5 }

// ReplyReader reads replies from one connection.
type ReplyReader struct {
	br   *bufio.Reader
	kept []byte
}

// NewReplyReader reads from r with a buffer of its own.
func NewReplyReader(r io.Reader) *ReplyReader {
	return &ReplyReader{br: bufio.NewReaderSize(r, readBuffer)}
}

// Reset forgets all that was buffered and goes on reading from r: what was
// sent in plain text must not count after STARTTLS (RFC 3207 §4.2).
func (r *ReplyReader) Reset(from io.Reader) { r.br.Reset(from) }

// Buffered is the number of bytes received and not yet read. After the reply
// to the last command it must be 0, or the hop and we disagree about which
// reply belongs to what.
func (r *ReplyReader) Buffered() int { return r.br.Buffered() }

// Ready reports whether a whole line is buffered.
func (r *ReplyReader) Ready() bool {
	b, _ := r.br.Peek(r.br.Buffered())
	return bytes.IndexByte(b, '\n') >= 0
}

// Read returns the next reply. A connection that ends inside a reply gives
// io.ErrUnexpectedEOF, one that ends before it io.EOF; bytes that are no reply
// give ErrBadReply. None of these says what the hop decided.
func (r *ReplyReader) Read() (Reply, error) {
	var rep Reply
	total := 0
	for first := true; ; first = false {
		line, cut, err := r.line(&total)
		if err != nil {
			if err == io.EOF && !first {
				err = io.ErrUnexpectedEOF
			}
			return Reply{}, err
		}
		code, text, last, err := parseLine(line)
		if err != nil {
			return Reply{}, err
		}
		rep.cut = rep.cut || cut
		if first {
			rep.Code = code
			rep.Enhanced, text = splitEnhanced(code, text)
			if last {
				rep.Text = string(text)
				return rep, nil
			}
			r.kept = append(r.kept[:0], text...)
			continue
		}
		if code != rep.Code {
			return Reply{}, fmt.Errorf("%w: lines of one reply have the codes %d and %d", ErrBadReply, rep.Code, code)
		}
		if e, rest := splitEnhanced(code, text); e == rep.Enhanced {
			text = rest
		}
		if room := maxReplyKept - len(r.kept) - 1; room < len(text) {
			rep.cut = true
			text = text[:max(room, 0)]
		}
		if len(r.kept) < maxReplyKept {
			r.kept = append(append(r.kept, '\n'), text...)
		}
		if last {
			rep.Text = string(r.kept)
			return rep, nil
		}
	}
}

// line reads one line without its end. A longer line than the buffer is read
// to its end and its start returned. The result is valid until the next read.
func (r *ReplyReader) line(total *int) (line []byte, cut bool, err error) {
	line, err = r.br.ReadSlice('\n')
	*total += len(line)
	if err == bufio.ErrBufferFull {
		line, cut = bytes.Clone(line), true
		for err == bufio.ErrBufferFull && *total <= maxReplyBytes {
			var more []byte
			more, err = r.br.ReadSlice('\n')
			*total += len(more)
		}
	}
	if *total > maxReplyBytes {
		return nil, true, fmt.Errorf("%w: longer than %d bytes", ErrBadReply, maxReplyBytes)
	}
	if err != nil {
		if err == io.EOF && len(line) > 0 {
			err = io.ErrUnexpectedEOF
		}
		return nil, cut, err
	}
	if !cut {
		line = bytes.TrimSuffix(line[:len(line)-1], []byte{'\r'})
	}
	return line, cut, nil
}

// parseLine splits a reply line. "250" alone is accepted, as RFC 5321 §4.2
// asks of clients.
func parseLine(line []byte) (code int, text []byte, last bool, err error) {
	if len(line) < 3 || line[0] < '2' || line[0] > '5' || !isDigit(line[1]) || !isDigit(line[2]) {
		return 0, nil, false, fmt.Errorf("%w: starts with %.12q", ErrBadReply, line)
	}
	code = int(line[0]-'0')*100 + int(line[1]-'0')*10 + int(line[2]-'0')
	if len(line) == 3 {
		return code, nil, true, nil
	}
	switch line[3] {
	case ' ':
		return code, line[4:], true, nil
	case '-':
		return code, line[4:], false, nil
	}
	return 0, nil, false, fmt.Errorf("%w: starts with %.12q", ErrBadReply, line)
}

// splitEnhanced takes an RFC 3463 status off the start of text if its class
// is the first digit of code.
func splitEnhanced(code int, text []byte) (postledger.EnhancedCode, []byte) {
	var e postledger.EnhancedCode
	rest := text
	for i := range e {
		n := 0
		for n < len(rest) && n < 4 && isDigit(rest[n]) {
			e[i] = e[i]*10 + uint16(rest[n]-'0')
			n++
		}
		if n == 0 || n > 3 {
			return postledger.EnhancedCode{}, text
		}
		rest = rest[n:]
		if i < 2 {
			if len(rest) == 0 || rest[0] != '.' {
				return postledger.EnhancedCode{}, text
			}
			rest = rest[1:]
		}
	}
	if int(e[0]) != code/100 || len(rest) > 0 && rest[0] != ' ' {
		return postledger.EnhancedCode{}, text
	}
	return e, bytes.TrimLeft(rest, " ")
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// Line is the reply as it may be stored: one line with its codes, see OneLine.
func (r Reply) Line(recipients []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d", r.Code)
	if e := r.Enhanced.String(); e != "" {
		b.WriteString(" " + e)
	}
	text := r.Text
	if r.cut {
		// The last word may be half an address.
		text = text[:strings.LastIndexAny(text, " \n,;:<>")+1]
	}
	if text != "" {
		b.WriteString(" " + text)
	}
	return OneLine(b.String(), recipients)
}
