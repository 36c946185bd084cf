package dkim_test

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	gomsgauth "github.com/emersion/go-msgauth/dkim"

	"github.com/postledger/postledger/internal/mime"
	"github.com/postledger/postledger/internal/mime/dkim"
)

// letter is a message of 12.9 KB on the wire.
func letter(b *testing.B) *mime.Message {
	b.Helper()
	in := input()
	in.HTML = "<html><body>\n  <table width=\"600\">\n" + strings.Repeat("    <tr>\n      <td style=\"padding:0 12px\" align=\"left\">Møtet flyttes til torsdag, se <a href=\"https://app.mail.test/m/4711?u=omar\">planen</a>.</td>\n    </tr>\n", 52) + "  </table>\n</body></html>\n"
	in.Text = strings.Repeat("Møtet flyttes til torsdag, se https://app.mail.test/m/4711?u=omar\n", 37)
	m, err := mime.Compose(in)
	if err != nil {
		b.Fatal(err)
	}
	return m
}

// BenchmarkSign compares a signature with the least it can cost, the bare
// operation and the hash of the message, in pairs that take turns, so that the
// ratio (x-floor, the median of the pairs) means something on a busy machine.
func BenchmarkSign(b *testing.B) {
	for _, a := range []dkim.Algorithm{dkim.RSA, dkim.Ed25519} {
		b.Run(string(a), func(b *testing.B) { benchmarkSign(b, a) })
	}
}

func benchmarkSign(b *testing.B, a dkim.Algorithm) {
	private := generate(b, a)
	m := letter(b)
	var message bytes.Buffer
	if _, err := m.WriteTo(&message); err != nil {
		b.Fatal(err)
	}
	s, err := dkim.New(dkim.Key{Domain: "mail.test", Selector: "s", Private: private})
	if err != nil {
		b.Fatal(err)
	}
	var opts crypto.SignerOpts = crypto.SHA256
	round := 8
	if a == dkim.Ed25519 {
		opts, round = crypto.Hash(0), 200
	}
	timed := func(f func() error) float64 {
		start := time.Now()
		for range round {
			if err := f(); err != nil {
				b.Fatal(err)
			}
		}
		return float64(time.Since(start)) / float64(round)
	}
	floor := func() error {
		digest := sha256.Sum256(message.Bytes())
		_, err := private.Sign(rand.Reader, digest[:], opts)
		return err
	}
	ours := func() error { return m.Sign(s) }
	theirs := func() error {
		return gomsgauth.Sign(io.Discard, bytes.NewReader(message.Bytes()), &gomsgauth.SignOptions{
			Domain: "mail.test", Selector: "s", Signer: private,
			HeaderCanonicalization: gomsgauth.CanonicalizationRelaxed, BodyCanonicalization: gomsgauth.CanonicalizationRelaxed,
		})
	}
	var oursTo, theirsTo, ns []float64
	for b.Loop() {
		f, o, t := timed(floor), timed(ours), timed(theirs)
		ns, oursTo, theirsTo = append(ns, o), append(oursTo, o/f), append(theirsTo, t/f)
	}
	median := func(list []float64) float64 {
		slices.Sort(list)
		return list[len(list)/2]
	}
	b.ReportMetric(median(ns), "ns/op")
	b.ReportMetric(median(oursTo), "x-floor")
	b.ReportMetric(median(theirsTo), "go-msgauth-x-floor")
	b.ReportMetric(float64(message.Len()), "wire-B")
}

// noSignature leaves the cost of everything but the signature.
type noSignature struct{ crypto.Signer }

func (noSignature) Sign(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) {
	return make([]byte, 64), nil
}

func BenchmarkCanonicalForms(b *testing.B) {
	s, err := dkim.New(dkim.Key{Domain: "mail.test", Selector: "s", Private: noSignature{generate(b, dkim.Ed25519)}})
	if err != nil {
		b.Fatal(err)
	}
	m := letter(b)
	for b.Loop() {
		if err := m.Sign(s); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(m.Size())
}
