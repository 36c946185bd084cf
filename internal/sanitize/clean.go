package sanitize

import (
	"strings"
	"unicode/utf8"
)

// clean makes line ends LF and takes out what no parser agrees on: invalid
// UTF-8 and control characters. Everything after it may rely on that.
func clean(s string) (string, Removed) {
	if isClean(s) {
		return s, 0
	}
	var removed Removed
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 || forbidden(r) {
				removed |= Control
			} else {
				b.WriteString(s[i : i+size])
			}
			i += size
			continue
		case c == '\r':
			if i+1 == len(s) || s[i+1] != '\n' {
				b.WriteByte('\n')
			}
		case c == '\f':
			b.WriteByte(' ')
		case c < 0x20 && c != '\t' && c != '\n' || c == 0x7f:
			removed |= Control
		default:
			b.WriteByte(c)
		}
		i++
	}
	return b.String(), removed
}

func isClean(s string) bool {
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c < 0x20 && c != '\t' && c != '\n' || c == 0x7f {
				return false
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 || forbidden(r) {
			return false
		}
		i += size
	}
	return true
}

// forbidden covers the C1 controls, which some decoders read as Windows-1252,
// and the byte order mark, which one decoder drops and another does not.
func forbidden(r rune) bool { return r >= 0x80 && r < 0xa0 || r == 0xfeff }
