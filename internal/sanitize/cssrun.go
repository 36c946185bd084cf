package sanitize

import (
	"bytes"
	"strings"
)

// maxBrackets bounds brackets in brackets within one run.
const maxBrackets = 32

// run reads up to one of the stop bytes outside of strings, brackets and
// placeholders, or to the end. It reports whether the run is well formed: its
// strings closed, brackets paired, escapes complete, URLs allowed. In a run
// that is not, braces end brackets, so that the damage stays small.
func (c *sheet) run(stops string) (text string, fine bool) {
	begin := c.pos
	fine = true
	var open [maxBrackets]byte
	depth := 0
	for c.pos < len(c.in) {
		b := c.in[c.pos]
		if plainCSS[b] && b != ';' {
			c.pos++
			continue
		}
		if b == '{' {
			if n := placeholder(c.in[c.pos:]); n > 0 {
				c.pos += n
				continue
			}
		}
		if strings.IndexByte(stops, b) >= 0 && (depth == 0 || b == '{' || b == '}') {
			break
		}
		switch b {
		case '}':
			fine = false // in a style attribute, which has no block to end
		case '"', '\'':
			n, ok := quoted(c.in[c.pos:])
			fine = fine && ok && !c.hidesURL(c.in[c.pos:c.pos+n])
			c.pos += n
			continue
		case '\\':
			n := escapeLen(c.in[c.pos:])
			c.pos += max(n, 1)
			fine = fine && n > 0
			continue
		case '(':
			if c.isURLFunction(c.in[begin:c.pos]) {
				c.pos++
				fine = c.url() && fine
				continue
			}
			fallthrough
		case '[':
			if depth == maxBrackets {
				fine = false
				break
			}
			open[depth] = b
			depth++
		case ')', ']':
			if depth == 0 || open[depth-1] != b-1 && open[depth-1] != b-2 {
				fine = false
				break
			}
			depth--
		case '@', ';':
			fine = false
		}
		c.pos++
	}
	return c.in[begin:c.pos], fine && depth == 0
}

// url reads the rest of url( and reports whether the URL may stay. Both forms,
// with and without quotes, end at the same byte for every reader.
func (c *sheet) url() bool {
	for c.pos < len(c.in) && isSpace(c.in[c.pos]) {
		c.pos++
	}
	begin := c.pos
	fine := true
	if q := c.peek(); q == '"' || q == '\'' {
		n, ok := quoted(c.in[c.pos:])
		c.pos += n
		if !ok || !allowedCSSURL(c.in[begin+1:c.pos-1]) {
			fine = false
		}
		for c.pos < len(c.in) && isSpace(c.in[c.pos]) {
			c.pos++
		}
	} else {
		for c.pos < len(c.in) {
			b := c.in[c.pos]
			if n := placeholder(c.in[c.pos:]); n > 0 {
				c.pos += n
				continue
			}
			if b == ')' || b == '}' || b == '{' || b == '\n' {
				break
			}
			if b == '"' || b == '\'' || b == '(' || b == '\\' {
				fine = false
			}
			c.pos++
		}
		fine = fine && allowedCSSURL(c.in[begin:c.pos])
	}
	if c.peek() != ')' {
		return false
	}
	c.pos++
	return fine
}

// allowedCSSURL refuses escapes in URLs rather than decode them, and "<", which
// would have to be written as one: nobody needs them there.
func allowedCSSURL(s string) bool {
	if strings.ContainsAny(s, `\<`) {
		return false
	}
	s = strings.TrimRight(s, " \t\n")
	if strings.ContainsAny(s, "\t\n") {
		return false
	}
	return allowedURL([]byte(s), true)
}

// isURLFunction reports whether s ends in the name of a function that takes a
// URL, or in one that only looks so: its argument is then refused if it is no
// URL. Each letter takes at most eight bytes, so a short tail decides.
func (c *sheet) isURLFunction(s string) bool {
	c.decode(s[max(0, len(s)-32):])
	return bytes.HasSuffix(c.view, []byte("url")) || bytes.HasSuffix(c.view, []byte("src")) ||
		bytes.HasSuffix(c.view, []byte("url-prefix"))
}

// hidesURL reports whether a string has url( in it, which a reader who loses
// count of quotes would load.
func (c *sheet) hidesURL(s string) bool {
	if strings.IndexByte(s, '(') < 0 && strings.IndexByte(s, '\\') < 0 {
		return false
	}
	c.decode(s)
	return bytes.Contains(c.view, []byte("url("))
}

// quoted returns the length of the string that s starts with and whether it is
// closed on its line. Backslashes at line ends, which continue a string, and
// before "<", which is written as an escape, are not worth the doubt.
func quoted(s string) (n int, ok bool) {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case s[0]:
			return i + 1, true
		case '\n':
			return i, false
		case '\\':
			i++
			if i < len(s) && (s[i] == '\n' || s[i] == '<') {
				return i, false
			}
		}
	}
	return len(s), false
}

// escapeLen returns the length of the escape that s starts with (CSS Syntax
// §4.3.7) without the space after a hexadecimal one, or 0 if it is none.
func escapeLen(s string) int {
	if len(s) < 2 || s[1] == '\n' || s[1] == '<' {
		return 0
	}
	n := 1
	for n < len(s) && n < 7 && isHex(s[n]) {
		n++
	}
	return max(n, 2) // a longer character's other bytes mean nothing here
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}

// stripComments takes out the comments of CSS. Where one kept two characters
// apart that would make a new comment, a space takes its place; everywhere
// else nothing does, because that is how the readers saw it that were fooled
// by ex/**/pression.
func stripComments(s string) string {
	if !strings.Contains(s, "/*") {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		n := 1
		switch s[i] {
		case '"', '\'':
			n, _ = quoted(s[i:])
		case '\\':
			n = min(2, len(s)-i)
		case '/':
			if strings.HasPrefix(s[i:], "/*") {
				end := strings.Index(s[i+2:], "*/")
				if end < 0 {
					return string(out)
				}
				i += end + 4
				if len(out) > 0 && out[len(out)-1] == '/' {
					out = append(out, ' ')
				}
				continue
			}
		}
		out = append(out, s[i:i+n]...)
		i += n
	}
	return string(out)
}
