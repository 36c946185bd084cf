package webhook

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"golang.org/x/net/idna"
)

// URLMax bounds an endpoint's URL, in bytes.
const URLMax = 2048

// ErrBadURL: an endpoint's URL breaks a rule.
var ErrBadURL = errors.New("bad url")

// URLError is an ErrBadURL that says which rule.
type URLError struct {
	Rule  string
	cause error
}

func (e *URLError) Error() string   { return ErrBadURL.Error() + ": " + e.Rule }
func (e *URLError) Unwrap() []error { return []error{ErrBadURL, e.cause} }

// CheckURL says which rule an endpoint's URL breaks, or returns its usual form. An
// address is looked at, a name is not looked up: what it leads to counts when it
// is dialed.
func (g *Guard) CheckURL(text string) (string, error) {
	refuse := func(why string, args ...any) (string, error) {
		return "", &URLError{Rule: fmt.Sprintf(why, args...)}
	}
	if len(text) > URLMax {
		return refuse("longer than %d bytes", URLMax)
	}
	for _, r := range text {
		if r <= ' ' || r >= 0x7f {
			return refuse("only printable ASCII, without spaces, may stand in it")
		}
	}
	if strings.Contains(text, `\`) {
		return refuse("a backslash may not stand in it")
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return refuse("it cannot be read as a URL")
	case u.Scheme != "https" && u.Scheme != "http":
		return refuse("it must begin with https:// or http://")
	case u.Opaque != "" || u.Host == "" || u.Hostname() == "":
		return refuse("it names no host")
	case u.User != nil:
		return refuse("a user or password may not stand in it")
	case u.Fragment != "" || strings.HasSuffix(text, "#"):
		return refuse("a fragment may not stand in it")
	}
	port := uint16(443)
	if u.Scheme == "http" {
		port = 80
	}
	if p := u.Port(); p != "" {
		at, err := netip.ParseAddrPort("[::]:" + p)
		if err != nil || at.Port() == 0 {
			return refuse("its port is not one of 1 to 65535")
		}
		port = at.Port()
	} else if strings.HasSuffix(u.Host, ":") {
		return refuse("its port is empty")
	}
	host := u.Hostname()
	if ip, err := netip.ParseAddr(host); err == nil {
		if err := g.Check(netip.AddrPortFrom(ip, port)); err != nil {
			return "", &URLError{Rule: err.Error(), cause: err}
		}
		return u.String(), nil
	}
	if strings.HasPrefix(u.Host, "[") {
		return refuse("its host is not an address")
	}
	if looksNumeric(host) {
		return refuse("its host is a number: write an address as four decimal parts")
	}
	if _, err := idna.Lookup.ToASCII(strings.TrimSuffix(host, ".")); err != nil {
		return refuse("its host is not a domain name")
	}
	return u.String(), nil
}

// looksNumeric finds the forms that some resolvers read as an IPv4 address and we
// do not: 2130706433, 0x7f.1, 0177.0.0.1 (the URL standard's "ends in a number").
func looksNumeric(host string) bool {
	labels := strings.Split(strings.TrimSuffix(strings.ToLower(host), "."), ".")
	last := labels[len(labels)-1]
	if last == "" {
		return true
	}
	if hex, found := strings.CutPrefix(last, "0x"); found {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
}
