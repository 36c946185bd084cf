package dkim_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/postledger/postledger/internal/mime/dkim"
)

// The example of RFC 8463 appendix A: the message, the key of RFC 8032 §7.1 that
// signs it, and the signature.
const (
	vectorField = "DKIM-Signature: v=1; a=ed25519-sha256; c=relaxed/relaxed;\r\n" +
		" d=football.example.com; i=@football.example.com;\r\n" +
		" q=dns/txt; s=brisbane; t=1528637909; h=from : to :\r\n" +
		" subject : date : message-id : from : subject : date;\r\n" +
		" bh=2jUSOH9NhtVGCQWNr9BrIAPreKQjO6Sn7XIkfJVOzv8=;\r\n" +
		" b="
	vectorSignature = "/gCrinpcQOoIfuHNQIbq4pgh9kyIK3AQUdt9OdqQehSwhEIug4D11BusFa3bT3FY5OsU7ZbnKELq+eXdp1Q1Dw=="
	vectorBody      = "Hi.\r\n\r\nWe lost the game.  Are you hungry yet?\r\n\r\nJoe.\r\n"
	vectorSeed      = "nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A="
	vectorRecord    = "v=DKIM1; k=ed25519; p=11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="
)

var vectorHeader = []string{
	"From: Joe SixPack <joe@football.example.com>",
	"To: Suzie Q <suzie@shopping.example.net>",
	"Subject: Is dinner ready?",
	"Date: Fri, 11 Jul 2003 21:00:37 -0700 (PDT)",
	"Message-ID: <20030712040037.46341.5F8J@football.example.com>",
}

func vectorKey(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	seed, err := base64.StdEncoding.DecodeString(vectorSeed)
	if err != nil {
		t.Fatal(err)
	}
	return ed25519.NewKeyFromSeed(seed)
}

// Our canonical forms of the example give exactly its body hash and signature.
func TestRFC8463Example(t *testing.T) {
	for n := range 20 {
		hash := base64.StdEncoding.EncodeToString(dkim.BodyHash(vectorBody, n+1))
		if !strings.Contains(vectorField, "bh="+hash+";") {
			t.Errorf("body hash in pieces of %d: %s", n+1, hash)
		}
	}
	var signed strings.Builder
	for _, f := range vectorHeader {
		signed.WriteString(dkim.RelaxedField(f) + "\r\n")
	}
	signed.WriteString(dkim.RelaxedField(vectorField))
	digest := sha256.Sum256([]byte(signed.String()))
	if got := base64.StdEncoding.EncodeToString(ed25519.Sign(vectorKey(t), digest[:])); got != vectorSignature {
		t.Errorf("signature %s", got)
	}
	if got, err := dkim.Record(vectorKey(t).Public()); err != nil || got != vectorRecord {
		t.Errorf("record %q %v", got, err)
	}
}

// The examples of RFC 6376 §3.4.5 and the corners around them.
func TestRelaxedForms(t *testing.T) {
	for raw, want := range map[string]string{
		"A: X":                      "a:X",
		"B : Y\t\r\n\tZ  ":          "b:Y Z",
		"SUBJECT:x":                 "subject:x",
		"To:  \r\n  a,\r\n b \r\n ": "to:a, b",
		"X:":                        "x:",
		"X: \t ":                    "x:",
		"X: a\x01 \x01b":            "x:a\x01 \x01b",
		"X: é  ü":                   "x:é ü",
	} {
		if got := dkim.RelaxedField(raw); got != want {
			t.Errorf("%q: got %q, want %q", raw, got, want)
		}
	}
	for raw, want := range map[string]string{
		"":                               "",
		"\r\n":                           "",
		"\r\n\r\n \t\r\n":                "",
		" ":                              "",
		"a":                              "a\r\n",
		"a\r\n":                          "a\r\n",
		" C \r\nD \t E\r\n\r\n\r\n":      " C\r\nD E\r\n",
		"\r\n\r\na":                      "\r\n\r\na\r\n",
		"a\r\n\r\n\r\n\tb  ":             "a\r\n\r\n\r\n b\r\n",
		"a \r\n \r\n \r\nb":              "a\r\n\r\n\r\nb\r\n",
		"a\rb \r c\r\r\n":                "a\rb \r c\r\r\n",
		"x\r":                            "x\r\r\n",
		"lf\nlf \n":                      "lf\nlf \n\r\n",
		strings.Repeat("z ", 9) + "\r\n": strings.Repeat("z ", 8) + "z\r\n",
		strings.Repeat("q", 9000) + " ":  strings.Repeat("q", 9000) + "\r\n",
	} {
		sum := sha256.Sum256([]byte(want))
		for _, n := range []int{1, 2, 3, 5, 7, 8, 9, 64, 20000} {
			if got := dkim.BodyHash(raw, n); string(got) != string(sum[:]) {
				t.Errorf("%q in pieces of %d is not hashed as %q", raw, n, want)
			}
		}
	}
}
