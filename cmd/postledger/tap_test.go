package main_test

import (
	"bytes"
	"encoding/base64"
	"io"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	"strings"
	"sync"
	"testing"
)

// tap stands between a client and a server and keeps what the client writes.
type tap struct {
	addr string

	mu      sync.Mutex
	streams []*bytes.Buffer // one a connection
}

func newTap(t *testing.T, target string) *tap {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &tap{addr: ln.Addr().String()}
	var running sync.WaitGroup
	var conns []net.Conn // grown by the accepting goroutine only
	running.Go(func() {
		var links sync.WaitGroup
		for {
			from, err := ln.Accept()
			if err != nil {
				break
			}
			to, err := net.Dial("tcp", target)
			if err != nil {
				t.Errorf("tap: %v", err)
				from.Close()
				break
			}
			conns = append(conns, from, to)
			w := p.stream()
			links.Go(func() { _, _ = io.Copy(io.MultiWriter(w, to), from); to.Close() })
			links.Go(func() { _, _ = io.Copy(from, to); from.Close() })
		}
		for _, c := range conns {
			c.Close()
		}
		links.Wait()
	})
	t.Cleanup(func() { ln.Close(); running.Wait() })
	return p
}

// stream is where a connection's bytes go.
func (p *tap) stream() io.Writer {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := new(bytes.Buffer)
	p.streams = append(p.streams, b)
	return writer(func(text []byte) (int, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		return b.Write(text)
	})
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

// wire is what all connections have written, one after the other.
func (p *tap) wire() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all strings.Builder
	for _, b := range p.streams {
		all.Write(b.Bytes())
	}
	return all.String()
}

// decoded is a part's content without its transfer encoding.
func decoded(part *multipart.Part) io.Reader {
	switch strings.ToLower(part.Header.Get("Content-Transfer-Encoding")) {
	case "base64":
		return base64.NewDecoder(base64.StdEncoding, part)
	case "quoted-printable":
		return quotedprintable.NewReader(part)
	default:
		return part
	}
}
