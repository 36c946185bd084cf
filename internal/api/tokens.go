package api

import (
	"encoding/json"
	"errors"
	"io"
)

// tokens reads a stream of JSON piece by piece (RFC 8259). It holds what it
// reads ahead and the one text it is at, never the whole value. encoding/json's
// own decoder looks at each byte of a text three times, which was a sixth of
// what a request cost.
//
// next stands before every piece; take, text and word read it.
type tokens struct {
	r   io.Reader
	buf []byte
	// buf[pos:end] is read and not looked at; before is how much was dropped.
	pos, end int
	before   int64

	// open holds the brackets that are open.
	open []byte
	// begun: something stands in the innermost bracket already, or, outside of
	// all, the value.
	begun bool
	// named: a name was read, and its value was not.
	named bool

	// bad: a text that was passed over is not valid UTF-8, or has half a
	// character escaped (§8.2).
	bad bool

	// scratch is where a text is put together.
	scratch []byte

	// marked and kept are what raw collects.
	marked int
	kept   []byte
}

const (
	// readAhead is as much as most requests have.
	readAhead = 8 << 10
	// maxOpen bounds what open holds; far less is refused with a name.
	maxOpen = 10_000
)

func newTokens(r io.Reader) *tokens { return &tokens{r: r, marked: -1} }

// fill reads on. It may move what is in the buffer.
func (t *tokens) fill() error {
	if t.buf == nil {
		t.buf = make([]byte, readAhead)
	}
	if t.marked >= 0 {
		t.kept = append(t.kept, t.buf[t.marked:t.pos]...)
		t.marked = 0
	}
	t.before += int64(t.pos)
	t.end = copy(t.buf, t.buf[t.pos:t.end])
	t.pos = 0
	for range 100 {
		n, err := t.r.Read(t.buf[t.end:])
		t.end += n
		if n > 0 {
			return nil // an error comes again
		}
		if err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}

// wrong is what breaks the syntax at the next byte.
func (t *tokens) wrong() error { return &json.SyntaxError{Offset: t.before + int64(t.pos) + 1} }

// peek skips white space and shows the byte that follows.
func (t *tokens) peek() (byte, error) {
	for {
		for ; t.pos < t.end; t.pos++ {
			switch c := t.buf[t.pos]; c {
			case ' ', '\t', '\n', '\r':
			default:
				return c, nil
			}
		}
		if err := t.fill(); err != nil {
			return 0, err
		}
	}
}

// more reports whether the open object or list goes on.
func (t *tokens) more() bool {
	c, err := t.peek()
	return err == nil && c != ']' && c != '}'
}

// inside is the innermost open bracket, or 0.
func (t *tokens) inside() byte {
	if len(t.open) == 0 {
		return 0
	}
	return t.open[len(t.open)-1]
}

// next goes to the next name, value or closing bracket and shows its first
// byte. Where the stream ends behind its value it is io.EOF.
func (t *tokens) next() (byte, error) {
	c, err := t.separated()
	if errors.Is(err, io.EOF) && (len(t.open) > 0 || !t.begun) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return 0, err
	}
	switch c {
	case '"':
		return c, nil
	case '{', '[', 't', 'f', 'n', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		if t.inside() != '{' || t.named {
			return c, nil
		}
	case '}':
		if t.inside() == '{' && !t.named {
			return c, nil
		}
	case ']':
		if t.inside() == '[' {
			return c, nil
		}
	}
	return 0, t.wrong()
}

// separated skips the colon or comma that must stand here.
func (t *tokens) separated() (byte, error) {
	c, err := t.peek()
	if err != nil || len(t.open) == 0 {
		return c, err
	}
	switch {
	case t.named:
		if c != ':' {
			return 0, t.wrong()
		}
	case !t.begun, c == '}', c == ']':
		return c, nil
	case c != ',':
		return 0, t.wrong()
	}
	t.pos++
	c, err = t.peek()
	if err == nil && (c == '}' || c == ']') {
		return 0, t.wrong()
	}
	return c, err
}

// take reads a bracket.
func (t *tokens) take(c byte) error {
	switch c {
	case '{', '[':
		if len(t.open) == maxOpen {
			return t.wrong()
		}
		t.pos++
		t.open = append(t.open, c)
		t.begun, t.named = false, false
	default:
		t.pos++
		t.open = t.open[:len(t.open)-1]
		t.done()
	}
	return nil
}

// done notes that a value was read.
func (t *tokens) done() { t.begun, t.named = true, false }

// skip reads on until depth open brackets have been closed.
func (t *tokens) skip(depth int) error {
	for depth > 0 {
		c, err := t.next()
		if err != nil {
			return err
		}
		switch c {
		case '{', '[':
			depth++
			err = t.take(c)
		case '}', ']':
			depth--
			err = t.take(c)
		default:
			err = t.scalar(c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// value reads the value that begins with c.
func (t *tokens) value(c byte) error {
	if c == '{' || c == '[' {
		if err := t.take(c); err != nil {
			return err
		}
		return t.skip(1)
	}
	return t.scalar(c)
}

// scalar reads a text, a number or a word.
func (t *tokens) scalar(c byte) error {
	if c != '"' {
		return t.word()
	}
	_, ok, err := t.text()
	t.bad = t.bad || !ok && err == nil
	return err
}

// raw reads the value that begins with c and returns it as it stands there.
func (t *tokens) raw(c byte) ([]byte, error) {
	t.marked, t.kept = t.pos, nil
	err := t.value(c)
	raw := append(t.kept, t.buf[t.marked:t.pos]...)
	t.marked, t.kept = -1, nil
	return raw, err
}
