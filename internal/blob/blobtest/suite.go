// Package blobtest is the suite every backend of package blob passes.
package blobtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/postledger/postledger/internal/blob"
)

// Run runs the suite. open returns an empty store for each test.
func Run(t *testing.T, open func(t *testing.T) blob.Store) {
	for _, tt := range []struct {
		name string
		test func(*testing.T, blob.Store)
	}{
		{"RoundTrip", testRoundTrip},
		{"Limit", testLimit},
		{"FailedReader", testFailedReader},
		{"Canceled", testCanceled},
		{"WrittenOnce", testWrittenOnce},
		{"Missing", testMissing},
		{"BadKeys", testBadKeys},
		{"List", testList},
		{"ListWhileChanging", testListWhileChanging},
		{"Concurrent", testConcurrent},
		{"Check", testCheck},
		{"Sweep", testSweep},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(t, open(t)) })
	}
}

func put(t *testing.T, s blob.Store, key, content string) blob.Info {
	t.Helper()
	info, err := s.Put(t.Context(), key, strings.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatalf("Put(%q): %v", key, err)
	}
	return info
}

func get(t *testing.T, s blob.Store, key string) string {
	t.Helper()
	r, err := s.Open(t.Context(), key)
	if err != nil {
		t.Fatalf("Open(%q): %v", key, err)
	}
	content, err := io.ReadAll(r)
	if closeErr := r.Close(); err != nil || closeErr != nil {
		t.Fatalf("read %q: %v, %v", key, err, closeErr)
	}
	return string(content)
}

// absent fails unless there is no trace of a key.
func absent(t *testing.T, s blob.Store, key string) {
	t.Helper()
	if r, err := s.Open(t.Context(), key); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("Open(%q) = %v, %v; want ErrNotFound", key, r, err)
	}
	if slices.Contains(keys(t, s, "", "", 1000), key) {
		t.Errorf("List shows %q", key)
	}
}

func keys(t *testing.T, s blob.Store, prefix, after string, limit int) []string {
	t.Helper()
	entries, err := s.List(t.Context(), prefix, after, limit)
	if err != nil {
		t.Fatalf("List(%q, %q, %d): %v", prefix, after, limit, err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Key)
	}
	return out
}

func testRoundTrip(t *testing.T, s blob.Store) {
	random := make([]byte, 3<<20+17)
	for i := range random {
		random[i] = byte(rand.Uint32())
	}
	for i, content := range []string{"", "x", "a\x00\r\nb\xff", string(random)} {
		key := fmt.Sprintf("app/m/%d", i)
		info := put(t, s, key, content)
		if info.Size != int64(len(content)) || info.SHA256 != sha256.Sum256([]byte(content)) {
			t.Errorf("Put of %d bytes = %+v", len(content), info)
		}
		if got := get(t, s, key); got != content {
			t.Errorf("content of %d bytes came back as %d other ones", len(content), len(got))
		}
		entries, err := s.List(t.Context(), "", "", 1000)
		if err != nil || len(entries) != i+1 || entries[i].Key != key || entries[i].Size != info.Size || entries[i].Modified.IsZero() {
			t.Errorf("List = %+v, %v", entries, err)
		}
	}
	if err := s.Delete(t.Context(), "app/m/1"); err != nil {
		t.Fatal(err)
	}
	absent(t, s, "app/m/1")
	if get(t, s, "app/m/2") == "" {
		t.Error("Delete took a neighbour")
	}
}

func testLimit(t *testing.T, s blob.Store) {
	content := strings.Repeat("0123456789", 20000)
	for _, limit := range []int64{0, 1, 4096, int64(len(content)) - 1} {
		info, err := s.Put(t.Context(), "app/m/0", strings.NewReader(content), limit)
		if !errors.Is(err, blob.ErrTooLarge) || info != (blob.Info{}) {
			t.Errorf("limit %d: %+v, %v; want ErrTooLarge", limit, info, err)
		}
		absent(t, s, "app/m/0")
	}
	// The last byte may come alone, and the end after it.
	if _, err := s.Put(t.Context(), "app/m/0", iotest.OneByteReader(strings.NewReader("abcd")), 4); err != nil {
		t.Errorf("content of the limit's length: %v", err)
	}
	if _, err := s.Put(t.Context(), "app/m/1", iotest.DataErrReader(strings.NewReader(content)), int64(len(content))); err != nil {
		t.Errorf("content of the limit's length: %v", err)
	}
	if get(t, s, "app/m/0") != "abcd" || get(t, s, "app/m/1") != content {
		t.Error("content changed")
	}
}

var errSource = errors.New("connection reset")

