package address

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxName = 255

// Mailbox is an address with the name shown for it.
type Mailbox struct {
	Name    string // plain text, not encoded; may be empty
	Address Address
}

// ParseMailbox reads "name <address>" or a bare address, as people write them
// in configuration files and on command lines. The name may be quoted; without
// quotes it may hold anything but a quote or an angle bracket, because it is
// encoded anew when a header is written (RFC 5322 §3.4 is stricter).
// White space around the parts is dropped; the address itself is for [Parse].
func ParseMailbox(s string) (Mailbox, error) {
	s = strings.Trim(s, " \t")
	open := strings.LastIndexByte(s, '<')
	if open < 0 {
		a, err := Parse(s)
		return Mailbox{Address: a}, err
	}
	if !strings.HasSuffix(s, ">") {
		return Mailbox{}, broken(RuleMailbox, `"<" is not closed by ">" at the end`)
	}
	name, err := parseName(strings.Trim(s[:open], " \t"))
	if err != nil {
		return Mailbox{}, err
	}
	a, err := Parse(s[open+1 : len(s)-1])
	if err != nil {
		return Mailbox{}, err
	}
	return Mailbox{Name: name, Address: a}, nil
}

func parseName(s string) (string, error) {
	if !strings.HasPrefix(s, `"`) {
		if strings.ContainsAny(s, `"<>`) {
			return "", broken(RuleMailbox, "name must be quoted: it holds a quote or an angle bracket")
		}
		return s, CheckName(s)
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' && i == len(s)-1:
			return b.String(), CheckName(b.String())
		case c == '"':
			return "", broken(RuleMailbox, "quoted name is followed by other text")
		case c == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", broken(RuleMailbox, "quoted name is not closed")
}

// CheckName says whether a display name can be put into a header: valid UTF-8,
// one line without control or text-reordering characters, at most 255 octets.
func CheckName(name string) error {
	switch {
	case len(name) > maxName:
		return broken(RuleName, "name is longer than 255 octets")
	case !utf8.ValidString(name):
		return broken(RuleEncoding, "name is not valid UTF-8")
	}
	for _, r := range name {
		if nameForbidden(r) {
			return broken(RuleName, "name holds a control, line separator or text-reordering character")
		}
	}
	return nil
}

// nameForbidden lets through what people's names do hold: every space, and the
// marks right-to-left scripts need (U+200E, U+200F, U+061C). Overrides and
// embeddings, with which a name can disguise itself, stay out.
func nameForbidden(r rune) bool {
	switch r {
	case 0x200e, 0x200f, 0x061c:
		return false
	}
	return forbidden(r) && !unicode.Is(unicode.Zs, r)
}
