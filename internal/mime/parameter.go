package mime

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxPlainParam   = 60 // a longer value is cut into continuations
	maxFallbackName = 60
	maxFallbackExt  = 12
	charsetPrefix   = "UTF-8''"
)

// parameter writes "; name=value": a token or quoted-string where that is exact
// in every reader, else in the extended form of RFC 2231. The previous word must
// just have been written.
func (l *lines) parameter(name, value string) {
	l.attach(";")
	if all(value, isToken) {
		l.word(name, "=", value)
		return
	}
	l.quoted(name, value)
}

// quoted writes a value that is no token.
func (l *lines) quoted(name, value string) {
	if isPlainParam(value) {
		l.word(name, `="`, value, `"`)
		return
	}
	l.extended(name, value)
}

// dispositionName writes the exact file name.
func (l *lines) dispositionName(value string) {
	l.attach(";")
	l.quoted("filename", value)
}

// typeName writes the ASCII fallback of the file name, for readers that do not
// know RFC 2231. It is in the content type, where they look when they find no
// name in the disposition: with both forms in one field, readers disagree on
// which they take, and some report a fault.
func (l *lines) typeName(value string) {
	if !isPlainParam(value) {
		value = asciiFallback(value)
	}
	l.attach(";")
	l.word(`name="`, value, `"`)
}

// isPlainParam reports whether a quoted-string without escapes says value.
// Readers disagree on escapes and percent signs in it.
func isPlainParam(value string) bool {
	if value == "" || len(value) > maxPlainParam || needsWords(value) {
		return false
	}
	return !strings.ContainsAny(value, "\t\"\\%") && value[0] != ' ' && value[len(value)-1] != ' ' &&
		!strings.Contains(value, "  ")
}

// extended writes value in the extended form, cut into continuations when it
// does not fit a line (RFC 2231 §3, §4.1). A character is never cut.
func (l *lines) extended(name, value string) {
	size := len(charsetPrefix)
	for i := range len(value) {
		size += lenExtended(value[i])
	}
	if 1+len(name)+len("*=")+size+len(";") <= foldAt {
		l.gap(len(name) + len("*=") + size + len(";"))
		l.attach(name)
		l.attach("*=" + charsetPrefix)
		l.appendExtended(value)
		return
	}
	for part := 0; value != ""; part++ {
		if part > 0 {
			l.attach(";")
		}
		l.fold()
		l.attach(name)
		l.attach("*" + strconv.Itoa(part) + "*=")
		if part == 0 {
			l.attach(charsetPrefix)
		}
		room := foldAt - l.col - len(";")
		n := 0
		for n < len(value) {
			_, width := utf8.DecodeRuneInString(value[n:])
			cost := 0
			for i := range width {
				cost += lenExtended(value[n+i])
			}
			if cost > room {
				break
			}
			room -= cost
			n += width
		}
		l.appendExtended(value[:n])
		value = value[n:]
	}
}

func (l *lines) appendExtended(s string) {
	before := len(l.b)
	for i := range len(s) {
		if c := s[i]; class[c]&isAttribute != 0 {
			l.b = append(l.b, c)
		} else {
			l.b = append(l.b, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	l.col += len(l.b) - before
}

func lenExtended(c byte) int {
	if class[c]&isAttribute != 0 {
		return 1
	}
	return 3
}

// asciiFallback returns a file name in harmless ASCII of a length that fits a
// line, with the extension kept.
func asciiFallback(name string) string {
	b := make([]byte, 0, maxFallbackName)
	ext := ""
	if dot := strings.LastIndexByte(name, '.'); dot > 0 && all(name[dot+1:], isLabel) && len(name)-dot <= maxFallbackExt {
		name, ext = name[:dot], name[dot:]
	}
	blank := true // no blank first
	for _, r := range name {
		if len(b) == maxFallbackName-len(ext) {
			break
		}
		c := byte('_')
		if r < 0x80 && (class[r]&isLabel != 0 || strings.ContainsRune(" .,+@()[]#&!'~", r)) {
			c = byte(r)
		}
		if c == ' ' && blank {
			c = '_'
		}
		blank = c == ' '
		b = append(b, c)
	}
	if n := len(b); ext == "" && n > 0 && b[n-1] == ' ' {
		b[n-1] = '_'
	}
	return string(append(b, ext...))
}
