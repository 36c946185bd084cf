package doctor_test

import (
	"context"
	"net"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// zone is what a name server knows.
type zone struct {
	txt map[string]string
	mx  map[string]string
}

// resolver starts a name server and returns a resolver that asks it.
func (z zone) resolver(t *testing.T) *net.Resolver {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() {
		server.Close()
		<-done
	})
	go func() {
		defer close(done)
		buf := make([]byte, 4096)
		for {
			n, from, err := server.ReadFrom(buf)
			if err != nil {
				return
			}
			if out := z.answer(buf[:n]); out != nil {
				server.WriteTo(out, from) //nolint:errcheck // the resolver asks again
			}
		}
	}()
	return to(server.LocalAddr().String())
}

// to is a resolver that asks the server at an address only.
func to(addr string) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", addr)
	}}
}

func (z zone) answer(question []byte) []byte {
	var m dnsmessage.Message
	if m.Unpack(question) != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	m.Response, m.Additionals = true, nil
	name := q.Name.String()
	h := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 1}
	var body dnsmessage.ResourceBody
	if text, ok := z.txt[name]; ok && q.Type == dnsmessage.TypeTXT {
		var parts []string
		for ; len(text) > 200; text = text[200:] {
			parts = append(parts, text[:200])
		}
		body = &dnsmessage.TXTResource{TXT: append(parts, text)}
	}
	if host, ok := z.mx[name]; ok && q.Type == dnsmessage.TypeMX {
		body = &dnsmessage.MXResource{MX: dnsmessage.MustNewName(host)}
	}
	if body == nil {
		m.RCode = dnsmessage.RCodeNameError
	} else {
		m.Answers = []dnsmessage.Resource{{Header: h, Body: body}}
	}
	out, err := m.Pack()
	if err != nil {
		return nil
	}
	return out
}
