package dkim

import (
	"crypto"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"strings"
)

// RecordName is the name of the TXT record that publishes a key.
func RecordName(selector, domain string) string { return selector + "._domainkey." + domain }

// Record is the text of that record (RFC 6376 §3.6.1, RFC 8463 §4): for Ed25519
// the key itself, for RSA a SubjectPublicKeyInfo.
func Record(public crypto.PublicKey) (string, error) {
	algorithm, err := algorithmOf(public)
	if err != nil {
		return "", err
	}
	raw, ok := public.(ed25519.PublicKey)
	if !ok {
		der, err := x509.MarshalPKIXPublicKey(public)
		if err != nil {
			return "", fmt.Errorf("encode public key: %w", err)
		}
		raw = der
	}
	return "v=DKIM1; k=" + string(algorithm) + "; p=" + base64.StdEncoding.EncodeToString(raw), nil
}

// ZoneLine is the record as a line of a zone file. A string in a TXT record has
// at most 255 octets, so the text of an RSA key is cut into several, which
// readers join (RFC 6376 §3.6.2.2).
func ZoneLine(selector, domain, record string) string {
	const limit = 255
	var b strings.Builder
	b.WriteString(RecordName(selector, domain) + ". IN TXT (")
	for rest := record; rest != ""; {
		n := min(limit, len(rest))
		b.WriteString(` "` + rest[:n] + `"`)
		rest = rest[n:]
	}
	b.WriteString(" )")
	return b.String()
}

// checkName refuses what is not a sequence of ASCII labels.
func checkName(field, s string) error {
	if s == "" {
		return refuse(field, "is empty")
	}
	if len(s) > 253 {
		return refuse(field, "is longer than 253 octets")
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return refuse(field, "has an empty or malformed label")
		}
		for i := range len(label) {
			c := label[i]
			if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_') {
				return refuse(field, "may only have letters, digits, hyphens and dots; domains in A-label form")
			}
		}
	}
	return nil
}
