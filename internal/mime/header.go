package mime

import "strings"

const (
	// maxHeaderName leaves the colon on a line of 78.
	maxHeaderName = 76
	// maxHeaderWord is the longest word of a field that is written as it is.
	maxHeaderWord = 900
)

// A fieldRule is what is known about a field name.
type fieldRule uint8

const (
	free     fieldRule = iota
	ours               // written by the composer: refused from everyone
	reserved           // refused from callers: trace, resent, list and provider control fields
	single             // RFC 5322 §3.6 and RFC 3834 §5 allow one
	ascii              // single and structured: encoded-words are not allowed in it
)

var fieldRules = map[string]fieldRule{
	"from": ours, "reply-to": ours, "to": ours, "cc": ours, "subject": ours, "date": ours,
	"message-id": ours, "mime-version": ours, "sender": ours, "bcc": ours,
	"return-path": ours, "received": ours, "dkim-signature": ours,

	"domainkey-signature": reserved, "authentication-results": reserved, "delivered-to": reserved,
	"x-smtpapi": reserved, "resend-idempotency-key": reserved,

	"in-reply-to": ascii, "references": ascii, "auto-submitted": ascii,
	"feedback-id": single, "list-id": single, "list-help": single,
}

var fieldPrefixes = []struct {
	prefix string
	rule   fieldRule
}{
	{"content-", ours},
	{"resent-", ours},
	{"received-", reserved},
	{"arc-", reserved},
	{"list-unsubscribe", reserved},
	{"x-mailgun-", reserved},
	{"x-ses-", reserved},
	{"x-pm-", reserved},
	{"x-mailin-", reserved},
}

// ruleOf takes the name in lower case.
func ruleOf(name string) fieldRule {
	if r, ok := fieldRules[name]; ok {
		return r
	}
	for _, p := range fieldPrefixes {
		if strings.HasPrefix(name, p.prefix) {
			return p.rule
		}
	}
	return free
}

// CheckHeader refuses a field that a caller may not set or that cannot be
// written. The field of the error is "name" or "value".
func CheckHeader(h Header) error { return checkHeader(h, reserved) }

// checkHeader refuses names whose rule is ours or, for callers, reserved.
func checkHeader(h Header, worst fieldRule) error {
	if h.Name == "" {
		return refuse("name", "is empty")
	}
	if len(h.Name) > maxHeaderName {
		return refuse("name", "is longer than 76 octets")
	}
	for i := range len(h.Name) {
		if c := h.Name[i]; c <= ' ' || c > '~' || c == ':' {
			return refuse("name", "may only have printable ASCII other than a colon")
		}
	}
	rule := ruleOf(strings.ToLower(h.Name))
	if rule == ours || rule == reserved && worst == reserved {
		return refuse("name", "is reserved")
	}
	if err := checkText("value", h.Value); err != nil {
		return err
	}
	if rule == ascii || rule == reserved {
		if needsWords(h.Value) {
			return refuse("value", "must be printable ASCII")
		}
		if longestWord(h.Value) > maxHeaderWord {
			return refuse("value", "has a word of more than 900 octets")
		}
	}
	return nil
}

// checkHeaders checks both lists and that a field that may occur once does.
func checkHeaders(in *Input) error {
	var seen []string // only names that may occur once, so nearly always none
	check := func(list string, headers []Header, worst fieldRule) error {
		for i, h := range headers {
			if err := checkHeader(h, worst); err != nil {
				return under(item(list, i), err)
			}
			name := strings.ToLower(h.Name)
			if ruleOf(name) == free {
				continue
			}
			for _, s := range seen {
				if s == name {
					return refuse(item(list, i)+".name", "may occur only once")
				}
			}
			seen = append(seen, name)
		}
		return nil
	}
	if err := check("headers", in.Headers, reserved); err != nil {
		return err
	}
	return check("added", in.Added, ours)
}

// unstructured writes a field of free text. White space around the value of a
// custom field means nothing and is dropped.
func (l *lines) unstructured(name, value string) {
	value = strings.Trim(value, " \t")
	l.field(name)
	switch {
	case value == "":
	case needsWords(value) || longestWord(value) > maxHeaderWord:
		l.encodedWords(value)
	default:
		l.text(value)
	}
	l.end()
}

// subject keeps every blank of the subject, and encodes it rather than write a
// line that folding cannot keep short.
func (l *lines) subject(s string) {
	if s == "" {
		return
	}
	l.field("Subject")
	edge := isWSP(s[0]) || isWSP(s[len(s)-1])
	if edge || needsWords(s) || longestWord(s) > foldAt-len("Subject: ") {
		l.encodedWords(s)
	} else {
		l.text(s)
	}
	l.end()
}

func hasHeader(in *Input, name string) bool {
	for _, list := range [2][]Header{in.Headers, in.Added} {
		for _, h := range list {
			if strings.EqualFold(h.Name, name) {
				return true
			}
		}
	}
	return false
}
