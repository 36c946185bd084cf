package smtp_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/transport/transporttest"
)

// chopped writes its bytes in pieces, as a streamed message does.
type chopped struct {
	b    []byte
	cuts []int
}

func (m chopped) Size() int64 { return int64(len(m.b)) }

func (m chopped) WriteTo(w io.Writer) (int64, error) {
	b, total := m.b, int64(0)
	for i := 0; len(b) > 0; i++ {
		k := len(b)
		if len(m.cuts) > 0 {
			k = min(k, m.cuts[i%len(m.cuts)])
		}
		n, err := w.Write(b[:k])
		total += int64(n)
		if err != nil {
			return total, err
		}
		b = b[k:]
	}
	return total, nil
}

// B09: whatever a message holds, the hop reads one message without a bare CR
// or LF, also if something before us let those pass.
func TestNothingCanBeSmuggled(t *testing.T) {
	hop := transporttest.NewHop(t, transporttest.HopConfig{})
	tr := dial(t, hop)
	second := "MAIL FROM:<x@evil.test>\r\nRCPT TO:<y@rcv.test>\r\nDATA\r\nSubject: two\r\n\r\nbeta\r\n.\r\n"
	for _, end := range []string{"\n.\r\n", "\n.\n", "\r.\r", "\r\n.\r", "\r\n.\n", "\r\n.\r\n", "\n\r.\r\n", "\r\r\n.\r\r\n"} {
		before := len(hop.Accepted())
		e := envelope()
		e.Message = transporttest.Bytes("Subject: one\r\n\r\nalfa" + end + second)
		out, _ := send(t, tr, e)
		wantClasses(t, out, postledger.OutcomeAccepted)
		got := hop.Accepted()[before:]
		if len(got) != 1 || got[0].ReturnPath != "bounce@send.test" || !strings.Contains(string(got[0].Data), "beta") {
			t.Errorf("%q: the hop accepted %d messages: %+v", end, len(got), got)
		}
	}
}

// Any bytes, cut anywhere, arrive as lines that end in CRLF, otherwise unchanged.
func TestBodyArrivesAsItIs(t *testing.T) {
	hop := transporttest.NewHop(t, transporttest.HopConfig{})
	tr := dial(t, hop)
	rapid.Check(t, func(rt *rapid.T) {
		lines := rapid.SliceOf(rapid.SampledFrom([]string{"a", "bc", ".", "..", "\r", "\n", "\r\n", "\r\n.", "\r\n.\r\n", strings.Repeat("x", 900)})).Draw(rt, "lines")
		m := chopped{
			b:    []byte("S: x\r\n\r\n" + strings.Join(lines, "")),
			cuts: rapid.SliceOfN(rapid.IntRange(1, 40), 0, 5).Draw(rt, "cuts"),
		}
		if longest(canonical(m.b)) > 998 {
			rt.Skip("the builder of messages keeps lines short")
		}
		e := envelope()
		e.Message = m
		out, _ := send(t, tr, e)
		wantClasses(t, out, postledger.OutcomeAccepted)
		all := hop.Accepted()
		if got, want := all[len(all)-1].Data, canonical(m.b); !bytes.Equal(got, want) {
			rt.Fatalf("sent %q\ngot  %q\nwant %q", m.b, got, want)
		}
	})
}

// canonical is the slow and obvious form of what the transport does.
func canonical(b []byte) []byte {
	s := strings.ReplaceAll(string(b), "\r\n", "\n")
	s = strings.ReplaceAll(s, "\r", "\n")
	if !strings.HasSuffix(s, "\n") {
		s += "\n"
	}
	return []byte(strings.ReplaceAll(s, "\n", "\r\n"))
}

func longest(b []byte) int {
	n := 0
	for line := range bytes.SplitSeq(b, []byte("\r\n")) {
		n = max(n, len(line))
	}
	return n
}
