package webhook

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"
)

// A secret is 24 to 64 random bytes, written as "whsec_" and their base64
// (Standard Webhooks, "Signature scheme").
const (
	secretPrefix = "whsec_"
	secretSize   = 32
	secretMin    = 24
	secretMax    = 64
)

// ErrBadSecret: text is no secret of the kind.
var ErrBadSecret = errors.New("a webhook secret is whsec_ and 24 to 64 bytes in base64")

// Secret signs requests. It shows itself to nobody but Reveal's caller.
type Secret struct{ key []byte }

// NewSecret makes one from 256 random bits.
func NewSecret() Secret {
	key := make([]byte, secretSize)
	rand.Read(key)
	return Secret{key}
}

// ParseSecret reads what Reveal wrote.
func ParseSecret(text string) (Secret, error) {
	encoded, found := strings.CutPrefix(text, secretPrefix)
	if !found || strings.ContainsAny(encoded, "\r\n") {
		return Secret{}, ErrBadSecret
	}
	key, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil || len(key) < secretMin || len(key) > secretMax {
		return Secret{}, ErrBadSecret
	}
	return Secret{key}, nil
}

// Reveal is the secret's text, for the receiver.
func (s Secret) Reveal() string { return secretPrefix + base64.StdEncoding.EncodeToString(s.key) }

func (s Secret) isZero() bool { return len(s.key) == 0 }

func (Secret) String() string   { return "[hidden]" }
func (Secret) GoString() string { return "[hidden]" }

// Signature is the value of webhook-signature for a try at the moment at: one
// signature for each secret. There are two while an endpoint's secret is changed,
// and a receiver takes the request when it can verify either.
func Signature(secrets []Secret, id string, at time.Time, body []byte) string {
	var b strings.Builder
	for i, s := range secrets {
		if i > 0 {
			b.WriteByte(' ')
		}
		mac := hmac.New(sha256.New, s.key)
		mac.Write([]byte(id))
		mac.Write([]byte("." + strconv.FormatInt(at.Unix(), 10) + "."))
		mac.Write(body)
		b.WriteString("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return b.String()
}
