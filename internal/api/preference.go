package api

import (
	"strconv"
	"strings"
	"time"

	"github.com/postledger/postledger/internal/accept"
)

// maxWait bounds Prefer: wait.
const maxWait = 30 * time.Second

// waitPreference is N of "Prefer: wait=N" (RFC 7240 §4.3), 0 without one.
// Preferences that are not known are ignored, as §2 there demands.
func waitPreference(values []string) (time.Duration, error) {
	for _, line := range values {
		for _, preference := range strings.Split(line, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(preference), "=")
			if !strings.EqualFold(strings.TrimSpace(name), "wait") {
				continue
			}
			value, _, _ = strings.Cut(value, ";")
			n, err := strconv.Atoi(strings.Trim(strings.TrimSpace(value), `"`))
			if err != nil || n < 0 || time.Duration(n)*time.Second > maxWait {
				return 0, field("Prefer", accept.RuleRange, "wait must be a whole number of seconds, at most 30")
			}
			return time.Duration(n) * time.Second, nil
		}
	}
	return 0, nil
}

// idempotencyKey reads the header Idempotency-Key: a structured field string
// (RFC 9651 §3.3.3), or the bare text that most clients send.
func idempotencyKey(values []string) (string, error) {
	if len(values) == 0 {
		return "", nil
	}
	if len(values) > 1 {
		return "", field("Idempotency-Key", accept.RuleDuplicate, "is given more than once")
	}
	v := strings.Trim(values[0], " \t")
	if v == "" {
		return "", field("Idempotency-Key", ruleEmpty, "has no value: leave it out if it is not meant")
	}
	if v[0] == '"' {
		var ok bool
		if v, ok = structuredString(v); !ok || v == "" {
			return "", field("Idempotency-Key", accept.RuleSyntax, `begins with a quote and is not a string such as "order-4711"`)
		}
		return v, nil
	}
	for _, c := range []byte(v) {
		if c < 0x20 || c > 0x7e {
			return "", field("Idempotency-Key", accept.RuleControl, "holds a character that is not printable ASCII")
		}
	}
	return v, nil
}

// structuredString is the content of an sf-string, which has two escapes and
// ends the field.
func structuredString(v string) (string, bool) {
	var b strings.Builder
	for i := 1; i < len(v); i++ {
		switch c := v[i]; {
		case c == '"':
			return b.String(), i == len(v)-1
		case c == '\\':
			if i++; i >= len(v) || (v[i] != '"' && v[i] != '\\') {
				return "", false
			}
			b.WriteByte(v[i])
		case c < 0x20 || c > 0x7e:
			return "", false
		default:
			b.WriteByte(c)
		}
	}
	return "", false
}

// oneKey is the key of a request that may name it in two places.
func (c *call) oneKey(inBody string) (string, error) {
	inHeader, err := idempotencyKey(c.r.Header.Values("Idempotency-Key"))
	switch {
	case err != nil:
		return "", err
	case inHeader == "":
		return inBody, nil
	case inBody != "" && inBody != inHeader:
		return "", field("idempotency_key", accept.RuleMismatch, "is another than the header Idempotency-Key")
	default:
		return inHeader, nil
	}
}
