package testserver_test

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/emersion/go-msgauth/dkim"

	"github.com/postledger/postledger/internal/testserver"
)

const unsigned = "From: a@example.org\r\nTo: b@example.net\r\nSubject: hello\r\n\r\nbody\r\n"

func TestDKIMVerifyTellsGoodFromBad(t *testing.T) {
	t.Parallel()
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	rsaPublic, err := x509.MarshalPKIXPublicKey(&rsaKey.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	edPublic, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	records := map[string]string{
		"r._domainkey.example.org": "v=DKIM1; k=rsa; p=" + base64.StdEncoding.EncodeToString(rsaPublic),
		"e._domainkey.example.org": "v=DKIM1; k=ed25519; p=" + base64.StdEncoding.EncodeToString(edPublic),
	}
	twice := sign(t, sign(t, unsigned, "r", rsaKey), "e", edKey)

	tests := map[string]struct {
		message string
		records map[string]string
		valid   []bool
	}{
		"both valid":       {twice, records, []bool{true, true}},
		"body changed":     {strings.Replace(twice, "\r\n\r\nbody", "\r\n\r\nBody", 1), records, []bool{false, false}},
		"header changed":   {strings.Replace(twice, "Subject: hello", "Subject: hallo", 1), records, []bool{false, false}},
		"one key is known": {twice, map[string]string{"e._domainkey.example.org": records["e._domainkey.example.org"]}, []bool{true, false}},
		"no signature":     {unsigned, records, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := testserver.DKIMVerify(t, []byte(test.message), test.records)
			if len(found) != len(test.valid) {
				t.Fatalf("%d signatures, want %d", len(found), len(test.valid))
			}
			for i, signature := range found {
				want := []string{"e ed25519-sha256", "r rsa-sha256"}[i]
				if got := signature.Selector + " " + signature.Algorithm; got != want || signature.Domain != "example.org" {
					t.Errorf("signature %d is %+v, want %s", i, signature, want)
				}
				if signature.Valid != test.valid[i] {
					t.Errorf("signature %d: valid %v (%s), want %v", i, signature.Valid, signature.Reason, test.valid[i])
				}
				if !signature.Valid && signature.Reason == "" {
					t.Errorf("signature %d is not valid without a reason", i)
				}
			}
		})
	}
}

func sign(t *testing.T, message, selector string, key crypto.Signer) string {
	t.Helper()
	var signed bytes.Buffer
	err := dkim.Sign(&signed, strings.NewReader(message), &dkim.SignOptions{
		Domain:     "example.org",
		Selector:   selector,
		Signer:     key,
		HeaderKeys: []string{"From", "To", "Subject"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return signed.String()
}
