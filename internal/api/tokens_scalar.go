package api

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// inText marks the bytes of a text that stand for themselves.
var inText = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= 0x20 && c != '"' && c != '\\'
	}
	return t
}()

// text reads a text, or a name, at its opening quote. It is not ok when it is
// not valid UTF-8 or has half a character escaped, which nothing else could
// tell from a U+FFFD that was meant.
func (t *tokens) text() (s string, ok bool, err error) {
	t.pos++
	ok = true
	b := t.scratch[:0] // when it does not stand in the buffer as it is
	for {
		run := t.pos
		for t.pos < t.end && inText[t.buf[t.pos]] {
			t.pos++
		}
		part := t.buf[run:t.pos]
		if b == nil && (t.pos == t.end || t.buf[t.pos] == '\\') {
			b = make([]byte, 0, firstScratch)
		}
		if t.pos == t.end {
			b = append(b, part...)
			if err := t.fill(); err != nil {
				return "", false, unexpected(err)
			}
			continue
		}
		switch t.buf[t.pos] {
		case '"':
			t.pos++
			if len(b) > 0 {
				b = append(b, part...)
				part = b
			}
			if cap(b) <= maxScratch {
				t.scratch = b
			}
			if t.inside() == '{' && !t.named {
				t.named = true
			} else {
				t.done()
			}
			return string(part), ok && utf8.Valid(part), nil
		case '\\':
			b = append(b, part...)
			if r, ok := t.plainUnit(); ok {
				b = utf8.AppendRune(b, r)
				continue
			}
			r, whole, err := t.escape()
			if err != nil {
				return "", false, err
			}
			ok = ok && whole
			b = utf8.AppendRune(b, r)
		default:
			return "", false, t.wrong()
		}
	}
}

// firstScratch has room for most texts, which would else be moved from place to
// place while they grow.
const firstScratch = 4 << 10

// maxScratch is what is kept for the next text; the place of a larger one is
// let go.
const maxScratch = 64 << 10

// plainUnit reads \u00XX where it stands whole in the buffer: how many encoders
// write each < and > of HTML.
func (t *tokens) plainUnit() (rune, bool) {
	if t.end-t.pos < 6 {
		return 0, false
	}
	b := t.buf[t.pos : t.pos+6]
	if b[1] != 'u' || b[2] != '0' || b[3] != '0' {
		return 0, false
	}
	high, low := hexDigit[b[4]], hexDigit[b[5]]
	if high|low > 15 {
		return 0, false
	}
	t.pos += 6
	return rune(high<<4 | low), true
}

// hexDigit is each digit's value, and 255 for what is none.
var hexDigit = func() (t [256]byte) {
	for c := range t {
		t[c] = 255
	}
	for i, c := range []byte("0123456789abcdef") {
		t[c] = byte(i)
	}
	for i, c := range []byte("ABCDEF") {
		t[c] = byte(10 + i)
	}
	return t
}()

// escape reads an escape, or two that are one character.
func (t *tokens) escape() (r rune, ok bool, err error) {
	b, err := t.ahead(2)
	if err != nil {
		return 0, false, err
	}
	if b[1] != 'u' {
		i := strings.IndexByte(`"\/bfnrt`, b[1])
		if i < 0 {
			t.pos++
			return 0, false, t.wrong()
		}
		t.pos += 2
		return rune("\"\\/\b\f\n\r\t"[i]), true, nil
	}
	if r, err = t.unit(); err != nil || !utf16.IsSurrogate(r) {
		return r, true, err
	}
	if b, err = t.ahead(1); err == nil && b[0] == '\\' {
		b, err = t.ahead(2)
	}
	switch {
	case err != nil:
		return 0, false, err
	case r >= 0xdc00 || len(b) < 2 || b[1] != 'u':
		return utf8.RuneError, false, nil
	}
	low, err := t.unit()
	if err != nil {
		return 0, false, err
	}
	r = utf16.DecodeRune(r, low)
	return r, r != utf8.RuneError, nil
}

// unit reads \uXXXX.
func (t *tokens) unit() (rune, error) {
	b, err := t.ahead(6)
	if err != nil {
		return 0, err
	}
	var r rune
	for i, c := range b[2:6] {
		d := hexDigit[c]
		if d > 15 {
			t.pos += 2 + i
			return 0, t.wrong()
		}
		r = r<<4 | rune(d)
	}
	t.pos += 6
	return r, nil
}

// ahead shows the next n bytes, few enough for the buffer.
func (t *tokens) ahead(n int) ([]byte, error) {
	for t.end-t.pos < n {
		if err := t.fill(); err != nil {
			return nil, unexpected(err)
		}
	}
	return t.buf[t.pos : t.pos+n], nil
}

// maxWord bounds a number; encoding/json reads no longer ones into anything the
// API has.
const maxWord = 1000

// word reads a number, true, false or null.
func (t *tokens) word() error {
	var word []byte
	for {
		run := t.pos
		for t.pos < t.end && wordly(t.buf[t.pos]) {
			t.pos++
		}
		if word = append(word, t.buf[run:t.pos]...); len(word) > maxWord {
			t.pos -= len(word) - maxWord // however much of it has come
			return t.wrong()
		}
		if t.pos < t.end {
			break
		}
		if err := t.fill(); err != nil {
			if errors.Is(err, io.EOF) {
				break
			}
			return err
		}
	}
	if !json.Valid(word) {
		return t.wrong()
	}
	t.done()
	return nil
}

// wordly marks what numbers and words are made of.
func wordly(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c == '-' || c == '+' || c == '.' || c == 'E'
}

// unexpected makes an end of the stream one that comes too early.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
