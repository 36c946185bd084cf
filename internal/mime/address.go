package mime

import "strings"

const (
	maxLocal  = 64  // RFC 5321 §4.5.3.1.1
	maxDomain = 255 // RFC 5321 §4.5.3.1.2
	maxLabel  = 63  // RFC 1035 §2.3.4
)

// Check refuses an address that cannot stand in a header. The field of the
// error is "name" or "address".
func (a Address) Check() error {
	if err := checkText("name", a.Name); err != nil {
		return err
	}
	if err := checkText("address", a.Addr); err != nil {
		return err
	}
	at := strings.LastIndexByte(a.Addr, '@')
	if at < 0 {
		return refuse("address", "has no @")
	}
	local, domain := a.Addr[:at], a.Addr[at+1:]
	switch {
	case len(local) > maxLocal:
		return refuse("address", "has a local part of more than 64 octets")
	case !isDotAtom(local, true) && !isQuoted(local):
		return refuse("address", "has a local part that is neither a dot-atom nor a quoted string")
	case len(domain) > maxDomain:
		return refuse("address", "has a domain of more than 255 octets")
	case !isASCII(domain):
		return refuse("address", "has a domain that is not in A-label form")
	case !isDomain(domain) && !isLiteral(domain):
		return refuse("address", "has a domain that is neither a host name nor an address literal")
	}
	return nil
}

// isQuoted reports whether s is a quoted-string (RFC 5321 §4.1.2).
func isQuoted(s string) bool {
	if len(s) < 3 || s[0] != '"' || s[len(s)-1] != '"' {
		return false
	}
	s = s[1 : len(s)-1]
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			i++
			if i == len(s) || s[i] < ' ' || s[i] == 0x7f {
				return false
			}
		case c == '"', c < ' ', c == 0x7f:
			return false
		}
	}
	return true
}

func isDomain(s string) bool {
	for label := range strings.SplitSeq(s, ".") {
		if len(label) > maxLabel || !all(label, isLabel) || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
	}
	return true
}

func isLiteral(s string) bool {
	if len(s) < 3 || s[0] != '[' || s[len(s)-1] != ']' {
		return false
	}
	for i := 1; i < len(s)-1; i++ {
		if c := s[i]; class[c]&isLabel == 0 && c != '.' && c != ':' {
			return false
		}
	}
	return true
}

// addresses writes one field with a list of addresses.
func (l *lines) addresses(name string, list []Address) {
	if len(list) == 0 {
		return
	}
	l.field(name)
	for i, a := range list {
		comma := ","
		if i == len(list)-1 {
			comma = ""
		}
		if a.Name == "" {
			l.word(a.Addr, comma)
			continue
		}
		l.phrase(a.Name)
		l.word("<", a.Addr, ">", comma)
	}
	l.end()
}

// phrase writes a display name: bare words, a quoted-string or encoded-words.
// The encoding covers the name only (RFC 2047 §5 rule 3), and a quoted-string is
// never used where a reader could take it for an encoded-word.
func (l *lines) phrase(name string) {
	written := name
	if !isWords(name) {
		written = quote(name) // with its escapes it may be twice as long
	}
	if needsWords(name) || strings.IndexByte(name, '\t') >= 0 || longestWord(written) > foldAt/2 {
		l.encodedWords(name)
		return
	}
	l.text(written)
}

// isWords reports whether s is atoms with single spaces between them.
func isWords(s string) bool {
	for word := range strings.SplitSeq(s, " ") {
		if !all(word, isAtext) {
			return false
		}
	}
	return true
}

// quote makes a quoted-string of printable ASCII (RFC 5322 §3.2.4).
func quote(s string) string {
	b := make([]byte, 0, len(s)+8)
	b = append(b, '"')
	for i := range len(s) {
		if s[i] == '"' || s[i] == '\\' {
			b = append(b, '\\')
		}
		b = append(b, s[i])
	}
	return string(append(b, '"'))
}
