package api

import (
	"bytes"
	"io"
	"unicode/utf8"
)

// checked notes what encoding/json would put U+FFFD in the place of: bytes that
// are not UTF-8, and escapes such as \ud83d that are half a character (RFC 8259
// §8.2). It looks at the stream, so that no text is read twice for it.
type checked struct {
	r   io.Reader
	bad bool

	// tail is a character that a read cut, at most 3 bytes.
	tail [utf8.UTFMax]byte
	n    int

	// escape is how much of an escape was read: 0 nothing, 1 the backslash,
	// 2 to 5 the u and its digits.
	escape int
	value  rune
	high   bool // half a character was read, and the other half must follow
}

func (c *checked) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.utf8(b[:n])
	c.escapes(b[:n])
	return n, err
}

func (c *checked) utf8(p []byte) {
	for c.n > 0 && len(p) > 0 {
		c.tail[c.n] = p[0]
		c.n++
		p = p[1:]
		if utf8.FullRune(c.tail[:c.n]) {
			c.bad = c.bad || !utf8.Valid(c.tail[:c.n])
			c.n = 0
		}
	}
	end := len(p)
	for i := 1; i < utf8.UTFMax && i <= len(p); i++ {
		if last := p[len(p)-i:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				end -= i
			}
			break
		}
	}
	if end < len(p) {
		c.n = copy(c.tail[:], p[end:])
	}
	c.bad = c.bad || !utf8.Valid(p[:end])
}

func (c *checked) escapes(p []byte) {
	for i := 0; i < len(p); i++ {
		if c.escape == 0 && !c.high {
			next := bytes.IndexByte(p[i:], '\\')
			if next < 0 {
				return
			}
			i += next
		}
		c.escaped(p[i])
	}
}

// escaped reads one byte of an escape, or after half a character.
func (c *checked) escaped(b byte) {
	switch {
	case c.escape == 0 && b == '\\':
		c.escape = 1
	case c.escape == 1 && b == 'u':
		c.escape, c.value = 2, 0
	case c.escape >= 2:
		c.value = c.value<<4 | digit(b)
		if c.escape++; c.escape == 6 {
			c.escape = 0
			c.half(c.value)
		}
	default:
		c.escape = 0
		c.half(0)
	}
}

// half takes a character, or half of one.
func (c *checked) half(r rune) {
	low := r >= 0xdc00 && r < 0xe000
	if low != c.high {
		c.bad = true
	}
	c.high = r >= 0xd800 && r < 0xdc00
}

func digit(b byte) rune {
	switch d := b | 0x20; {
	case d >= '0' && d <= '9':
		return rune(d - '0')
	case d >= 'a' && d <= 'f':
		return rune(d - 'a' + 10)
	default:
		return 0 // it is no JSON, which the decoder says
	}
}
