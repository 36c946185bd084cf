package dkim_test

import (
	"crypto"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"strings"
	"testing"

	"github.com/postledger/postledger/internal/mime/dkim"
)

func block(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

func TestKeysRoundTrip(t *testing.T) {
	for _, a := range []dkim.Algorithm{dkim.RSA, dkim.Ed25519} {
		private := generate(t, a)
		text, err := dkim.EncodeKey(private)
		if err != nil {
			t.Fatal(err)
		}
		back, err := dkim.ParseKey(text)
		if err != nil || !back.(interface{ Equal(crypto.PrivateKey) bool }).Equal(private) {
			t.Errorf("%s: %v", a, err)
		}
	}
	r := generate(t, dkim.RSA).(*rsa.PrivateKey)
	back, err := dkim.ParseKey([]byte("comment\n" + block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(r))))
	if err != nil || !r.Equal(back) {
		t.Errorf("PKCS #1: %v", err)
	}
}

func TestKeysThatAreRefused(t *testing.T) {
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8 := func(key any) []byte {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	x25519, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	good := block("PRIVATE KEY", pkcs8(generate(t, dkim.Ed25519)))
	locked := strings.Replace(block("RSA PRIVATE KEY", []byte("x")), "-----\n", "-----\nProc-Type: 4,ENCRYPTED\n\n", 1)
	for _, tc := range []struct{ text, want string }{
		{"", "private: is not PEM: expected -----BEGIN PRIVATE KEY-----"},
		{"hunter2", "private: is not PEM: expected -----BEGIN PRIVATE KEY-----"},
		{good + good, "private: has more than one PEM block"},
		{block("ENCRYPTED PRIVATE KEY", []byte("x")), "private: is protected by a passphrase; decrypt it first"},
		{locked, "private: is protected by a passphrase; decrypt it first"},
		{block("PUBLIC KEY", []byte("x")), "private: is a public key; the private one is needed"},
		{block("CERTIFICATE", []byte("x")), "private: must be a PEM block PRIVATE KEY or RSA PRIVATE KEY"},
		{block("PRIVATE KEY", []byte("hunter2")), "private: is damaged: the PEM block holds no private key"},
		{block("RSA PRIVATE KEY", []byte("hunter2")), "private: is damaged: the PEM block holds no rsa private key"},
		{block("PRIVATE KEY", pkcs8(ec)), "private: is a *ecdsa.PublicKey; DKIM has RSA and Ed25519 only"},
		{block("PRIVATE KEY", pkcs8(x25519)), "private: is a *ecdh.PrivateKey, which cannot sign"},
	} {
		key, err := dkim.ParseKey([]byte(tc.text))
		var ke *dkim.KeyError
		if key != nil || !errors.As(err, &ke) || err.Error() != tc.want {
			t.Errorf("got %v, want %q", err, tc.want)
		}
	}
	if _, err := dkim.GenerateKey("dsa"); err == nil || err.Error() != "algorithm: must be rsa or ed25519" {
		t.Errorf("generate: %v", err)
	}
	if _, err := dkim.EncodeKey(ec); err == nil {
		t.Error("an ECDSA key was encoded")
	}
	if _, err := dkim.Record(ec.Public()); err == nil {
		t.Error("an ECDSA key has a record")
	}
}

// sized has a public key of a length and nothing else.
type sized struct {
	crypto.Signer
	bits uint
}

func (s sized) Public() crypto.PublicKey {
	return &rsa.PublicKey{N: new(big.Int).Lsh(big.NewInt(1), s.bits-1), E: 65537}
}

func TestSignersThatAreRefused(t *testing.T) {
	r, e := generate(t, dkim.RSA), generate(t, dkim.Ed25519)
	for _, tc := range []struct {
		keys []dkim.Key
		want string
	}{
		{nil, "keys: must be one or two"},
		{[]dkim.Key{{"a.test", "s", r}, {"a.test", "t", e}, {"a.test", "u", e}}, "keys: must be one or two"},
		{[]dkim.Key{{"", "s", r}}, "domain: is empty"},
		{[]dkim.Key{{"a..test", "s", r}}, "domain: has an empty or malformed label"},
		{[]dkim.Key{{strings.Repeat("a.", 127), "s", r}}, "domain: is longer than 253 octets"},
		{[]dkim.Key{{"a.test;\r\n x=1", "s", r}}, "domain: may only have letters, digits, hyphens and dots; domains in A-label form"},
		{[]dkim.Key{{"æ.test", "s", r}}, "domain: may only have letters, digits, hyphens and dots; domains in A-label form"},
		{[]dkim.Key{{"a.test", "", r}}, "selector: is empty"},
		{[]dkim.Key{{"a.test", "s", nil}}, "private: is missing"},
		{[]dkim.Key{{"a.test", "s", sized{bits: 4097}}}, "private: is an RSA key of 4097 bits; 1024 to 4096 can be verified"},
		{[]dkim.Key{{"a.test", "s", sized{bits: 1023}}}, "private: is an RSA key of 1023 bits; 1024 to 4096 can be verified"},
		{[]dkim.Key{{"a.test", "s", r}, {"b.test", "t", e}}, "domain: must be the same for both keys"},
		{[]dkim.Key{{"a.test", "s", r}, {"a.test", "s", e}}, "selector: must differ between the two keys"},
	} {
		s, err := dkim.New(tc.keys...)
		if s != nil || err == nil || err.Error() != tc.want {
			t.Errorf("got %v, want %q", err, tc.want)
		}
	}
}

func TestZoneLine(t *testing.T) {
	record, err := dkim.Record(generate(t, dkim.RSA).Public())
	if err != nil {
		t.Fatal(err)
	}
	line := dkim.ZoneLine("s1", "mail.test", record)
	rest, ok := strings.CutPrefix(line, "s1._domainkey.mail.test. IN TXT ( \"")
	if !ok || !strings.HasSuffix(rest, "\" )") {
		t.Fatalf("line %q", line)
	}
	joined := ""
	for _, s := range strings.Split(strings.TrimSuffix(rest, "\" )"), `" "`) {
		if len(s) > 255 {
			t.Errorf("string of %d octets", len(s))
		}
		joined += s
	}
	if joined != record {
		t.Errorf("joined %q, want %q", joined, record)
	}
}
