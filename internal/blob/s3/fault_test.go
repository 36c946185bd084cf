package s3_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/postledger/postledger/internal/blob"
	"github.com/postledger/postledger/internal/blob/s3"
	"github.com/postledger/postledger/internal/testserver"
)

// lost lets the store do what was asked and drops the answer, once.
func lost(match func(r *http.Request) bool) func(http.ResponseWriter, *http.Request, http.Handler) {
	var done atomic.Bool
	return func(w http.ResponseWriter, r *http.Request, store http.Handler) {
		if !match(r) || done.Swap(true) {
			store.ServeHTTP(w, r)
			return
		}
		store.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}
}

// A lost answer is followed by a second try, which meets what the first one
// wrote. That is no conflict.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		size  int
		match func(r *http.Request) bool
	}{
		"to a small blob": {1000, func(r *http.Request) bool { return r.Method == http.MethodPut }},
		"to the start of an upload": {6 << 20, func(r *http.Request) bool {
			return r.Method == http.MethodPost && r.URL.Query().Has("uploads")
		}},
		"to a part": {6 << 20, func(r *http.Request) bool { return r.URL.Query().Get("partNumber") == "2" }},
		"to the end of an upload": {6 << 20, func(r *http.Request) bool {
			return r.Method == http.MethodPost && r.URL.Query().Has("uploadId")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := testserver.S3(t)
			s := open(t, config(server))
			server.Answer(lost(test.match))
			content := random(test.size)
			if _, err := s.Put(t.Context(), "a/m/0", bytes.NewReader(content), 1<<30); err != nil {
				t.Fatalf("Put: %v", err)
			}
			server.Answer(nil)
			if !bytes.Equal(read(t, s, "a/m/0"), content) {
				t.Error("the content changed")
			}
			if _, err := s.Put(t.Context(), "a/m/0", bytes.NewReader(content), 1<<30); !errors.Is(err, blob.ErrExists) {
				t.Errorf("the same content from another Put = %v, want ErrExists", err)
			}
		})
	}
}

// What a store says in passing is tried again; what it says for good is not.
func TestRetries(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		status int
		code   string
		want   int // requests
	}{
		{http.StatusServiceUnavailable, "SlowDown", 3},
		{http.StatusInternalServerError, "InternalError", 3},
		{http.StatusTooManyRequests, "TooManyRequests", 3},
		{http.StatusForbidden, "AccessDenied", 1},
		{http.StatusNotFound, "NoSuchBucket", 1},
		{http.StatusNotImplemented, "NotImplemented", 1},
	} {
		t.Run(test.code, func(t *testing.T) {
			t.Parallel()
			server := testserver.S3(t)
			s := open(t, config(server))
			refuse := func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
				testserver.S3Fault(w, test.status, test.code)
			}
			for what, call := range map[string]func() error{
				"Put":    func() error { _, err := s.Put(t.Context(), "a/m/0", strings.NewReader("x"), 1); return err },
				"Open":   func() error { _, err := s.Open(t.Context(), "a/m/0"); return err },
				"Delete": func() error { return s.Delete(t.Context(), "a/m/0") },
				"List":   func() error { _, err := s.List(t.Context(), "", "", 10); return err },
				"Sweep":  func() error { _, err := s.Sweep(t.Context(), time.Now()); return err },
			} {
				if test.want > 1 && test.code != "SlowDown" && what != "List" {
					continue // one code for all calls, and one call for all codes
				}
				server.Answer(refuse)
				server.Seen()
				err := call()
				if err == nil || errors.Is(err, blob.ErrNotFound) || errors.Is(err, blob.ErrExists) {
					t.Errorf("%s = %v", what, err)
				}
				if n := len(server.Seen()); n != test.want {
					t.Errorf("%s took %d requests, want %d", what, n, test.want)
				}
				if !strings.Contains(fmt.Sprint(err), test.code) || strings.Contains(fmt.Sprint(err), testserver.S3SecretKey) {
					t.Errorf("%s says %v", what, err)
				}
			}
		})
	}
}

func TestFull(t *testing.T) {
	t.Parallel()
	server := testserver.S3(t)
	s := open(t, config(server))
	for status, code := range map[int]string{
		http.StatusInsufficientStorage: "XMinioStorageFull", http.StatusForbidden: "QuotaExceeded", http.StatusBadRequest: "XMinioAdminBucketQuotaExceeded",
	} {
		server.Answer(func(w http.ResponseWriter, r *http.Request, store http.Handler) {
			if r.Method == http.MethodPut {
				testserver.S3Fault(w, status, code)
				return
			}
			store.ServeHTTP(w, r)
		})
		for _, size := range []int{10, 6 << 20} {
			if _, err := s.Put(t.Context(), "a/m/0", bytes.NewReader(make([]byte, size)), 1<<30); !errors.Is(err, blob.ErrFull) {
				t.Errorf("Put of %d bytes = %v, want ErrFull", size, err)
			}
		}
		server.Answer(nil)
		if n := unfinished(t, s); n != 0 {
			t.Errorf("%d uploads were not aborted", n)
		}
	}
}

