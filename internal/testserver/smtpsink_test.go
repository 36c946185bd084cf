package testserver_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/smtp"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/postledger/postledger/internal/testserver"
)

func TestSMTPSinkAcceptsAndKeepsMail(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	addr := testserver.SMTPSink(t, "-d", filepath.Join(dir, "mail."))
	err := smtp.SendMail(addr, nil, "from@example.org", []string{"to@example.org"}, []byte("Subject: hello\r\n\r\nbody\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "mail.*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the sink kept %d files (%v), want 1", len(files), err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), "Subject: hello") {
		t.Errorf("the kept message lacks its subject:\n%s", data)
	}
}

func TestSMTPSinkDropsAfterTheFinalDot(t *testing.T) {
	t.Parallel()
	addr := testserver.SMTPSink(t, "-q", ".")
	err := smtp.SendMail(addr, nil, "from@example.org", []string{"to@example.org"}, []byte("Subject: x\r\n\r\nbody\r\n"))
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("got %v, want the connection to end without a reply", err)
	}
}

func TestSMTPSinkRefusesRecipients(t *testing.T) {
	t.Parallel()
	addr := testserver.SMTPSink(t, "-f", "RCPT")
	err := smtp.SendMail(addr, nil, "from@example.org", []string{"to@example.org"}, []byte("\r\n"))
	var reply *textproto.Error
	if !errors.As(err, &reply) || reply.Code/100 != 5 {
		t.Fatalf("got %v, want a permanent refusal", err)
	}
}

func TestSMTPSinkEndsWithItsTest(t *testing.T) {
	t.Parallel()
	var addr string
	t.Run("user", func(t *testing.T) {
		addr = testserver.SMTPSink(t)
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.HasPrefix(line, "220 ") {
			t.Fatalf("greeting %q, %v", line, err)
		}
	})
	if conn, err := net.Dial("tcp", addr); err == nil {
		conn.Close()
		t.Fatal("the sink outlived its test")
	}
}
