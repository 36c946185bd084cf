package mime

// The character classes of RFC 5322, RFC 2045 and RFC 2231 as bits of one table.
const (
	isAtext     = 1 << iota // RFC 5322 §3.2.3 atext
	isToken                 // RFC 2045 §5.1 token
	isAttribute             // RFC 2231 §7 attribute-char without what older parsers misread
	isPhraseQ               // RFC 2047 §5 rule 3: what "Q" may show as it is, in any place
	isLabel                 // letters, digits, hyphen and underscore
)

var class = buildClasses()

func buildClasses() (t [256]uint8) {
	for c := range 256 {
		alnum := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if alnum {
			t[c] = isAtext | isToken | isAttribute | isPhraseQ | isLabel
		}
	}
	mark := func(chars string, bit uint8) {
		for i := range len(chars) {
			t[chars[i]] |= bit
		}
	}
	mark("!#$%&'*+-/=?^_`{|}~", isAtext)
	mark("!#$%&'*+-.^_`{|}~", isToken)
	mark("!#$&+-.^_`{|}~", isAttribute)
	mark("!*+-/", isPhraseQ)
	mark("-_", isLabel)
	return t
}

// all reports whether s is not empty and of one class throughout.
func all(s string, bit uint8) bool {
	for i := range len(s) {
		if class[s[i]]&bit == 0 {
			return false
		}
	}
	return s != ""
}

// isDotAtom reports whether s is RFC 5322 dot-atom-text, with UTF-8 beyond ASCII
// allowed when utf8 is set (RFC 6532 §3.2).
func isDotAtom(s string, utf8 bool) bool {
	dot := true
	for i := range len(s) {
		c := s[i]
		switch {
		case c == '.' && !dot:
			dot = true
			continue
		case class[c]&isAtext != 0, utf8 && c >= 0x80:
			dot = false
		default:
			return false
		}
	}
	return !dot
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

func isWSP(c byte) bool { return c == ' ' || c == '\t' }