// A message fails for good when its attachment is gone. A proxy's 404, another
// server at the address or a missing bucket do not mean that.
func TestOnlyTheStoreSaysThatABlobIsGone(t *testing.T) {
	t.Parallel()
	server := testserver.S3(t)
	s := open(t, config(server))
	if _, err := s.Open(t.Context(), "a/m/0"); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("Open = %v, want ErrNotFound", err)
	}
	server.Answer(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		http.Error(w, "<html>no such page</html>", http.StatusNotFound)
	})
	if _, err := s.Open(t.Context(), "a/m/0"); err == nil || errors.Is(err, blob.ErrNotFound) {
		t.Errorf("Open with a stranger's 404 = %v", err)
	}
	server.Answer(nil)
	c := config(server)
	c.Bucket = "elsewhere"
	if _, err := open(t, c).Open(t.Context(), "a/m/0"); err == nil || errors.Is(err, blob.ErrNotFound) {
		t.Errorf("Open in a missing bucket = %v", err)
	}
}

// behind opens a store whose connections go through a proxy.
func behind(t *testing.T, server *testserver.S3Server) (*s3.Store, *testserver.TCPProxy) {
	t.Helper()
	proxy := testserver.Proxy(t, server.Addr())
	c := config(server)
	c.Endpoint = "http://" + proxy.Addr()
	return open(t, c), proxy
}

