package stablehash

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// str reads a string and appends its canonical form.
func (s *scanner) str() error {
	s.pos++
	s.out = append(s.out, '"')
	for {
		// The run up to the next byte that needs a decision is copied whole.
		run := s.pos
		for s.pos < len(s.in) && plain[s.in[s.pos]] {
			s.pos++
		}
		s.out = append(s.out, s.in[run:s.pos]...)
		if s.pos == len(s.in) {
			return s.fail(RuleSyntax, "string is not closed")
		}
		switch c := s.in[s.pos]; {
		case c == '"':
			s.pos++
			s.out = append(s.out, '"')
			return nil
		case c == '\\':
			r, err := s.escape()
			if err != nil {
				return err
			}
			s.out = appendRune(s.out, r)
		case c < 0x20:
			return s.fail(RuleSyntax, "string holds a raw control character")
		default:
			_, size := utf8.DecodeRune(s.in[s.pos:])
			if size == 1 {
				return s.fail(RuleEncoding, "string is not valid UTF-8")
			}
			s.out = append(s.out, s.in[s.pos:s.pos+size]...)
			s.pos += size
		}
	}
}

// plain marks the bytes of a string that are copied as they are.
var plain = func() (t [256]bool) {
	for c := 0x20; c < 0x80; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

const (
	shortEscapes = `"\/bfnrt`
	shortValues  = "\"\\/\b\f\n\r\t"
)

// escape reads one escape, or two that form a surrogate pair.
func (s *scanner) escape() (rune, error) {
	s.pos++
	c := s.peek()
	if i := bytes.IndexByte([]byte(shortEscapes), c); i >= 0 {
		s.pos++
		return rune(shortValues[i]), nil
	}
	if c != 'u' {
		return 0, s.fail(RuleSyntax, "string has an unknown escape")
	}
	r, err := s.hex4()
	if err != nil || !utf16.IsSurrogate(r) {
		return r, err
	}
	if s.peek() == '\\' && s.pos+1 < len(s.in) && s.in[s.pos+1] == 'u' {
		s.pos++
		low, err := s.hex4()
		if err != nil {
			return 0, err
		}
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			return pair, nil
		}
	}
	return 0, s.fail(RuleEncoding, "string has half a surrogate pair")
}

// hex4 reads the rest of an escape from its "u" on.
func (s *scanner) hex4() (rune, error) {
	s.pos++
	var r rune
	for range 4 {
		c := s.peek()
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, s.fail(RuleSyntax, `"\u" is not followed by four hex digits`)
		}
		r = r<<4 | rune(c)
		s.pos++
	}
	return r, nil
}

func appendRune(out []byte, r rune) []byte {
	if r >= 0x20 && r != '"' && r != '\\' {
		return utf8.AppendRune(out, r)
	}
	if i := bytes.IndexByte([]byte(shortValues), byte(r)); i >= 0 {
		return append(out, '\\', shortEscapes[i])
	}
	const hex = "0123456789abcdef"
	return append(out, '\\', 'u', '0', '0', hex[r>>4], hex[r&0xf])
}
