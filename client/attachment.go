package client

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"os"
	"path/filepath"
	"sync/atomic"
)

// Attachment is one file of a message. Its content is what Open yields, or
// Reader; exactly one of them is set. File, Bytes and Once make one.
//
// A message has at most 50 files, and together they are at most as large as its
// profile allows (25 MiB unless set).
type Attachment struct {
	// Name is the file's name, at most 255 bytes; only an inline file may have
	// none.
	Name string `json:"name,omitempty"`
	// ContentType is application/octet-stream when empty.
	ContentType string `json:"content_type,omitempty"`
	// Disposition is attachment (also when empty) or inline.
	Disposition string `json:"disposition,omitempty"`
	// ContentID is what HTML refers to as cid:….
	ContentID string `json:"content_id,omitempty"`
	// Method makes a text/calendar file an invitation: REQUEST, CANCEL, …
	// (RFC 6047).
	Method string `json:"method,omitempty"`
	// Size in bytes and SHA256 (64 hexadecimal digits) are optional. Content
	// that differs from them refuses the message.
	Size   *int64 `json:"size,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
	// Open yields the content from its beginning each time it is called: once
	// for each try. The content is closed when it was read. One that yields
	// nothing for 30 seconds is given up by the server (ErrRequestTimeout).
	Open func() (io.ReadCloser, error) `json:"-"`
	// Reader yields the content once. A request that failed after something of
	// it was read is not tried again, and fails with an *OnceError. It is not
	// closed, so a Read that waits holds the call also when its context ends.
	Reader io.Reader `json:"-"`
}

// File attaches a file of the disk under its own name, opened anew for each
// try. Its type is guessed from the name's ending.
func File(path string) Attachment {
	name := filepath.Base(path)
	return Attachment{
		Name: name, ContentType: mime.TypeByExtension(filepath.Ext(name)),
		Open: func() (io.ReadCloser, error) { return os.Open(path) },
	}
}

// Bytes attaches content that is in memory.
func Bytes(name, contentType string, content []byte) Attachment {
	size := int64(len(content))
	return Attachment{
		Name: name, ContentType: contentType, Size: &size,
		Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
	}
}

// Once attaches what r yields, which can be read once only: see
// Attachment.Reader. Prefer Open where the content can be had again.
func Once(name, contentType string, r io.Reader) Attachment {
	return Attachment{Name: name, ContentType: contentType, Reader: r}
}

// OnceError: the request was not tried again, since an attachment can be read
// once only and something of it had been read.
type OnceError struct {
	// Attachment is the name of the file.
	Attachment string
	// Err is why the try before failed; nil when the Reader had been read
	// before the first one.
	Err error
}

func (e *OnceError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("attachment %q: its Reader was read before", e.Attachment)
	}
	return fmt.Sprintf("%s (not tried again: the Reader of attachment %q was read)", e.Err, e.Attachment)
}

// Unwrap is why the try before failed.
func (e *OnceError) Unwrap() error { return e.Err }

// source is where an attachment's content comes from, over all tries.
type source struct {
	name   string
	open   func() (io.ReadCloser, error)
	reader io.Reader
	// read: something of reader was read.
	read atomic.Bool
}

// sources checks that each file has exactly one content.
func sources(files []Attachment) ([]*source, error) {
	out := make([]*source, len(files))
	for i, f := range files {
		if (f.Open == nil) == (f.Reader == nil) {
			return nil, fmt.Errorf("attachments[%d]: want either Open or Reader", i)
		}
		out[i] = &source{name: f.Name, open: f.Open, reader: f.Reader}
	}
	return out, nil
}

// ready reports an error when the content cannot be read from its beginning.
func (s *source) ready() error {
	if s.read.Load() {
		return &OnceError{Attachment: s.name}
	}
	return nil
}

func (s *source) content() (io.ReadCloser, error) {
	if s.open == nil {
		return io.NopCloser(&onceReader{s}), nil
	}
	r, err := s.open()
	if err == nil && r == nil {
		return nil, fmt.Errorf("open yielded nothing")
	}
	return r, err
}

// onceReader notes that reading has begun.
type onceReader struct{ s *source }

func (r *onceReader) Read(p []byte) (int, error) {
	r.s.read.Store(true)
	return r.s.reader.Read(p)
}
