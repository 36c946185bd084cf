package accept

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/postledger/postledger/internal/address"
)

// line checks a value that stands on one line, in a header or in the ledger. A
// control character refuses the request: what is stripped instead would send
// something other than what was asked for (RFC 5322 §2.2, case B01).
func (p problems) line(field, s string, limit int) {
	switch {
	case len(s) > limit:
		p.add(field, RuleTooLong, fmt.Sprintf("is longer than %d bytes", limit))
	case !utf8.ValidString(s):
		p.add(field, RuleEncoding, "is not valid UTF-8")
	case strings.ContainsFunc(s, control):
		p.add(field, RuleControl, "holds a line break, NUL or another control character")
	}
}

// control: C0 but TAB, DEL, C1, and the separators that some software takes
// for line ends.
func control(r rune) bool {
	return r < ' ' && r != '\t' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029
}

// tight is line without tabs: for names and identifiers.
func (p problems) tight(field, s string, limit int) {
	if strings.Contains(s, "\t") {
		p.add(field, RuleControl, "holds a tab")
		return
	}
	p.line(field, s, limit)
}

// name checks a display name, which people see beside an address.
func (p problems) name(field, s string) {
	found := p.count()
	p.line(field, s, MaxName)
	if p.count() == found && address.CheckName(s) != nil {
		p.add(field, RuleControl, "holds a control or text-reordering character")
	}
}

// shown is tight for a name that people see and trust. Without overrides,
// embeddings and isolates it cannot end otherwise than it seems to: written
// with U+202E, photo-gpj.exe looks like photo-exe.jpg (Unicode TR 36 §2.6).
func (p problems) shown(field, s string, limit int) {
	if strings.ContainsFunc(s, reorders) {
		p.add(field, RuleControl, "holds a text-reordering character")
		return
	}
	p.tight(field, s, limit)
}

// reorders lets through the marks that names in right-to-left scripts need, as
// display names do (address.CheckName): they move no letters.
func reorders(r rune) bool {
	switch r {
	case 0x200e, 0x200f, 0x061c:
		return false
	}
	return unicode.Is(unicode.Bidi_Control, r)
}

// body checks a text of many lines. NUL is no text (RFC 2045 §2.7) and
// PostgreSQL cannot store it.
func (p problems) body(field, s string) {
	switch {
	case !utf8.ValidString(s):
		p.add(field, RuleEncoding, "is not valid UTF-8")
	case strings.IndexByte(s, 0) >= 0:
		p.add(field, RuleControl, "holds a NUL")
	}
}

// locale: a language tag's alphabet and lengths (RFC 5646 §2.1); whether the
// tag means anything is for whoever picks a translation.
func (p problems) locale(field, s string) {
	if s == "" {
		return
	}
	ok := len(s) <= MaxLocale
	for i, tag := range strings.Split(s, "-") {
		ok = ok && len(tag) >= 1 && len(tag) <= 8 && !strings.ContainsFunc(tag, func(r rune) bool {
			letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
			return !letter && (i == 0 || r < '0' || r > '9')
		})
		ok = ok && (i > 0 || len(tag) >= 2)
	}
	if !ok {
		p.add(field, RuleSyntax, "is not a language tag such as de or pt-BR")
	}
}
