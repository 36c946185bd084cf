package webhook

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/secret"
)

// Sealer keeps endpoints' secrets unreadable at rest. A secret is bound to its row
// and to the host that its events go to: a URL that was changed behind Postledger's
// back leaves one that does not open, and nothing is signed for that host.
type Sealer struct{ ring *secret.Keyring }

// NewSealer makes a sealer of the process's keys.
func NewSealer(ring *secret.Keyring) *Sealer { return &Sealer{ring} }

const sealedFor = "webhook"

// ErrSealed: a secret cannot be read with this process's keys, or is not of that row
// and host.
var ErrSealed = errors.New("the webhook's secret cannot be read")

// Seal makes a secret's box.
func (s *Sealer) Seal(key Secret, endpoint postledger.ID, to string) ([]byte, error) {
	host, err := HostOf(to)
	if err != nil {
		return nil, err
	}
	return s.ring.Seal(key.key, sealedFor, endpoint.String(), host), nil
}

// Open reads a secret's box.
func (s *Sealer) Open(box []byte, endpoint postledger.ID, to string) (Secret, error) {
	host, err := HostOf(to)
	if err != nil {
		return Secret{}, err
	}
	key, err := s.ring.Open(box, sealedFor, endpoint.String(), host)
	if err != nil {
		return Secret{}, fmt.Errorf("%w: %w", ErrSealed, err)
	}
	return Secret{key}, nil
}

// NeedsReseal reports whether a box was sealed with another key than Seal uses.
func (s *Sealer) NeedsReseal(box []byte) bool { return s.ring.NeedsReseal(box) }

// HostOf is the host of an endpoint's URL, with its port if it names one.
func HostOf(to string) (string, error) {
	u, err := url.Parse(to)
	if err != nil || u.Host == "" {
		return "", &URLError{Rule: "it names no host"}
	}
	return strings.ToLower(u.Host), nil
}

// SameHost tells whether two URLs name one host.
func SameHost(a, b string) bool {
	x, errX := HostOf(a)
	y, errY := HostOf(b)
	return errX == nil && errY == nil && x == y
}
