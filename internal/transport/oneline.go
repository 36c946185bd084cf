package transport

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/postledger/postledger"
)

// rcptMark stands where a stored text had a recipient's address.
const rcptMark = "{rcpt}"

// OneLine makes text from outside fit to be stored in an Outcome: one line of
// valid UTF-8 without control characters, at most postledger.MaxReplyText
// bytes, and each address of recipients, in any letter case, replaced by
// {rcpt}. Addresses go first, so that no cut leaves half of one.
func OneLine(text string, recipients []string) string {
	if strings.IndexByte(text, '@') >= 0 {
		// Longest first: one address may be the end of another.
		byLength := slices.Clone(recipients)
		slices.SortStableFunc(byLength, func(a, b string) int { return len(b) - len(a) })
		for _, addr := range byLength {
			text = replaceFold(text, addr, rcptMark)
		}
	}
	if !isPlain(text) {
		text = clean(text)
	}
	if len(text) > postledger.MaxReplyText {
		end := postledger.MaxReplyText
		for !utf8.RuneStart(text[end]) {
			end--
		}
		text = strings.TrimRight(text[:end], " ")
	}
	return text
}

// isPlain reports printable ASCII without runs of spaces: nearly every reply.
func isPlain(s string) bool {
	space := true
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' || space && s[i] == ' ' {
			return false
		}
		space = s[i] == ' '
	}
	return s == "" || !space
}

// clean turns every run of white space and unprintable characters into one space.
func clean(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	gap := false
	for _, r := range s { // an invalid byte is U+FFFD
		if !unicode.IsPrint(r) || r == ' ' {
			gap = true
			continue
		}
		if gap && b.Len() > 0 {
			b.WriteByte(' ')
		}
		gap = false
		b.WriteRune(r)
	}
	return b.String()
}

// replaceFold replaces old by mark wherever it stands in s, without regard to
// the case of ASCII letters.
func replaceFold(s, old, mark string) string {
	if old == "" || len(s) < len(old) {
		return s
	}
	var b strings.Builder
	done := 0
	for i := 0; i+len(old) <= len(s); {
		if equalFold(s[i:i+len(old)], old) {
			b.WriteString(s[done:i])
			b.WriteString(mark)
			i += len(old)
			done = i
			continue
		}
		i++
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

func equalFold(a, b string) bool {
	for i := range len(a) {
		if lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
