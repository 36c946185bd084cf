package api_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/postledger/postledger/internal/api"
)

// The strict decoder beside encoding/json, on a small message and a large one.
func BenchmarkDecode(b *testing.B) {
	for name, size := range map[string]int{"2KiB": 2 << 10, "1MiB": 1 << 20} {
		text, err := json.Marshal(with(letter("ada@in.test", "bob@in.test"), "html", strings.Repeat("<p>word</p>\n", size/12)))
		if err != nil {
			b.Fatal(err)
		}
		for how, decode := range map[string]func([]byte) ([]byte, error){"strict": api.DecodeMessage, "lenient": api.DecodeLenient} {
			b.Run(name+"/"+how, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := decode(text); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
