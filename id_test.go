package postledger_test

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postledger/postledger"
)

func TestIDsNeverDecrease(t *testing.T) {
	var s postledger.IDSource
	now := time.UnixMilli(1_800_000_000_000)
	var last postledger.ID
	for i := range 10_000 {
		at := now
		if i%3 == 0 {
			at = now.Add(-time.Hour) // the clock stepped back
		}
		id := s.Next(at)
		if slices.Compare(id[:], last[:]) <= 0 {
			t.Fatalf("%s after %s", id, last)
		}
		last = id
	}
	if got := s.Next(now.Add(time.Second)).Time(); !got.Equal(now.Add(time.Second)) {
		t.Errorf("time of the id is %v", got)
	}
}

func TestIDsAreVersion7AndUnique(t *testing.T) {
	var s postledger.IDSource
	var mu sync.Mutex
	seen := map[postledger.ID]bool{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 2000 {
				id := s.Next(time.Now())
				if id[6]>>4 != 7 || id[8]>>6 != 2 {
					t.Errorf("%s: version or variant", id)
				}
				mu.Lock()
				if seen[id] {
					t.Errorf("%s twice", id)
				}
				seen[id] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

func TestIDForms(t *testing.T) {
	var s postledger.IDSource
	id := s.Next(time.Now())
	for _, text := range []string{id.String(), strings.ToUpper(id.String())} {
		if got, err := postledger.ParseID(text); err != nil || got != id {
			t.Errorf("ParseID(%q) = %v, %v", text, got, err)
		}
	}
	for _, text := range []string{id.Token(), strings.ToUpper(id.Token())} {
		if got, err := postledger.ParseToken(text); err != nil || got != id {
			t.Errorf("ParseToken(%q) = %v, %v", text, got, err)
		}
	}
	b, err := json.Marshal(id)
	if err != nil || string(b) != `"`+id.String()+`"` {
		t.Errorf("JSON %s, %v", b, err)
	}
	var back postledger.ID
	if err := json.Unmarshal(b, &back); err != nil || back != id {
		t.Errorf("back %v, %v", back, err)
	}
	for _, src := range []any{id.String(), id[:], []byte(id.String())} {
		var got postledger.ID
		if err := got.Scan(src); err != nil || got != id {
			t.Errorf("Scan(%T) = %v, %v", src, got, err)
		}
	}
	if err := back.Scan(nil); err != nil || !back.IsZero() {
		t.Errorf("Scan(nil) = %v, %v", back, err)
	}
	for _, bad := range []string{"", "x", strings.Repeat("0", 36), id.String()[:35], "g" + id.String()[1:]} {
		if _, err := postledger.ParseID(bad); err == nil {
			t.Errorf("ParseID(%q) is taken", bad)
		}
	}
}

func FuzzParseID(f *testing.F) {
	f.Add("01a229fc-f6e5-7000-801e-1ea5850a44e3")
	f.Add("")
	f.Fuzz(func(t *testing.T, s string) {
		if id, err := postledger.ParseID(s); err == nil && !strings.EqualFold(id.String(), s) {
			t.Errorf("%q reads as %s", s, id)
		}
	})
}
