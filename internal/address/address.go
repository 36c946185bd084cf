package address

import (
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Address is one parsed e-mail address. The zero value is no address; every
// other value comes from [Parse] and is valid. Two values are == when they
// were given in the same spelling; compare identities with [Address.Fold].
type Address struct {
	given  string
	local  string // content: without quotes and backslashes
	domain string // A-labels, lower case
}

// IsZero reports whether a holds no address.
func (a Address) IsZero() bool { return a.domain == "" }

// String returns the address exactly as it was given to [Parse].
func (a Address) String() string { return a.given }

// Domain returns the domain as lower-case A-labels.
func (a Address) Domain() string { return a.domain }

// Wire returns the address as MAIL and RCPT carry it, without angle brackets.
func (a Address) Wire() string {
	if a.IsZero() {
		return ""
	}
	return quoteLocal(a.local) + "@" + a.domain
}

// Fold returns the identity of the address. Addresses with equal folds are one
// recipient, however they were written.
func (a Address) Fold() string {
	if a.IsZero() {
		return ""
	}
	return quoteLocal(foldLocal(a.local)) + "@" + a.domain
}

// NeedsSMTPUTF8 reports whether the next hop must offer SMTPUTF8 to take this
// address. An internationalised domain alone does not need it: it travels as
// A-labels (RFC 6531 §3.2).
func (a Address) NeedsSMTPUTF8() bool { return !isASCII(a.local) }

// foldLocal composes before lowering, because a few characters only have a
// lower-case form once composed, and after, because lowering may decompose.
func foldLocal(local string) string {
	return norm.NFC.String(strings.ToLower(norm.NFC.String(local)))
}

// quoteLocal writes the content of a local part in the least quoting that can
// express it.
func quoteLocal(content string) string {
	if isDotString(content) {
		return content
	}
	var b strings.Builder
	b.Grow(len(content) + 4)
	b.WriteByte('"')
	for i := range len(content) {
		if c := content[i]; c == '"' || c == '\\' {
			b.WriteByte('\\')
		}
		b.WriteByte(content[i])
	}
	b.WriteByte('"')
	return b.String()
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
