package client_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/postledger/postledger/client"
)

// upload is what a server reads of a multipart request.
type upload struct {
	message client.Message
	files   []string
}

func readUpload(r *http.Request) (upload, error) {
	var u upload
	parts, err := r.MultipartReader()
	if err != nil {
		return u, err
	}
	for n := 0; ; n++ {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return u, nil
		}
		if err != nil {
			return u, err
		}
		if err := u.read(n, part); err != nil {
			return u, err
		}
	}
}

func (u *upload) read(n int, part *multipart.Part) error {
	switch {
	case n == 0 && part.FormName() == "message" && part.Header.Get("Content-Type") == "application/json":
		return json.NewDecoder(part).Decode(&u.message)
	case n > 0 && part.FormName() == "attachment" && part.FileName() != "":
		b, err := io.ReadAll(part)
		u.files = append(u.files, part.Header.Get("Content-Type")+" "+string(b))
		return err
	default:
		return fmt.Errorf("part %d is %q", n, part.FormName())
	}
}

func TestAttachmentsAreStreamedInOrder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "terms.txt")
	if err := os.WriteFile(path, []byte("the terms"), 0o600); err != nil {
		t.Fatal(err)
	}
	var got upload
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var err error
		if got, err = readUpload(r); err != nil {
			t.Error(err)
		}
		accepts(w, r)
	})
	m := message()
	m.Attachments = []client.Attachment{
		client.Bytes("réceipt \"1\".pdf", "application/pdf", []byte("%PDF-1.7")),
		client.File(path),
		client.Once("logo.png", "image/png", strings.NewReader("a picture")),
		client.Bytes("empty", "", nil),
		{Disposition: "inline", ContentID: "logo", ContentType: "no type\r\n", Reader: strings.NewReader("x")},
	}
	if _, err := c.Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"application/pdf %PDF-1.7", "text/plain; charset=utf-8 the terms", "image/png a picture",
		"application/octet-stream ", "application/octet-stream x",
	}
	if fmt.Sprintf("%q", got.files) != fmt.Sprintf("%q", want) {
		t.Errorf("got files %q, want %q", got.files, want)
	}
	a := got.message.Attachments
	if len(a) != 5 || a[0].Name != `réceipt "1".pdf` || *a[0].Size != 8 || a[1].Name != "terms.txt" || a[4].ContentID != "logo" {
		t.Errorf("got %+v", a)
	}
}

// What can be had again is sent again, whole, however far the try before came.
func TestAttachmentsAreOpenedForEachTry(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte("0123456789abcdef"), 64<<10) // 1 MiB
	var tries atomic.Int32
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch tries.Add(1) {
		case 1: // refused before the files
			status(503, `{"code":"overloaded"}`)(w, r)
		case 2: // cut within them
			io.CopyN(io.Discard, r.Body, 300<<10)
			cut("")(w, r)
		default:
			u, err := readUpload(r)
			if err != nil || len(u.files) != 1 || u.files[0] != "text/plain "+string(content) {
				t.Errorf("the third try: %d files, %v", len(u.files), err)
			}
			accepts(w, r)
		}
	})
	var opened, closed atomic.Int32
	m := message()
	m.Attachments = []client.Attachment{{Name: "log.txt", ContentType: "text/plain", Open: func() (io.ReadCloser, error) {
		opened.Add(1)
		return &counted{bytes.NewReader(content), &closed}, nil
	}}}
	if _, err := c.Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if tries.Load() != 3 || opened.Load() != closed.Load() {
		t.Errorf("%d tries, %d opened, %d closed", tries.Load(), opened.Load(), closed.Load())
	}
	if n := opened.Load(); n != 3 {
		t.Errorf("opened %d times, want once for each try", n)
	}
}

type counted struct {
	io.Reader
	closed *atomic.Int32
}

func (c *counted) Close() error {
	c.closed.Add(1)
	return nil
}

func TestOnceIsNotReadTwice(t *testing.T) {
	t.Parallel()
	var tries atomic.Int32
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		tries.Add(1)
		io.Copy(io.Discard, r.Body)
		status(503, `{"code":"overloaded"}`)(w, r)
	})
	m := message()
	m.Attachments = []client.Attachment{client.Once("log.txt", "text/plain", strings.NewReader("once"))}
	_, err := c.Send(t.Context(), m)
	var once *client.OnceError
	if !errors.As(err, &once) || once.Attachment != "log.txt" || !errors.Is(err, client.ErrOverloaded) || client.KeyOf(err) == "" {
		t.Errorf("got %v, want a OnceError for log.txt with the refusal in it", err)
	}
	if tries.Load() != 1 {
		t.Errorf("%d tries, want 1", tries.Load())
	}
}

