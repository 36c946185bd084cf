package main

import (
	"io"
	"testing"
	"time"

	"github.com/postledger/postledger/internal/mime"
)

// The floor and the ledger's side send the same bytes, of the size that the
// table of figures names.
func TestMessagesHaveTheirSizeOnTheWire(t *testing.T) {
	var c mime.Composer
	for _, i := range []int{0, 999, 9_999} {
		text, html := bodies(i)
		m, err := c.Compose(input([]byte{1, 2}, recipient(0, i), subject, text, html, time.Unix(1_780_000_000, 0)))
		if err != nil {
			t.Fatal(err)
		}
		n, err := m.WriteTo(io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if n < wireSize-350 || n > wireSize+350 {
			t.Errorf("message %d has %d bytes, want about %d", i, n, wireSize)
		}
	}
}
