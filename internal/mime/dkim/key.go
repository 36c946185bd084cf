package dkim

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"
)

// Algorithm is the k= value of a key.
type Algorithm string

// The algorithms of DKIM.
const (
	RSA     Algorithm = "rsa"
	Ed25519 Algorithm = "ed25519"
)

// rsaBits is what RFC 8301 §3.2 advises, and the most that fits one TXT string
// pair everywhere.
const rsaBits = 2048

// KeyError refuses a key or its names. It never repeats key material.
type KeyError struct {
	Field string
	Rule  string
}

func (e *KeyError) Error() string { return e.Field + ": " + e.Rule }

func refuse(field, rule string) error { return &KeyError{Field: field, Rule: rule} }

// GenerateKey makes a new private key.
func GenerateKey(a Algorithm) (crypto.Signer, error) {
	switch a {
	case RSA:
		return rsa.GenerateKey(rand.Reader, rsaBits)
	case Ed25519:
		_, private, err := ed25519.GenerateKey(rand.Reader)
		return private, err
	}
	return nil, refuse("algorithm", "must be rsa or ed25519")
}

// EncodeKey returns a private key as PKCS #8 in PEM.
func EncodeKey(private crypto.Signer) ([]byte, error) {
	if _, err := algorithmOf(private.Public()); err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, fmt.Errorf("encode private key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// ParseKey reads a private key from PEM: PKCS #8 ("PRIVATE KEY") or PKCS #1
// ("RSA PRIVATE KEY").
func ParseKey(text []byte) (crypto.Signer, error) {
	const field = "private"
	block, rest := pem.Decode(text)
	if block == nil {
		return nil, refuse(field, "is not PEM: expected -----BEGIN PRIVATE KEY-----")
	}
	if extra, _ := pem.Decode(rest); extra != nil {
		return nil, refuse(field, "has more than one PEM block")
	}
	var key any
	var err error
	switch {
	case block.Type == "ENCRYPTED PRIVATE KEY", strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED"):
		return nil, refuse(field, "is protected by a passphrase; decrypt it first")
	case block.Type == "PRIVATE KEY":
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	case block.Type == "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	case strings.Contains(block.Type, "PUBLIC"):
		return nil, refuse(field, "is a public key; the private one is needed")
	default:
		return nil, refuse(field, "must be a PEM block PRIVATE KEY or RSA PRIVATE KEY")
	}
	if err != nil {
		// The parser's own words could quote parts of the key.
		return nil, refuse(field, "is damaged: the PEM block holds no "+strings.ToLower(block.Type))
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, refuse(field, fmt.Sprintf("is a %T, which cannot sign", key))
	}
	if _, err := algorithmOf(signer.Public()); err != nil {
		return nil, err
	}
	return signer, nil
}
