package address_test

import (
	"testing"

	"github.com/postledger/postledger/internal/address"
)

func BenchmarkParse(b *testing.B) {
	for _, bb := range []struct{ name, in string }{
		{"ascii", "mira.holt@rcv.example.test"},
		{"idn", "åse@bücher.example.test"},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				a, err := address.Parse(bb.in)
				if err != nil || a.Fold() == "" {
					b.Fatal(err)
				}
			}
		})
	}
}