func testFailedReader(t *testing.T, s blob.Store) {
	for n, r := range []io.Reader{
		iotest.ErrReader(errSource),
		io.MultiReader(strings.NewReader(strings.Repeat("x", 100_000)), iotest.ErrReader(errSource)),
	} {
		key := fmt.Sprintf("app/m/%d", n)
		if _, err := s.Put(t.Context(), key, r, 1<<20); !errors.Is(err, errSource) {
			t.Errorf("Put = %v, want the reader's error", err)
		}
		absent(t, s, key)
		put(t, s, key, "again") // the key is not spent
	}
}

// cancelReader cancels its context and goes on reading.
type cancelReader struct {
	cancel context.CancelFunc
	reads  int
}

func (r *cancelReader) Read(p []byte) (int, error) {
	r.cancel()
	r.reads++
	return copy(p, "xxxx"), nil
}

func testCanceled(t *testing.T, s blob.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	r := &cancelReader{cancel: cancel}
	if _, err := s.Put(ctx, "app/m/0", r, 1<<40); !errors.Is(err, context.Canceled) || r.reads > 2 {
		t.Errorf("Put = %v after %d reads", err, r.reads)
	}
	absent(t, s, "app/m/0")
	if _, err := s.Open(ctx, "app/m/0"); !errors.Is(err, context.Canceled) {
		t.Errorf("Open = %v", err)
	}
	if err := s.Delete(ctx, "app/m/0"); !errors.Is(err, context.Canceled) {
		t.Errorf("Delete = %v", err)
	}
	if err := s.Check(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Check = %v", err)
	}
	if _, err := s.Sweep(ctx, time.Now()); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("Sweep = %v", err)
	}
	put(t, s, "app/m/0", "x")
	if _, err := s.List(ctx, "", "", 1); !errors.Is(err, context.Canceled) {
		t.Errorf("List = %v", err)
	}
}

func testWrittenOnce(t *testing.T, s blob.Store) {
	put(t, s, "app/m/0", "first")
	if _, err := s.Put(t.Context(), "app/m/0", strings.NewReader("second"), 100); !errors.Is(err, blob.ErrExists) {
		t.Errorf("second Put = %v, want ErrExists", err)
	}
	if got := get(t, s, "app/m/0"); got != "first" {
		t.Errorf("content is %q", got)
	}
}

func testMissing(t *testing.T, s blob.Store) {
	absent(t, s, "app/m/0")
	put(t, s, "app/m/1", "x")
	absent(t, s, "app/m/0")
	for range 2 {
		if err := s.Delete(t.Context(), "app/m/0"); err != nil {
			t.Errorf("Delete of what is not there: %v", err)
		}
		if err := s.Delete(t.Context(), "no/such/0"); err != nil {
			t.Errorf("Delete of what is not there: %v", err)
		}
	}
}

func testBadKeys(t *testing.T, s blob.Store) {
	put(t, s, "app/m/0", "x")
	for _, key := range BadKeys() {
		if _, err := s.Put(t.Context(), key, strings.NewReader("x"), 1); !errors.Is(err, blob.ErrKey) {
			t.Errorf("Put(%q) = %v, want ErrKey", key, err)
		}
		if _, err := s.Open(t.Context(), key); !errors.Is(err, blob.ErrKey) {
			t.Errorf("Open(%q) = %v, want ErrKey", key, err)
		}
		if err := s.Delete(t.Context(), key); !errors.Is(err, blob.ErrKey) {
			t.Errorf("Delete(%q) = %v, want ErrKey", key, err)
		}
	}
	for _, prefix := range []string{"app", "/", "../", "app//", "app/m", "app/m/0", "app/../", "./"} {
		if _, err := s.List(t.Context(), prefix, "", 1); !errors.Is(err, blob.ErrKey) {
			t.Errorf("List(%q) = %v, want ErrKey", prefix, err)
		}
	}
	if got := keys(t, s, "", "", 1000); !slices.Equal(got, []string{"app/m/0"}) {
		t.Errorf("bad keys left %q", got)
	}
}

// BadKeys lists keys that every store refuses.
func BadKeys() []string {
	long := strings.Repeat("x", 65)
	return []string{
		"", "/", "a", "a/m", "a/m/", "a//0", "/m/0", "a/m/x", "a/m/-1", "a/m/01", "a/m/+1", "a/m/10000", "a/m/0/", "a/m/0/0",
		"../m/0", "a/../0", "a/./0", "./m/0", "a/m/..", ".tmp/m/0", "a/.m/0", "A/m/0", "a/M/0", "a b/m/0", "a/m\x00/0", "a/m\n/0",
		`a\m\0`, "a/æ/0", "-a/m/0", "_a/m/0", long + "/m/0", "a/" + long + "/0", "a/m/99999999999999999999", " a/m/0", "a/m/0 ", "a:b/m/0", "a/m.0/0",
	}
}

