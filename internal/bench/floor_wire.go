package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net"

	"github.com/postledger/postledger/internal/mime"
)

// floorWire is one SMTP connection that nothing ever goes wrong on: MAIL, RCPT
// and DATA in one write, the message in another.
type floorWire struct {
	conn net.Conn
	in   *bufio.Reader
	out  bytes.Buffer
}

func dialFloor(addr string) *floorWire {
	c, err := net.Dial("tcp", addr)
	must(err)
	w := &floorWire{conn: c, in: bufio.NewReader(c)}
	w.expect("220")
	w.write("EHLO bench.example\r\n")
	w.expect("250")
	return w
}

func (w *floorWire) write(s string) {
	_, err := w.conn.Write([]byte(s))
	must(err)
}

// expect reads one reply.
func (w *floorWire) expect(code string) {
	for {
		line, err := w.in.ReadSlice('\n')
		must(err)
		if !bytes.HasPrefix(line, []byte(code)) {
			panic(fmt.Sprintf("want %s, got %q", code, line))
		}
		if line[3] != '-' {
			return
		}
	}
}

func (w *floorWire) send(to string, m *mime.Message) {
	w.write("MAIL FROM:<" + from + ">\r\nRCPT TO:<" + to + ">\r\nDATA\r\n")
	w.out.Reset()
	_, err := m.WriteTo(&w.out)
	must(err)
	body := w.out.Bytes()
	if body[0] == '.' || bytes.Contains(body, []byte("\n.")) {
		panic("the bench's messages have no line that begins with a dot")
	}
	w.out.WriteString(".\r\n")
	w.expect("250")
	w.expect("250")
	w.expect("354")
	_, err = w.conn.Write(w.out.Bytes())
	must(err)
	w.expect("250")
}

func (w *floorWire) close() {
	w.write("QUIT\r\n")
	w.conn.Close()
}
