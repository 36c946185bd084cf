package dkim_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Any header and body, cut in any pieces, gets a signature that another
// implementation accepts: the canonical forms agree.
func TestAnyMessageVerifies(t *testing.T) {
	byName, z := signers(t)
	piece := rapid.SampledFrom([]string{" ", "  ", "\t", "\r\n", "\r\n\r\n", "a", "B=", "é", "word", "\x01", "12345678", " \r\n", ":", ";"})
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(piece, 0, 60).Draw(t, "pieces"), "")
	})
	value := rapid.Custom(func(t *rapid.T) string {
		// A fold must be followed by a blank and then something.
		s := strings.NewReplacer("\r\n", "\r\n x", "\x01", "").Replace(text.Draw(t, "value"))
		return s + "."
	})
	name := rapid.SampledFrom([]string{"Subject", "to", "LIST-ID", "List-Id", "X-Other", "References", "DKIM-Other", "Content-Type"})
	rapid.Check(t, func(t *rapid.T) {
		header := "From: a@mail.test\r\n"
		for range rapid.IntRange(0, 8).Draw(t, "fields") {
			header += name.Draw(t, "name") + ":" + value.Draw(t, "value") + "\r\n"
		}
		body := text.Draw(t, "body")
		out, err := byName["ed25519"].AppendSignature(nil, []byte(header), strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if err := goVerdict([]byte(string(out)+header+"\r\n"+body), z, 1); err != nil {
			t.Fatalf("%v\n%q", err, string(out)+header+"\r\n"+body)
		}
	})
}