// testList uses ids whose order is easy to get wrong: "-" sorts before "/",
// digits as text, ids that are each other's prefix or share eight bytes.
func testList(t *testing.T, s blob.Store) {
	all := []string{
		"a-b/m/0", "a/0/0", "a/01890000-aaaa/0", "a/01890000-aaaa/1", "a/01890000-aaaa/10", "a/01890000-aaaa/2", "a/01890000-aab/0",
		"a/01890000/0", "a/01890001-aaaa/0", "a/m-1/0", "a/m/0", "a/m/1", "a/m0/0", "a0/m/0", "b/m/0", "b/m_/0", "b/m__________/0",
	}
	slices.Sort(all)
	shuffled := slices.Clone(all)
	rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	for _, key := range shuffled {
		put(t, s, key, key)
	}
	for _, limit := range []int{1, 2, 5, len(all), 1000} {
		var got []string
		after := ""
		for {
			page := keys(t, s, "", after, limit)
			if len(page) > limit {
				t.Fatalf("page of %d for %d", len(page), limit)
			}
			if len(page) == 0 {
				break
			}
			got = append(got, page...)
			after = page[len(page)-1]
		}
		if !slices.Equal(got, all) {
			t.Errorf("pages of %d:\n got  %q\n want %q", limit, got, all)
		}
	}
	for _, prefix := range []string{"a/", "a-b/", "a/m/", "a/01890000/", "a/01890000-aaaa/", "b/", "c/", "a/none/"} {
		for _, after := range append([]string{"", "a", "a/", "a/m/00", "a/01890000-b/0", "zz"}, all...) {
			var want []string
			for _, key := range all {
				if strings.HasPrefix(key, prefix) && key > after {
					want = append(want, key)
				}
			}
			if got := keys(t, s, prefix, after, 1000); !slices.Equal(got, want) {
				t.Errorf("List(%q, %q) = %q, want %q", prefix, after, got, want)
			}
		}
	}
	if got := keys(t, s, "", "", 0); len(got) != 0 {
		t.Errorf("page of 0: %q", got)
	}
}

func testListWhileChanging(t *testing.T, s blob.Store) {
	for i := range 10 {
		put(t, s, fmt.Sprintf("a/m%d/0", i), "x")
	}
	first := keys(t, s, "", "", 4)
	for _, key := range []string{"a/m3/0", "a/m5/0"} { // the last one of the page, and one to come
		if err := s.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	put(t, s, "a/m1/1", "late, before")
	put(t, s, "a/m6/1", "late, after")
	rest := keys(t, s, "", first[3], 100)
	if want := []string{"a/m4/0", "a/m6/0", "a/m6/1", "a/m7/0", "a/m8/0", "a/m9/0"}; !slices.Equal(rest, want) {
		t.Errorf("second page %q, want %q", rest, want)
	}
}

func testConcurrent(t *testing.T, s blob.Store) {
	const workers, each = 8, 10
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			for i := range each {
				key := fmt.Sprintf("a/01890000-%d/%d", w%4, w/4*each+i)
				content := bytes.Repeat([]byte{byte(w), byte(i)}, 5000)
				if _, err := s.Put(t.Context(), key, bytes.NewReader(content), 1<<20); err != nil {
					t.Errorf("Put(%q): %v", key, err)
					continue
				}
				r, err := s.Open(t.Context(), key)
				if err != nil {
					t.Errorf("Open(%q): %v", key, err)
					continue
				}
				got, err := io.ReadAll(r)
				if closeErr := r.Close(); err != nil || closeErr != nil || !bytes.Equal(got, content) {
					t.Errorf("%q came back changed: %v, %v", key, err, closeErr)
				}
				if i%2 == 0 {
					if err := s.Delete(t.Context(), key); err != nil {
						t.Errorf("Delete(%q): %v", key, err)
					}
				}
			}
		})
	}
	group.Wait()
	if got := keys(t, s, "", "", 1000); len(got) != workers*each/2 {
		t.Errorf("%d blobs, want %d", len(got), workers*each/2)
	}
}

func testCheck(t *testing.T, s blob.Store) {
	for range 3 {
		if err := s.Check(t.Context()); err != nil {
			t.Errorf("Check: %v", err)
		}
	}
	if got := keys(t, s, "", "", 1000); len(got) != 0 {
		t.Errorf("Check left %q", got)
	}
}

// testSweep: whole blobs are never swept, and failed Puts leave nothing to sweep.
func testSweep(t *testing.T, s blob.Store) {
	put(t, s, "app/m/0", "x")
	long := io.MultiReader(bytes.NewReader(make([]byte, 6<<20)), iotest.ErrReader(errSource))
	if _, err := s.Put(t.Context(), "app/m/1", long, 1<<30); !errors.Is(err, errSource) {
		t.Errorf("Put = %v, want the reader's error", err)
	}
	absent(t, s, "app/m/1")
	for _, before := range []time.Time{{}, time.Now().Add(time.Hour)} {
		if n, err := s.Sweep(t.Context(), before); n != 0 || err != nil {
			t.Errorf("Sweep = %d, %v", n, err)
		}
	}
	if get(t, s, "app/m/0") != "x" {
		t.Error("Sweep took a blob")
	}
}
