package address

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxLocal  = 64
	maxDomain = 255
	maxLabel  = 63
	maxPath   = 254 // 256 with "<" and ">"

	// maxInput bounds the work on hostile input before anything is measured
	// in its wire form: an escaped local part of 64 octets and a domain whose
	// UTF-8 spelling is longer than its A-labels fit in.
	maxInput = 4096
)

// Parse reads one address. A refusal is an [*Error].
func Parse(s string) (Address, error) {
	if err := checkText(s); err != nil {
		return Address{}, err
	}
	if strings.ContainsAny(s, "<>") {
		return Address{}, broken(RuleBracket, `"<" and ">" are not allowed in an address`)
	}
	local, rest, err := splitLocal(s)
	if err != nil {
		return Address{}, err
	}
	domain, err := parseDomain(rest)
	if err != nil {
		return Address{}, err
	}
	a := Address{given: s, local: local, domain: domain}
	written := quoteLocal(local)
	if len(written) > maxLocal {
		return Address{}, broken(RuleLocalLength, "local part is longer than 64 octets")
	}
	if len(written)+1+len(domain) > maxPath {
		return Address{}, broken(RuleLength, "address is longer than 254 octets")
	}
	return a, nil
}

// checkText holds every rule that concerns single characters, whatever part of
// the address they are in.
func checkText(s string) error {
	switch {
	case s == "":
		return broken(RuleEmpty, "address is empty")
	case len(s) > maxInput:
		return broken(RuleLength, "address is longer than 254 octets")
	case !utf8.ValidString(s):
		return broken(RuleEncoding, "address is not valid UTF-8")
	}
	for _, r := range s {
		if forbidden(r) {
			return broken(RuleControl, "address holds a control, separator or text-reordering character")
		}
	}
	return nil
}

func forbidden(r rune) bool {
	if r < 0x80 {
		return r < 0x20 || r == 0x7f
	}
	// Every non-ASCII white space is refused, quoted or not: NFC turns some of
	// it into other white space, and nobody's mailbox needs it. U+FFFD is what
	// a broken conversion leaves behind.
	return unicode.In(r, unicode.Cc, unicode.Zs, unicode.Zl, unicode.Zp, unicode.Bidi_Control) ||
		r == unicode.ReplacementChar || r == 0xfeff || unicode.Is(unicode.Noncharacter_Code_Point, r)
}

// splitLocal returns the content of the local part and the text after the "@".
func splitLocal(s string) (content, rest string, err error) {
	if s[0] == '"' {
		return splitQuoted(s)
	}
	at := strings.IndexByte(s, '@')
	switch {
	case at < 0:
		return "", "", broken(RuleAt, `address has no "@"`)
	case at == 0:
		return "", "", broken(RuleEmpty, "local part is empty")
	case !isDotString(s[:at]):
		return "", "", broken(RuleLocal, "local part has a character that must be quoted, or a dot at its start, end or beside another dot")
	}
	return s[:at], s[at+1:], nil
}

func splitQuoted(s string) (content, rest string, err error) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; c {
		case '"':
			if b.Len() == 0 {
				return "", "", broken(RuleEmpty, "quoted local part is empty")
			}
			if i+1 == len(s) || s[i+1] != '@' {
				return "", "", broken(RuleAt, `quoted local part is not followed by "@"`)
			}
			return b.String(), s[i+2:], nil
		case '\\':
			// quoted-pairSMTP escapes printable ASCII only.
			if i++; i == len(s) || s[i] >= 0x80 {
				return "", "", broken(RuleLocal, "backslash in the quoted local part escapes nothing")
			}
			b.WriteByte(s[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", "", broken(RuleLocal, "quoted local part is not closed")
}

// isDotString reports whether s is atoms joined by single dots.
func isDotString(s string) bool {
	prev := byte('.')
	for i := range len(s) {
		c := s[i]
		if c == '.' && prev == '.' || c != '.' && !isAtext(c) {
			return false
		}
		prev = c
	}
	return prev != '.'
}

func isAtext(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c >= 0x80:
		return true
	}
	return strings.IndexByte("!#$%&'*+-/=?^_`{|}~", c) >= 0
}
