package blob_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/postledger/postledger/internal/blob"
	"github.com/postledger/postledger/internal/blob/blobtest"
)

func TestKey(t *testing.T) {
	key, err := blob.Key("shop", "01890000-7a3f-7000-8000-000000000001", 3)
	if err != nil || key != "shop/01890000-7a3f-7000-8000-000000000001/3" {
		t.Errorf("Key = %q, %v", key, err)
	}
	for _, tt := range []struct {
		app, message string
		n            int
	}{{"", "m", 0}, {"a", "", 0}, {"a", "m", -1}, {"a", "m", 10000}, {"a/b", "m", 0}, {"..", "m", 0}, {"a", "m/n", 0}, {"A", "m", 0}} {
		if key, err := blob.Key(tt.app, tt.message, tt.n); !errors.Is(err, blob.ErrKey) || key != "" {
			t.Errorf("Key(%q, %q, %d) = %q, %v", tt.app, tt.message, tt.n, key, err)
		}
	}
	for _, key := range blobtest.BadKeys() {
		if _, _, _, err := blob.SplitKey(key); !errors.Is(err, blob.ErrKey) {
			t.Errorf("SplitKey(%q): %v", key, err)
		}
	}
}

func FuzzSplitKey(f *testing.F) {
	for _, key := range append(blobtest.BadKeys(), "a/m/0", "shop/01890000-7a3f/9999") {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		app, message, n, err := blob.SplitKey(key)
		if err != nil {
			return
		}
		again, err := blob.Key(app, message, n)
		if err != nil || again != key || strings.Count(key, "/") != 2 || strings.ContainsAny(key, ".\\\x00 ") {
			t.Fatalf("SplitKey(%q) = %q, %q, %d; Key = %q, %v", key, app, message, n, again, err)
		}
		for _, prefix := range []string{app + "/", app + "/" + message + "/"} {
			if _, _, err := blob.SplitPrefix(prefix); err != nil {
				t.Fatalf("SplitPrefix(%q): %v", prefix, err)
			}
		}
	})
}
