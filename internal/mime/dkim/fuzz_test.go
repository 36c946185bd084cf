package dkim_test

import (
	"crypto/ed25519"
	"strings"
	"testing"

	"github.com/postledger/postledger/internal/mime/dkim"
)

// FuzzParseKey: no text makes the parser panic, and what it accepts can sign.
func FuzzParseKey(f *testing.F) {
	text, err := dkim.EncodeKey(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Add("-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n")
	f.Add("-----BEGIN PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n-----END PRIVATE KEY-----\n")
	f.Fuzz(func(t *testing.T, text string) {
		private, err := dkim.ParseKey([]byte(text))
		if err != nil {
			return
		}
		s, err := dkim.New(dkim.Key{Domain: "mail.test", Selector: "s", Private: private})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.AppendSignature(nil, []byte("From: a@mail.test\r\n"), strings.NewReader("x\r\n")); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzSignature: whatever body and field value, in CRLF form, another verifier
// finds the same canonical form.
func FuzzSignature(f *testing.F) {
	f.Add("hello \r\n \r\n", "a\r\n b")
	f.Add("", "")
	f.Add("\t \tx\r\n\r\n", "  x  ")
	private := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	record, err := dkim.Record(private.Public())
	if err != nil {
		f.Fatal(err)
	}
	z := zone{dkim.RecordName("s", "mail.test"): record}
	s, err := dkim.New(dkim.Key{Domain: "mail.test", Selector: "s", Private: private})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body, value string) {
		crlf := func(s, end string) string {
			return strings.ReplaceAll(strings.ReplaceAll(s, "\r", ""), "\n", end)
		}
		// Other white space is not a blank to us, but is to the other verifier.
		value = strings.Map(func(r rune) rune {
			if r < ' ' && r != '\t' && r != '\n' || r >= 0x7f {
				return -1
			}
			return r
		}, value)
		header := "From: a@mail.test\r\nSubject:" + crlf(value, "\r\n .") + ".\r\n"
		body = crlf(body, "\r\n")
		out, err := s.AppendSignature(nil, []byte(header), strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if err := goVerdict([]byte(string(out)+header+"\r\n"+body), z, 1); err != nil {
			t.Errorf("%v: %q", err, string(out)+header+"\r\n"+body)
		}
	})
}
