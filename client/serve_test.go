package client_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/postledger/postledger/client"
)

const testKey = "pl_test_0123456789"

var testTime = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// quick repeats without pauses that a person would notice.
func quick(tries int) client.Option {
	return client.WithRetry(client.Retry{Tries: tries, Base: time.Microsecond, Most: time.Microsecond, Patience: time.Minute})
}

// serve starts a server and makes a client of it.
func serve(t *testing.T, h http.HandlerFunc, opts ...client.Option) *client.Client {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return dial(t, srv.URL, testKey, append([]client.Option{quick(6)}, opts...)...)
}

func dial(t *testing.T, url, key string, opts ...client.Option) *client.Client {
	t.Helper()
	c, err := client.New(url, key, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// bubble is a server whose connections are in memory, so that client and server
// share the fake clock of a synctest bubble.
func bubble(t *testing.T, h http.HandlerFunc, opts ...client.Option) *client.Client {
	t.Helper()
	l := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	srv := &http.Server{Handler: h}
	var served sync.WaitGroup
	served.Go(func() { srv.Serve(l) })
	tr := &http.Transport{DialContext: l.dial, ExpectContinueTimeout: time.Second}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		srv.Close()
		served.Wait()
	})
	return dial(t, "http://in-memory", testKey, append(opts, client.WithHTTPClient(&http.Client{Transport: tr}))...)
}

type pipes struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.conns <- far:
		return near, nil
	case <-p.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes", Net: "unix"} }

// answer writes JSON.
func answer(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write([]byte(text))
}

// refuse writes a problem document.
func refuse(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	w.Write([]byte(text))
}
