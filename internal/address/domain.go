package address

import (
	"strings"

	"golang.org/x/net/idna"
)

// parseDomain returns the domain as lower-case A-labels.
//
// A name that is ASCII already is held to the LDH rule only: RFC 5321 asks for
// no more, and the Lookup profile would refuse names that are registered and
// take mail (`my--shop.test`). A-labels in it are checked like U-labels.
func parseDomain(s string) (string, error) {
	switch {
	case s == "":
		return "", broken(RuleEmpty, "domain is empty")
	case s[0] == '[':
		return "", broken(RuleLiteral, "address literals are not accepted as domain")
	case strings.IndexByte(s, '@') >= 0:
		return "", broken(RuleAt, `address has more than one "@"`)
	}
	ascii := strings.ToLower(s)
	if !isASCII(s) || strings.HasPrefix(ascii, "xn--") || strings.Contains(ascii, ".xn--") {
		mapped, err := idna.Lookup.ToASCII(s)
		if err != nil {
			return "", broken(RuleDomain, "domain is not a valid internationalised name")
		}
		ascii = mapped
	}
	return ascii, checkHost(ascii)
}

func checkHost(s string) error {
	if len(s) > maxDomain {
		return broken(RuleDomainLength, "domain is longer than 255 octets")
	}
	numeric := false
	for label := range strings.SplitSeq(s, ".") {
		switch {
		case label == "":
			return broken(RuleDomain, "domain has an empty label")
		case len(label) > maxLabel:
			return broken(RuleDomainLength, "domain has a label longer than 63 octets")
		case label[0] == '-' || label[len(label)-1] == '-':
			return broken(RuleDomain, "domain has a label that starts or ends with a hyphen")
		}
		numeric = true
		for i := range len(label) {
			c := label[i]
			digit := '0' <= c && c <= '9'
			if !digit && c != '-' && (c < 'a' || c > 'z') {
				return broken(RuleDomain, "domain has a character other than letter, digit, hyphen and dot")
			}
			numeric = numeric && digit
		}
	}
	if numeric {
		return broken(RuleLiteral, "domain ends in a number like an IP address")
	}
	return nil
}
