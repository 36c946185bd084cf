package s3_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/postledger/postledger/internal/blob"
	"github.com/postledger/postledger/internal/blob/s3"
	"github.com/postledger/postledger/internal/testserver"
)

func random(n int) []byte {
	var seed [32]byte
	seed[0] = byte(n)
	b := make([]byte, n)
	_, _ = rand.NewChaCha8(seed).Read(b)
	return b
}

func read(t *testing.T, s *s3.Store, key string) []byte {
	t.Helper()
	r, err := s.Open(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// unfinished lists multipart uploads by aborting them: all are older than an
// hour from now.
func unfinished(t *testing.T, s *s3.Store) int {
	t.Helper()
	n, err := s.Sweep(t.Context(), time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Sizes around those of a small read, a part and two.
func TestSizes(t *testing.T) {
	t.Parallel()
	server := testserver.S3(t)
	s := open(t, config(server))
	for n, size := range []int{64<<10 - 1, 64 << 10, 64<<10 + 1, 5<<20 - 1, 5 << 20, 5<<20 + 1, 10 << 20, 12<<20 + 7} {
		key, err := blob.Key("a", "m", n)
		if err != nil {
			t.Fatal(err)
		}
		content := random(size)
		info, err := s.Put(t.Context(), key, bytes.NewReader(content), int64(size))
		if err != nil || info.Size != int64(size) || info.SHA256 != sha256.Sum256(content) {
			t.Fatalf("Put of %d bytes = %+v, %v", size, info, err)
		}
		if !bytes.Equal(read(t, s, key), content) {
			t.Errorf("%d bytes came back changed", size)
		}
		if _, err := s.Put(t.Context(), key, bytes.NewReader(random(size)), 1<<30); !errors.Is(err, blob.ErrExists) {
			t.Errorf("second Put of %d bytes = %v", size, err)
		}
		if _, err := s.Put(t.Context(), "a/n/0", bytes.NewReader(content), int64(size)-1); !errors.Is(err, blob.ErrTooLarge) {
			t.Errorf("Put of %d bytes with one less allowed = %v", size, err)
		}
		if !bytes.Equal(read(t, s, key), content) {
			t.Errorf("%d bytes were overwritten", size)
		}
	}
	if n := unfinished(t, s); n != 0 {
		t.Errorf("%d uploads were not aborted", n)
	}
	if n := len(server.Objects(t)); n != 8 {
		t.Errorf("%d objects", n)
	}
}

// A sender that is cut, or whose request ends, leaves no object, no upload, and
// the key free; also when it has sent whole parts.
func TestCutUpload(t *testing.T) {
	t.Parallel()
	server := testserver.S3(t)
	s := open(t, config(server))
	for _, size := range []int{1000, 200 << 10, 11 << 20} {
		cut := io.MultiReader(bytes.NewReader(make([]byte, size)), iotest.ErrReader(io.ErrUnexpectedEOF))
		if _, err := s.Put(t.Context(), "a/m/0", cut, 1<<30); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("Put cut after %d bytes = %v", size, err)
		}
	}
	if objects := server.Objects(t); len(objects) != 0 {
		t.Errorf("objects %q", objects)
	}
	if n := unfinished(t, s); n != 0 {
		t.Errorf("%d uploads were not aborted", n)
	}
}

// What a killed process leaves of an upload is swept when it is old, by any
// process, and nothing else is.
func TestSweep(t *testing.T) {
	t.Parallel()
	server := testserver.S3(t)
	dead, s := open(t, config(server)), open(t, config(server))
	foreign := config(server)
	foreign.Prefix = "other/"
	other := open(t, foreign)
	// The abort does not reach the store, as if the process were killed.
	abandon := func(s *s3.Store, key string, probe bool) {
		t.Helper()
		server.Answer(func(w http.ResponseWriter, r *http.Request, store http.Handler) {
			if r.Method == http.MethodDelete {
				testserver.S3Fault(w, http.StatusForbidden, "AccessDenied")
				return
			}
			store.ServeHTTP(w, r)
		})
		defer server.Answer(nil)
		cut := io.MultiReader(bytes.NewReader(make([]byte, 6<<20)), iotest.ErrReader(io.ErrUnexpectedEOF))
		if _, err := s.Put(t.Context(), key, cut, 1<<30); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatal(err)
		}
		if probe {
			_ = s.Check(t.Context()) // its object stays
		}
	}
	abandon(dead, "a/m/0", true)
	abandon(other, "a/m/0", true)
	server.Advance(49 * time.Hour)
	abandon(dead, "a/m/1", false)
	if _, err := s.Put(t.Context(), "a/m/2", strings.NewReader("x"), 1); err != nil {
		t.Fatal(err)
	}
	swept, err := s.Sweep(t.Context(), time.Now().Add(time.Hour))
	if err != nil || swept != 2 {
		t.Errorf("swept %d, %v; want the old upload and the old probe", swept, err)
	}
	if n := unfinishedAt(t, other, 50*time.Hour); n != 2 {
		t.Errorf("%d left of another's, want 2", n)
	}
	if n := unfinishedAt(t, s, 50*time.Hour); n != 1 {
		t.Errorf("%d left, want the young upload", n)
	}
	if objects := server.Objects(t); !slices.Equal(objects, []string{"mail/a/m/2"}) {
		t.Errorf("objects %q", objects)
	}
}

func unfinishedAt(t *testing.T, s *s3.Store, ahead time.Duration) int {
	t.Helper()
	n, err := s.Sweep(t.Context(), time.Now().Add(ahead))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// One part of room for all: uploads that want it take turns, and small ones do
// not need it.
func TestUploadsTakeTurns(t *testing.T) {
	t.Parallel()
	server := testserver.S3(t)
	c := config(server)
	c.Memory = s3.MinMemory
	s := open(t, c)
	held, begun := make(chan struct{}), make(chan struct{})
	slow := io.MultiReader(bytes.NewReader(make([]byte, 100<<10)), waiter{begun, held}, bytes.NewReader(make([]byte, 100)))
	var group sync.WaitGroup
	group.Go(func() {
		if _, err := s.Put(t.Context(), "a/slow/0", slow, 1<<30); err != nil {
			t.Error(err)
		}
	})
	<-begun
	if _, err := s.Put(t.Context(), "a/small/0", strings.NewReader(strings.Repeat("x", 60<<10)), 1<<30); err != nil {
		t.Error(err)
	}
	large := make(chan struct{})
	group.Go(func() {
		defer close(large)
		if _, err := s.Put(t.Context(), "a/large/0", bytes.NewReader(make([]byte, 6<<20)), 1<<30); err != nil {
			t.Error(err)
		}
	})
	select {
	case <-large:
		t.Error("the large upload had room while another held it all")
	case <-time.After(100 * time.Millisecond):
	}
	close(held)
	group.Wait()
	if n := len(server.Objects(t)); n != 3 {
		t.Errorf("%d objects", n)
	}
}

// waiter says that it is read, and ends when it may.
type waiter struct{ begun, held chan struct{} }

func (w waiter) Read([]byte) (int, error) {
	close(w.begun)
	<-w.held
	return 0, io.EOF
}
