package audience_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/postledger/postledger/internal/audience"
)

// However small the buffer, the counts are those of a map, and no file is left.
func TestDistinctIsExact(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "counts")
	for _, most := range []int{2, 3, 16, 100, 5000, 1 << 19} {
		for _, addresses := range []int{1, 7, 900, 20_000} {
			r := rand.New(rand.NewPCG(uint64(most), uint64(addresses)))
			d := audience.NewDistinct(dir, most)
			want := map[string]bool{}
			for range min(12_000, 200*most) {
				address := fmt.Sprintf("u%d@in.test", r.IntN(addresses))
				suppressed := r.IntN(9) == 0
				want[address] = want[address] || suppressed
				if err := d.Add(t.Context(), address, suppressed); err != nil {
					t.Fatal(err)
				}
			}
			var wantSuppressed int64
			for _, suppressed := range want {
				if suppressed {
					wantSuppressed++
				}
			}
			all, suppressed, err := d.Total(t.Context())
			if err != nil || all != int64(len(want)) || suppressed != wantSuppressed {
				t.Errorf("buffer %d, %d addresses: %d and %d suppressed (%v), want %d and %d", most, addresses, all, suppressed, err, len(want), wantSuppressed)
			}
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// A disk that cannot be written is an error, never a smaller number.
func TestDistinctNeedsItsDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d := audience.NewDistinct(filepath.Join(file, "counts"), 4)
	var err error
	for i := 0; err == nil && i < 10; i++ {
		err = d.Add(t.Context(), fmt.Sprint(i), false)
	}
	if err == nil {
		t.Error("ten addresses in a buffer of four, and no error")
	}
}