// Nothing of it was read, so there is no harm in another try.
func TestOnceIsTriedAgainWhileUnread(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if u, err := readUpload(r); err != nil || len(u.files) != 1 || u.files[0] != "text/plain once" {
			t.Errorf("got %q, %v", u.files, err)
		}
		accepts(w, r)
	}))
	defer srv.Close()
	dials := 0
	tr := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if dials++; dials < 3 {
			addr = "127.0.0.1:1" // nobody listens there
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}}
	defer tr.CloseIdleConnections()
	c := dial(t, srv.URL, testKey, quick(6), client.WithHTTPClient(&http.Client{Transport: tr}))
	m := message()
	m.Attachments = []client.Attachment{client.Once("log.txt", "text/plain", strings.NewReader("once"))}
	if _, err := c.Send(t.Context(), m); err != nil || dials != 3 {
		t.Errorf("got %v after %d dials", err, dials)
	}
}

func TestContentThatFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk on fire")
	tests := map[string]client.Attachment{
		"open":  {Name: "a.txt", Open: func() (io.ReadCloser, error) { return nil, broken }},
		"read":  {Name: "a.txt", Open: func() (io.ReadCloser, error) { return io.NopCloser(iotest.ErrReader(broken)), nil }},
		"later": {Name: "a.txt", Reader: io.MultiReader(strings.NewReader(strings.Repeat("x", 100_000)), iotest.ErrReader(broken))},
	}
	for name, a := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var tries atomic.Int32
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				tries.Add(1)
				if _, err := readUpload(r); err == nil {
					t.Error("the server read a whole request")
				}
				status(400, `{"code":"bad_input"}`)(w, r)
			})
			m := message()
			m.Attachments = []client.Attachment{a}
			_, err := c.Send(t.Context(), m)
			if !errors.Is(err, broken) || !strings.Contains(err.Error(), `"a.txt"`) || tries.Load() > 1 {
				t.Errorf("got %v in %d tries, want the content's own error in one", err, tries.Load())
			}
		})
	}
}

func TestAttachmentWithoutContent(t *testing.T) {
	t.Parallel()
	c := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was made") })
	for _, a := range []client.Attachment{
		{Name: "none"},
		{Name: "both", Reader: strings.NewReader(""), Open: func() (io.ReadCloser, error) { return nil, nil }},
	} {
		m := message()
		m.Attachments = []client.Attachment{client.Bytes("fine", "", nil), a}
		if _, err := c.Send(t.Context(), m); err == nil || !strings.Contains(err.Error(), "attachments[1]") {
			t.Errorf("%s: got %v, want an error about attachments[1]", a.Name, err)
		}
	}
}

// An answer that comes before the files were read (a known key) is taken, and
// nothing reads them any more when Send has returned.
func TestEarlyAnswer(t *testing.T) {
	t.Parallel()
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.CopyN(io.Discard, r.Body, 100)
		accepts(w, r)
	})
	endless := &endless{}
	m := message()
	m.Attachments = []client.Attachment{client.Once("endless", "", endless)}
	got, err := c.Send(t.Context(), m)
	if err != nil || got.ID.IsZero() {
		t.Fatalf("got %+v, %v", got, err)
	}
	// A write without synchronisation: the race detector sees a reader that
	// was left behind.
	endless.read = -1
}

type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	e.read += len(p)
	return len(p), nil
}

// A try that is given up while its content waits for more must not hold Send.
func TestContextEndsAnUploadThatWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := bubble(t, func(_ http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
		})
		pipe, w := io.Pipe()
		defer w.Close()
		m := message()
		m.Attachments = []client.Attachment{{Name: "pipe", Open: func() (io.ReadCloser, error) { return pipe, nil }}}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		begun := time.Now()
		if _, err := c.Send(ctx, m); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if d := time.Since(begun); d != 5*time.Second {
			t.Errorf("returned after %v, want 5s", d)
		}
	})
}

// 8 MiB pass through unchanged.
func TestLargeAttachment(t *testing.T) {
	t.Parallel()
	const size = 8 << 20
	sum := make(chan [32]byte, 1)
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		parts, err := r.MultipartReader()
		if err != nil {
			t.Error(err)
			return
		}
		parts.NextPart()
		part, err := parts.NextPart()
		if err != nil {
			t.Error(err)
			return
		}
		h := sha256.New()
		n, err := io.Copy(h, part)
		if n != size || err != nil {
			t.Errorf("read %d bytes, %v", n, err)
		}
		sum <- [32]byte(h.Sum(nil))
		accepts(w, r)
	})
	m := message()
	content := func() io.Reader { return io.LimitReader(&pattern{}, size) }
	m.Attachments = []client.Attachment{client.Once("large", "", content())}
	if _, err := c.Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	h := sha256.New()
	io.Copy(h, content())
	if got := <-sum; got != [32]byte(h.Sum(nil)) {
		t.Error("the content has changed on its way")
	}
}

type pattern struct{ n byte }

func (p *pattern) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = p.n
		p.n += 7
	}
	return len(b), nil
}
