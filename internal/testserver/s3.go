package testserver

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// The credentials and the bucket of an [S3Server].
const (
	S3AccessKey = "AKTESTACCESS"
	S3SecretKey = "S3cr3tOfTheStore"
	S3Bucket    = "attachments"
)

// S3Server is an S3-compatible store in memory, behind a real HTTP server. It
// refuses what a real store would: another access key, a body that is not what
// its digest says, and bodies in signed chunks, which stores are known to keep
// as content.
type S3Server struct {
	// URL is its endpoint; buckets are in the path.
	URL     string
	backend *s3mem.Backend
	store   http.Handler

	mu     sync.Mutex
	ahead  time.Duration
	answer func(w http.ResponseWriter, r *http.Request, store http.Handler)
	seen   []string
}

// S3 starts a store with one empty bucket for the length of the test.
func S3(tb testing.TB) *S3Server {
	tb.Helper()
	s := &S3Server{}
	s.backend = s3mem.New(s3mem.WithTimeSource((*s3Clock)(s)))
	if err := s.backend.CreateBucket(S3Bucket); err != nil {
		tb.Fatalf("make a bucket: %v", err)
	}
	store := gofakes3.New(s.backend, gofakes3.WithTimeSource((*s3Clock)(s)), gofakes3.WithTimeSkewLimit(0)).Server()
	s.store = store
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.seen = append(s.seen, r.Method+" "+r.URL.RequestURI())
		answer := s.answer
		s.mu.Unlock()
		switch body, err := checkS3(r); {
		case err != nil:
			S3Fault(w, http.StatusForbidden, err.Error())
		case answer != nil:
			r.Body = io.NopCloser(bytes.NewReader(body))
			answer(w, r, store)
		default:
			r.Body = io.NopCloser(bytes.NewReader(body))
			store.ServeHTTP(w, r)
		}
	}))
	tb.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// checkS3 refuses a request with the code that a store would answer.
func checkS3(r *http.Request) ([]byte, error) {
	if !strings.Contains(r.Header.Get("Authorization"), "Credential="+S3AccessKey+"/") {
		return nil, errors.New("InvalidAccessKeyId")
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, errors.New("IncompleteBody")
	}
	sum := sha256.Sum256(body)
	digest := r.Header.Get("X-Amz-Content-Sha256")
	if digest != hex.EncodeToString(sum[:]) && (len(body) > 0 || digest != "UNSIGNED-PAYLOAD") {
		return nil, errors.New("XAmzContentSHA256Mismatch")
	}
	return body, nil
}

// S3Fault answers like a store that refuses.
func S3Fault(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<?xml version=\"1.0\"?>\n<Error><Code>%s</Code><Message>as the test wants</Message></Error>", code)
}

// Addr is where it listens.
func (s *S3Server) Addr() string { return strings.TrimPrefix(s.URL, "http://") }

// Answer lets fn answer requests in the store's place, or through it; nil ends that.
func (s *S3Server) Answer(fn func(w http.ResponseWriter, r *http.Request, store http.Handler)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = fn
}

// Seen takes the requests since the last call: method, path and query.
func (s *S3Server) Seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.seen
	s.seen = nil
	return seen
}

// Advance moves the store's clock on.
func (s *S3Server) Advance(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ahead += by
}

// Objects are the names of all objects in the bucket, in order.
func (s *S3Server) Objects(tb testing.TB) []string {
	tb.Helper()
	list, err := s.backend.ListBucket(S3Bucket, &gofakes3.Prefix{}, gofakes3.ListBucketPage{})
	if err != nil {
		tb.Fatalf("list the bucket: %v", err)
	}
	var names []string
	for _, o := range list.Contents {
		names = append(names, o.Key)
	}
	slices.Sort(names)
	return names
}

// Uploads counts the multipart uploads that were begun and neither completed
// nor aborted, past all checks and answers.
func (s *S3Server) Uploads(tb testing.TB) int {
	tb.Helper()
	w := httptest.NewRecorder()
	s.store.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/"+S3Bucket+"?uploads", nil))
	if w.Code == http.StatusNotFound && strings.Contains(w.Body.String(), "NoSuchUpload") {
		return 0 // how it says that there is none
	}
	var list struct{ Upload []struct{} }
	if err := xml.Unmarshal(w.Body.Bytes(), &list); err != nil || w.Code != http.StatusOK {
		tb.Fatalf("list uploads: status %d, %v", w.Code, err)
	}
	return len(list.Upload)
}

// Put writes an object past all checks.
func (s *S3Server) Put(tb testing.TB, name, content string) {
	tb.Helper()
	if _, err := s.backend.PutObject(S3Bucket, name, map[string]string{}, strings.NewReader(content), int64(len(content)), nil); err != nil {
		tb.Fatalf("put %s: %v", name, err)
	}
}

// s3Clock is the store's clock.
type s3Clock S3Server

// Now implements gofakes3.TimeSource.
func (c *s3Clock) Now() time.Time {
	s := (*S3Server)(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().UTC().Add(s.ahead)
}

// Since implements gofakes3.TimeSource.
func (c *s3Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }
