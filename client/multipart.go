package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/textproto"
	"strings"
	"sync"
)

// multipartContent is a multipart/form-data body (RFC 7578) that is made while
// it is read: the part "message" first, then a part "attachment" for each file,
// in the order of the message. It holds one part's head in memory and one file
// open.
type multipartContent struct {
	ctype string
	// left are the parts that follow: heads in memory, and files. closing ends
	// the body.
	left []piece

	mu      sync.Mutex
	now     io.Reader
	file    io.Closer // of now, when it is a file's content
	reading bool
	closed  bool
	err     error         // the content's own failure
	idle    chan struct{} // closed when nobody reads it any more
}

// piece is text, or the content of a file.
type piece struct {
	text []byte
	file *source
}

// newMultipart makes the body of one try.
func newMultipart(message []byte, files []Attachment, from []*source) (*multipartContent, error) {
	for _, s := range from {
		if err := s.ready(); err != nil {
			return nil, err
		}
	}
	var text bytes.Buffer
	w := multipart.NewWriter(&text)
	m := &multipartContent{ctype: w.FormDataContentType(), idle: make(chan struct{})}
	cut := func(then *source) {
		m.left = append(m.left, piece{text: bytes.Clone(text.Bytes())})
		text.Reset()
		if then != nil {
			m.left = append(m.left, piece{file: then})
		}
	}
	h := textproto.MIMEHeader{}
	h.Set("Content-Disposition", `form-data; name="message"`)
	h.Set("Content-Type", "application/json")
	part, err := w.CreatePart(h)
	if err == nil {
		_, err = part.Write(message)
	}
	for i, s := range from {
		if err != nil {
			break
		}
		h := textproto.MIMEHeader{}
		// What the file is called, and its type, are in the message.
		h.Set("Content-Disposition", fmt.Sprintf(`form-data; name="attachment"; filename="%d"`, i))
		h.Set("Content-Type", partType(files[i].ContentType))
		_, err = w.CreatePart(h)
		cut(s)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("write multipart body: %w", err)
	}
	cut(nil)
	return m, nil
}

// partType keeps a type out of the head that would break it; the server says
// what is wrong with it.
func partType(t string) string {
	if t == "" || strings.ContainsFunc(t, func(r rune) bool { return r < ' ' || r >= 0x7f }) {
		return "application/octet-stream"
	}
	return t
}

func (m *multipartContent) contentType() string { return m.ctype }

func (m *multipartContent) length() int64 { return -1 }

var errClosed = errors.New("the body was closed")

// Read may be called by one goroutine and Close by another, as net/http does
// when a request is given up.
func (m *multipartContent) Read(p []byte) (int, error) {
	for {
		r, err := m.begin()
		if err != nil {
			return 0, err
		}
		n, err := r.Read(p)
		if err = m.done(err); n > 0 || err != nil {
			return n, err
		}
	}
}

// begin opens the next piece, if need be, and marks the content as being read.
func (m *multipartContent) begin() (io.Reader, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.closed:
		return nil, errClosed
	case m.err != nil:
		return nil, m.err
	case m.now == nil && len(m.left) == 0:
		return nil, io.EOF
	}
	if m.now == nil {
		next := m.left[0]
		m.left = m.left[1:]
		m.now = bytes.NewReader(next.text)
		if next.file != nil {
			rc, err := next.file.content()
			if err != nil {
				m.err = fmt.Errorf("open attachment %q: %w", next.file.name, err)
				return nil, m.err
			}
			m.now, m.file = named{rc, next.file.name}, rc
		}
	}
	m.reading = true
	return m.now, nil
}

// done takes the result of a read; the end of a piece is not that of the body.
func (m *multipartContent) done(err error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reading = false
	switch {
	case errors.Is(err, io.EOF):
		err = m.closeFile()
		m.now = nil
	case err != nil && m.closed:
		err = errClosed
	}
	if err != nil && !m.closed {
		m.err = err
	}
	if m.closed {
		m.rest()
	}
	return err
}

func (m *multipartContent) closeFile() error {
	if m.file == nil {
		return nil
	}
	f := m.file
	m.file = nil
	if err := f.Close(); err != nil {
		return fmt.Errorf("close attachment: %w", err)
	}
	return nil
}

// Close ends the body. A file that is being read is closed under its reader:
// that is what wakes one that waits for a pipe.
func (m *multipartContent) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil
	}
	m.closed = true
	err := m.closeFile()
	if !m.reading {
		m.rest()
	}
	return err
}

func (m *multipartContent) rest() {
	select {
	case <-m.idle:
	default:
		close(m.idle)
	}
}

// settle closes the body first: with an answer in hand, net/http leaves that to
// a read in progress, which may wait for ever.
func (m *multipartContent) settle(ctx context.Context) error {
	closing := m.Close()
	select {
	case <-m.idle:
	case <-ctx.Done():
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return m.err
	}
	return closing
}

// named says which file could not be read.
type named struct {
	io.Reader
	name string
}

func (n named) Read(p []byte) (int, error) {
	k, err := n.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("read attachment %q: %w", n.name, err)
	}
	return k, err
}