// A reader that is cut goes on where it was, with the same object, and gives up
// with an error that nobody takes for the end.
func TestCutReader(t *testing.T) {
	t.Parallel()
	server := testserver.S3(t)
	s, proxy := behind(t, server)
	content := random(3 << 20)
	if _, err := s.Put(t.Context(), "a/m/0", bytes.NewReader(content), 1<<30); err != nil {
		t.Fatal(err)
	}
	for _, after := range []int64{0, 1, 500 << 10, 2 << 20} {
		proxy.CutAfterBytes(testserver.ToClient, after)
		if !bytes.Equal(read(t, s, "a/m/0"), content) {
			t.Errorf("content that was cut after %d bytes came back changed", after)
		}
	}
	r, err := s.Open(t.Context(), "a/m/0")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := io.ReadFull(r, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	proxy.Refuse(true)
	proxy.Cut()
	n, err := io.Copy(io.Discard, r)
	if err == nil || err == io.ErrUnexpectedEOF || n >= int64(len(content))-1000 {
		t.Errorf("reader without a store = %d, %v", n, err)
	}
}

// Another object under the name is never put behind the first one's beginning.
func TestResumedReaderKnowsItsObject(t *testing.T) {
	t.Parallel()
	server := testserver.S3(t)
	s, proxy := behind(t, server)
	if _, err := s.Put(t.Context(), "a/m/0", bytes.NewReader(random(3<<20)), 1<<30); err != nil {
		t.Fatal(err)
	}
	proxy.CutAfterBytes(testserver.ToClient, 1<<20)
	r, err := s.Open(t.Context(), "a/m/0")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := io.ReadFull(r, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	server.Put(t, "mail/a/m/0", strings.Repeat("x", 3<<20))
	if n, err := io.Copy(io.Discard, r); err == nil {
		t.Errorf("%d bytes of two objects were read as one", n)
	}
}

func TestGone(t *testing.T) {
	t.Parallel()
	server := testserver.S3(t)
	s, proxy := behind(t, server)
	proxy.Refuse(true)
	if err := s.Check(t.Context()); err == nil {
		t.Error("Check succeeds without a store")
	}
	if _, err := s.Put(t.Context(), "a/m/0", strings.NewReader("x"), 1); err == nil || errors.Is(err, blob.ErrFull) {
		t.Errorf("Put = %v", err)
	}
	proxy.Refuse(false)
	if _, err := s.Put(t.Context(), "a/m/0", strings.NewReader("x"), 1); err != nil {
		t.Errorf("Put when it is back: %v", err)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Errorf("Check when it is back: %v", err)
	}
}

// A burst of checks is one request or two, not one each.
func TestCheckSparesTheStore(t *testing.T) {
	t.Parallel()
	server := testserver.S3(t)
	s := open(t, config(server))
	for range 20 {
		if err := s.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if seen := server.Seen(); len(seen) != 2 || !strings.HasPrefix(seen[0], "PUT /attachments/mail/.check/") || !strings.HasPrefix(seen[1], "DELETE ") {
		t.Errorf("requests %q", seen)
	}
}

func TestProbe(t *testing.T) {
	t.Parallel()
	server := testserver.S3(t)
	s := open(t, config(server))
	if err := s.Probe(t.Context()); err != nil {
		t.Errorf("Probe: %v", err)
	}
	if objects := server.Objects(t); len(objects) != 0 {
		t.Errorf("Probe left %q", objects)
	}
	for name, test := range map[string]struct {
		answer func(w http.ResponseWriter, r *http.Request, store http.Handler)
		want   string
	}{
		"overwrites": {func(w http.ResponseWriter, r *http.Request, store http.Handler) {
			r.Header.Del("If-None-Match")
			store.ServeHTTP(w, r)
		}, "If-None-Match"},
		"changes": {func(w http.ResponseWriter, r *http.Request, store http.Handler) {
			if r.Method == http.MethodPut {
				r.Body = io.NopCloser(io.MultiReader(strings.NewReader("!"), r.Body))
				r.ContentLength++
				r.Header.Set("Content-Length", fmt.Sprint(r.ContentLength))
			}
			store.ServeHTTP(w, r)
		}, "other bytes"},
		"may not delete": {func(w http.ResponseWriter, r *http.Request, store http.Handler) {
			if r.Method == http.MethodDelete {
				testserver.S3Fault(w, http.StatusForbidden, "AccessDenied")
				return
			}
			store.ServeHTTP(w, r)
		}, "delete: AccessDenied"},
		"may not list": {func(w http.ResponseWriter, r *http.Request, store http.Handler) {
			if r.URL.Query().Has("list-type") {
				testserver.S3Fault(w, http.StatusForbidden, "AccessDenied")
				return
			}
			store.ServeHTTP(w, r)
		}, "list blobs: AccessDenied"},
	} {
		server.Answer(test.answer)
		if err := s.Probe(t.Context()); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	server := testserver.S3(t)
	c := config(server)
	c.AccessKey = "AKOTHER"
	err := open(t, c).Check(t.Context())
	if err == nil || !strings.Contains(err.Error(), "InvalidAccessKeyId") || strings.Contains(err.Error(), c.SecretKey) {
		t.Errorf("Check with another key: %v", err)
	}
	if text := fmt.Sprintf("%v %+v %#v", c, c, c); strings.Contains(text, c.SecretKey) {
		t.Errorf("the configuration prints its secret: %s", text)
	}
	c.SecretKey = ""
	if _, err := s3.Open(c); err == nil {
		t.Error("Open without a secret key")
	}
}

func TestParsePlace(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"s3://bucket": {"bucket", ""}, "s3://bucket/": {"bucket", ""}, "s3://my.bucket-1/a": {"my.bucket-1", "a/"},
		"s3://bucket/a/B_c.d/": {"bucket", "a/B_c.d/"},
	} {
		bucket, prefix, err := s3.ParsePlace(text)
		if err != nil || !slices.Equal([]string{bucket, prefix}, want) {
			t.Errorf("ParsePlace(%q) = %q, %q, %v", text, bucket, prefix, err)
		}
	}
	for _, text := range []string{
		"", "bucket", "s3:bucket", "s3://", "s3://ab", "s3://Bucket", "s3://bu..ket", "s3://-bucket", "s3://bucket.", "s3://" + strings.Repeat("b", 64),
		"s3://key:S3cr3t@bucket/p", "s3://bucket//a", "s3://bucket/a//b", "s3://bucket/../a", "s3://bucket/.check", "s3://bucket/a b", "s3://bucket/a?b", "s3://bucket/" + strings.Repeat("p", 513),
		"s3://data--use1-az1--x-s3/p",
	} {
		if bucket, prefix, err := s3.ParsePlace(text); err == nil || strings.Contains(err.Error(), "S3cr3t") {
			t.Errorf("ParsePlace(%q) = %q, %q, %v", text, bucket, prefix, err)
		}
	}
	for _, text := range []string{"", "host:9000", "ftp://host", "https://", "https://u:S3cr3t@host", "https://host/bucket", "https://host?x=1", "http://h:x%zz"} {
		if _, _, err := s3.ParseEndpoint(text); err == nil || strings.Contains(err.Error(), "S3cr3t") {
			t.Errorf("ParseEndpoint(%q): %v", text, err)
		}
	}
}
