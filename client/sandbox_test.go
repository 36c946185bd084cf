package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/client"
)

var someID = postledger.ID{1}

// The end of a broken answer must not pass for the end of the mail.
func TestStreamThatBreaksOff(t *testing.T) {
	t.Parallel()
	c := serve(t, cut("HTTP/1.1 200 OK\r\nContent-Type: message/rfc822\r\nContent-Length: 100\r\n\r\nSubject: half"))
	r, err := c.SandboxMail(t.Context(), someID, someID)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if text, err := io.ReadAll(r); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("read %q, %v", text, err)
	}
}

// Reading is not bounded as a whole, standing still is.
func TestStreamThatStalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := bubble(t, func(w http.ResponseWriter, r *http.Request) {
			for range 10 {
				io.WriteString(w, "line\r\n")
				w.(http.Flusher).Flush()
				<-time.After(8 * time.Second)
			}
			<-r.Context().Done()
		}, client.WithStall(10*time.Second))
		r, err := c.SandboxMail(t.Context(), someID, someID)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		text, err := io.ReadAll(r)
		if strings.Count(string(text), "line") != 10 || err == nil || !strings.Contains(err.Error(), "nothing moved") {
			t.Errorf("read %q, %v", text, err)
		}
	})
}

// A caller that takes its time does not make the server a slow one.
func TestStreamThatIsTakenSlowly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := bubble(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "line one, line two") }, client.WithStall(10*time.Second))
		r, err := c.SandboxMail(t.Context(), someID, someID)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		var got []byte
		for b := make([]byte, 9); err == nil; {
			<-time.After(time.Minute)
			var n int
			n, err = r.Read(b)
			got = append(got, b[:n]...)
		}
		if string(got) != "line one, line two" || !errors.Is(err, io.EOF) {
			t.Errorf("read %q, %v", got, err)
		}
	})
}

func TestStreamEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := bubble(t, func(w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r, err := c.SandboxMail(ctx, someID, someID)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(r); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		r.Close()
	})
}
