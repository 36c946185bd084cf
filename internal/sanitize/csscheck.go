package sanitize

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxPlaceholder bounds how far the end of a placeholder is looked for.
const maxPlaceholder = 256

// placeholder returns the length of the template placeholder that s starts
// with, or 0. Only text that is harmless if it is never replaced counts: it has
// no brace, semicolon, slash, backslash or at-sign, its quotes are paired, and
// none of the words that CSS could act on.
func placeholder(s string) int {
	if len(s) < 4 || s[0] != '{' || s[1] != '{' && s[1] != '%' {
		return 0
	}
	closing := byte('}')
	if s[1] == '%' {
		closing = '%'
	}
	for i := 2; i < min(len(s)-1, maxPlaceholder); i++ {
		switch c := s[i]; {
		case c == closing && s[i+1] == '}':
			if i == 2 || actsInside(s[2:i]) {
				return 0
			}
			return i + 2
		case c == '"' || c == '\'':
			n, ok := quoted(s[i:])
			if !ok || strings.ContainsAny(s[i:i+n], `{}\;/@<`) {
				return 0
			}
			i += n - 1
		case c == '%' && i == 2, c == '<' && opens(s, i):
			return 0
		case !isAlnum(c) && strings.IndexByte(" _.|:,#%-[]()?=!<>&+*", c) < 0:
			return 0
		}
	}
	return 0
}

func actsInside(s string) bool {
	s = strings.ToLower(s)
	for _, word := range []string{"url", "expression", "behavio", "binding", "import", "script", "progid"} {
		if strings.Contains(s, word) {
			return true
		}
	}
	return false
}

// declaration reports whether a run is one that may stay: nothing, only
// placeholders, or "property: value".
func (c *sheet) declaration(text string) bool {
	// A "%" after the "{" of the block would read as a placeholder.
	if isPlainCSS(text) && !strings.HasPrefix(text, "%") {
		return true
	}
	s := strings.TrimLeft(text, " \t\n")
	for {
		n := placeholder(s)
		if n == 0 {
			break
		}
		s = strings.TrimLeft(s[n:], " \t\n")
	}
	if s == "" {
		return true
	}
	end := 0
	for end < len(s) && s[end] != ':' {
		b := s[end]
		if n := placeholder(s[end:]); n > 0 && end > 0 {
			end += n
			continue
		}
		if !isAlnum(b) && b != '-' && b != '_' && b != '\\' && !isSpace(b) && b < 0x80 && (b != '*' || end > 0) {
			return false
		}
		end++
	}
	if end == len(s) || end == 0 {
		return false
	}
	c.decode(s[:end])
	switch property := strings.TrimLeft(string(c.view), "*_-"); property {
	case "behavior", "behaviour", "moz-binding", "ms-behavior", "binding":
		return false
	}
	return !c.acts(text)
}

// acts reports whether a run holds anything that some mail client or old
// browser would run or load, after undoing the usual ways to hide it.
func (c *sheet) acts(run string) bool {
	if isPlainCSS(run) {
		return false
	}
	c.decode(run)
	for _, word := range []string{"expression(", "javascript:", "vbscript:", "livescript:", "-moz-binding:", "behavior:", "@import", "progid:"} {
		if i := bytes.Index(c.view, []byte(word)); i >= 0 {
			// scroll-behavior and overscroll-behavior only scroll.
			if word == "behavior:" && bytes.HasSuffix(c.view[:i], []byte("scroll-")) {
				continue
			}
			return true
		}
	}
	return false
}

// decode fills view with the run in lower case, escapes decoded, white space
// left out, and the letters folded that old versions of Internet Explorer took
// for ASCII ones.
func (c *sheet) decode(run string) {
	c.view = c.view[:0]
	for i := 0; i < len(run); {
		b := run[i]
		switch {
		case b == '\\' && i+1 < len(run):
			n := escapeLen(run[i:])
			if n == 0 {
				i++
				continue
			}
			digits := run[i+1 : i+n]
			i += n
			if isHex(digits[0]) {
				v, _ := strconv.ParseUint(digits, 16, 32)
				c.see(rune(v))
				if i < len(run) && isSpace(run[i]) {
					i++
				}
				continue
			}
			if digits[0] < utf8.RuneSelf {
				c.see(rune(digits[0]))
			} else {
				i -= n - 1 // the character itself comes next
			}
		case b < utf8.RuneSelf:
			c.see(rune(b))
			i++
		default:
			r, size := utf8.DecodeRuneInString(run[i:])
			c.see(r)
			i += size
		}
	}
}

func (c *sheet) see(r rune) {
	switch {
	case r >= 0xff01 && r <= 0xff5e:
		r -= 0xff01 - '!'
	case r == 0x0280:
		r = 'r'
	case r == 0x026a:
		r = 'i'
	case r == 0x0274:
		r = 'n'
	}
	switch {
	case r <= ' ':
		return
	case 'A' <= r && r <= 'Z':
		r |= 0x20
	}
	c.view = utf8.AppendRune(c.view, r)
}

// isPlainCSS reports whether s is made of characters that cannot load, run or
// hide anything (no bracket, escape, quote or brace) and has none of the words
// that would act before a colon. Most style attributes and declarations are so,
// and need no closer look.
func isPlainCSS[T string | []byte](s T) bool {
	for i := range len(s) {
		if !plainCSS[s[i]] || s[i] == ':' && actsBefore(s[:i]) {
			return false
		}
	}
	return true
}

func actsBefore[T string | []byte](s T) bool {
	return endsIn(s, "behavior") || endsIn(s, "behaviour") || endsIn(s, "binding") || endsIn(s, "script") || endsIn(s, "progid")
}

// endsIn compares from the end, whatever the letter case and white space.
func endsIn[T string | []byte](s T, word string) bool {
	i := len(s)
	for w := len(word) - 1; w >= 0; w-- {
		for i > 0 && isSpace(s[i-1]) {
			i--
		}
		if i == 0 || s[i-1]|0x20 != word[w] {
			return false
		}
		i--
	}
	return true
}

var plainCSS = func() (t [256]bool) {
	for c := range t {
		t[c] = isAlnum(byte(c))
	}
	for _, c := range []byte(" \t\n:;#%.,-_!+") {
		t[c] = true
	}
	return t
}()
