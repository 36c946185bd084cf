package sanitize

import "strings"

// Most of a mail is text and tags of the plainest form: a known name, attributes
// in double quotes, nothing that would have to be decoded. Those are read here, at
// a third of what the tokenizer costs; everything else is the tokenizer's, token by
// token. What is plain is defined so narrowly that the tokenizer would say the
// same of it, which a test and a fuzzer compare.

// maxPlain bounds a plain tag: it is copied.
const maxPlain = 2 << 10

// plain filters what is plain at the beginning of s, where no token is open, and
// returns how long that is.
func (f *filter) plain(s string) int {
	at := 0
	for at < len(s) {
		n := text(s[at:])
		if n > 0 {
			f.out = writeText(f.out, s[at:at+n], false)
		} else if n = f.plainTag(s[at:]); n == 0 {
			break
		}
		at += n
	}
	return at
}

// text is how much of s stands before the next tag or comment.
func text(s string) int {
	at := 0
	for {
		n := strings.IndexByte(s[at:], '<')
		if n < 0 || at+n+1 == len(s) {
			return len(s)
		}
		at += n
		if c := s[at+1]; isLetter(c) || c == '/' || c == '!' || c == '?' {
			return at
		}
		at++
	}
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

// plainTag filters the tag at the beginning of s, which has a "<" there, and
// returns its length: 0 if it is none, or not plain.
func (f *filter) plainTag(s string) int {
	s = s[:min(len(s), maxPlain)]
	skip := 1
	if s[1] == '/' {
		skip = 2
	}
	end := skip
	for end < len(s) && (isAlnum(s[end]) || s[end] == ':' || s[end] == '-') {
		end++
	}
	if end == skip || end == len(s) || !isLetter(s[skip]) {
		return 0
	}
	f.lower = appendLower(f.lower[:0], s[skip:end])
	e := f.lookup(f.lower)
	if skip == 2 {
		if s[end] != '>' {
			return 0
		}
		f.spelled = append(f.spelled[:0], s[skip:end]...)
		f.endTag(e)
		f.plainTags++
		return end + 1
	}
	if e.handling != keep && e.handling != keepVoid {
		return 0
	}
	length, selfClosing := f.plainAttrs(s, end)
	if length == 0 {
		return 0
	}
	f.spelled = append(f.spelled[:0], s[skip:end]...)
	f.tag.reset()
	for _, a := range f.found.list {
		f.addAttr(f.found.buf[a.name:a.val], f.found.buf[a.val:a.end])
	}
	f.writeTag(selfClosing)
	f.plainTags++
	return length
}

// plainAttrs reads the attributes of the tag whose name ends at at into found,
// and returns where the tag ends: 0 if one is not plain, or not the first of its
// name.
func (f *filter) plainAttrs(s string, at int) (end int, selfClosing bool) {
	f.found.reset()
	for {
		space := at
		for at < len(s) && (s[at] == ' ' || s[at] == '\n' || s[at] == '\t') {
			at++
		}
		rest := s[at:]
		switch {
		case strings.HasPrefix(rest, ">"):
			return at + 1, false
		case strings.HasPrefix(rest, "/>"):
			return at + 2, true
		case at == space, len(f.found.list) == maxAttr:
			return 0, false
		}
		n := 0
		for n < len(rest) && ('a' <= rest[n] && rest[n] <= 'z' || rest[n] == '-' || rest[n] == ':') {
			n++
		}
		if n == 0 || !strings.HasPrefix(rest[n:], `="`) {
			return 0, false
		}
		name, rest := rest[:n], rest[n+2:]
		quote := strings.IndexByte(rest, '"')
		if quote < 0 || f.found.has(name) || !f.found.addPlain(name, rest[:quote]) {
			return 0, false
		}
		at += n + 2 + quote + 1
	}
}

func (t *tagAttr) has(name string) bool {
	for _, a := range t.list {
		if string(t.buf[a.name:a.val]) == name {
			return true
		}
	}
	return false
}

// addPlain adds a value as it is written. Of references it knows the one for an
// ampersand, which every link with two parameters has.
func (t *tagAttr) addPlain(name, val string) bool {
	a := attr{name: len(t.buf), val: len(t.buf) + len(name)}
	t.buf = append(t.buf, name...)
	for {
		n := strings.IndexByte(val, '&')
		if n < 0 {
			break
		}
		if !strings.HasPrefix(val[n:], "&amp;") {
			return false
		}
		t.buf = append(t.buf, val[:n+1]...)
		val = val[n+len("&amp;"):]
	}
	t.buf = append(t.buf, val...)
	a.end = len(t.buf)
	t.list = append(t.list, a)
	return true
}

func appendLower(b []byte, s string) []byte {
	for i := range len(s) {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		b = append(b, c)
	}
	return b
}
