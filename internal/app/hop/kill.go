package hop

import (
	"bytes"
	"context"
	"net"
)

// KillAt makes connections that call kill at points of an SMTP transaction, in
// tests of crashes only: right after the bytes of a command were handed to the
// kernel, so that the next hop has them when the process is gone.
func (f *Factory) KillAt(kill func(point string)) { f.kill = kill }

func (f *Factory) dial() func(ctx context.Context, network, address string) (net.Conn, error) {
	if f.kill == nil {
		return nil // the transport's own
	}
	var d net.Dialer
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := d.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &killConn{Conn: c, kill: f.kill}, nil
	}
}

// killConn reads what is written in plain text. Connections under TLS pass no
// point: their bytes say nothing here.
type killConn struct {
	net.Conn
	kill func(point string)
	body bool
}

func (c *killConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if err != nil {
		return n, err
	}
	ends := bytes.HasSuffix(b, []byte("\r\n.\r\n")) || bytes.Equal(b, []byte(".\r\n"))
	switch {
	case c.body && ends:
		c.body = false
		c.kill("wire_after_dot")
	case c.body:
		c.kill("wire_body")
	default:
		// Commands may be pipelined: several stand in one write.
		for _, p := range []struct{ command, point string }{
			{"MAIL FROM:", "wire_mail"}, {"RCPT TO:", "wire_rcpt"}, {"DATA\r\n", "wire_data"},
		} {
			if bytes.Contains(b, []byte(p.command)) {
				c.kill(p.point)
			}
		}
		c.body = bytes.HasSuffix(b, []byte("DATA\r\n"))
	}
	return n, nil
}
