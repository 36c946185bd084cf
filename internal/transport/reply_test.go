package transport_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode"
	"unicode/utf8"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/transport"
)

func TestReadReply(t *testing.T) {
	bad, cut := transport.ErrBadReply, io.ErrUnexpectedEOF
	for _, tc := range []struct {
		in       string
		code     int
		enhanced string
		text     string
		err      error
	}{
		{"250 ok\r\n", 250, "", "ok", nil},
		{"250\r\n", 250, "", "", nil},
		{"250 \r\n", 250, "", "", nil},
		{"250 ok\n", 250, "", "ok", nil},
		{"250-one\r\n250-two\r\n250 three\r\n", 250, "", "one\ntwo\nthree", nil},
		{"250-\r\n250\r\n", 250, "", "\n", nil},
		{"550 5.1.1 no such user\r\n", 550, "5.1.1", "no such user", nil},
		{"550-5.7.26 one\r\n550 5.7.26  two\r\n", 550, "5.7.26", "one\ntwo", nil},
		{"550 5.7.515 denied\r\n", 550, "5.7.515", "denied", nil},
		{"550 5.1.1\r\n", 550, "5.1.1", "", nil},
		{"421 5.7.32 no\r\n", 421, "", "5.7.32 no", nil},
		{"250 192.0.2.1 hello\r\n", 250, "", "192.0.2.1 hello", nil},
		{"250 2.0.0.1 hello\r\n", 250, "", "2.0.0.1 hello", nil},
		{"250 2.1 hello\r\n", 250, "", "2.1 hello", nil},
		{"250 2.1234.0 hello\r\n", 250, "", "2.1234.0 hello", nil},
		{"250 2..0 hello\r\n", 250, "", "2..0 hello", nil},
		{"", 0, "", "", io.EOF},
		{"250 ok", 0, "", "", cut},
		{"25", 0, "", "", cut},
		{"250-ok\r\n", 0, "", "", cut},
		{"\r\n", 0, "", "", bad},
		{"25\r\n", 0, "", "", bad},
		{"ok\r\n", 0, "", "", bad},
		{"150 ok\r\n", 0, "", "", bad},
		{"650 ok\r\n", 0, "", "", bad},
		{"2x0 ok\r\n", 0, "", "", bad},
		{"250ok\r\n", 0, "", "", bad},
		{"2500 ok\r\n", 0, "", "", bad},
		{"250-one\r\n251 two\r\n", 0, "", "", bad},
		{"250-one\r\nmore\r\n", 0, "", "", bad},
		{strings.Repeat("250-more\r\n", 10_000), 0, "", "", bad},
		{"250 " + strings.Repeat("x", 100_000) + "\r\n", 0, "", "", bad},
	} {
		for _, r := range []io.Reader{strings.NewReader(tc.in), iotest.OneByteReader(strings.NewReader(tc.in))} {
			got, err := transport.NewReplyReader(r).Read()
			if !errors.Is(err, tc.err) {
				t.Errorf("%.40q: error %v, want %v", tc.in, err, tc.err)
				continue
			}
			if got.Code != tc.code || got.Enhanced.String() != tc.enhanced || got.Text != tc.text {
				t.Errorf("%.40q: got %d %q %q, want %d %q %q", tc.in, got.Code, got.Enhanced, got.Text, tc.code, tc.enhanced, tc.text)
			}
		}
	}
}

// A long line is read to its end: the next reply is still found.
func TestLongReplyKeepsTheOrder(t *testing.T) {
	for _, n := range []int{500, 511, 512, 513, 4090, 4096, 5000, 60_000} {
		r := transport.NewReplyReader(strings.NewReader("451 " + strings.Repeat("x ", n/2) + "\r\n250 next\r\n"))
		first, err := r.Read()
		if err != nil || first.Code != 451 || len(first.Text) > 8<<10 {
			t.Fatalf("%d: %d, %d bytes, %v", n, first.Code, len(first.Text), err)
		}
		second, err := r.Read()
		if err != nil || second.Text != "next" || r.Buffered() != 0 {
			t.Errorf("%d: then %+v, %v", n, second, err)
		}
	}
}

func TestLine(t *testing.T) {
	rcpts := []string{"a@rcv.test", "aa@rcv.test", `"x y"@rcv.test`, "jürgen@rcv.test"}
	for in, want := range map[string]string{
		"550 5.1.1 <A@RCV.test>: no such user\r\n":              "550 5.1.1 <{rcpt}>: no such user",
		"550-5.1.1 one\r\n550 5.1.1 two\r\n":                    "550 5.1.1 one two",
		"250 aa@rcv.test, a@rcv.test\r\n":                       "250 {rcpt}, {rcpt}",
		"250 to <\"x y\"@rcv.test> and jürgen@rcv.test\r\n":     "250 to <{rcpt}> and {rcpt}",
		"250 tab\tnul\x00esc\x1b[31m\u2028next  \r\n":           "250 tab nul esc [31m next",
		"250 bad \xff\xfe utf-8\r\n":                            "250 bad \uFFFD\uFFFD utf-8",
		"250\r\n":                                               "250",
		"250 " + strings.Repeat("é", 500) + "\r\n":              "250 " + strings.Repeat("é", 198),
		"250 " + strings.Repeat("x", 389) + " a@rcv.test\r\n":   "250 " + strings.Repeat("x", 389) + " {rcpt}",
		"250 " + strings.Repeat("x", 394) + " a@rcv.test\r\n":   "250 " + strings.Repeat("x", 394) + " {",
		"250 " + strings.Repeat("x", 4090) + "a@rcv.test\r\n":   "250",
		"250 " + strings.Repeat("y ", 2042) + "aa@rcv.test\r\n": "250 " + strings.TrimSpace(strings.Repeat("y ", 198)),
	} {
		r, err := transport.NewReplyReader(strings.NewReader(in)).Read()
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Line(rcpts); got != want {
			t.Errorf("%.60q\ngot  %q\nwant %q", in, got, want)
		}
	}
}

// Whatever arrives: no panic, bounded memory, and if it is a reply, a class
// that fits its first digit and a text fit to be stored.
func FuzzReply(f *testing.F) {
	for _, s := range []string{
		"250 ok\r\n", "250-a\r\n250 b\r\n", "550 5.1.1 <a@rcv.test> unknown\r\n", "421 5.7.32 no\r\n", "25", "250",
		"250-\r\n", "\xff\xfe\r\n", "452-4.5.3 too\r\n452 4.5.3 many\r\n", "550 sender verify failed\r\n",
	} {
		f.Add([]byte(s), uint8(7), uint8(1))
	}
	f.Fuzz(func(t *testing.T, b []byte, phase, accepted uint8) {
		rd := transport.NewReplyReader(strings.NewReader(string(b)))
		for {
			r, err := rd.Read()
			if err != nil {
				if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, transport.ErrBadReply) {
					t.Fatalf("error %v", err)
				}
				return
			}
			if r.Code < 200 || r.Code > 599 {
				t.Fatalf("code %d", r.Code)
			}
			if e := r.Enhanced; e != (postledger.EnhancedCode{}) && int(e[0]) != r.Code/100 {
				t.Fatalf("enhanced %v with %d", e, r.Code)
			}
			o := transport.Classify(postledger.Phase(phase%11), r, int(accepted), []string{"a@rcv.test"})
			if (o.Class == postledger.OutcomeAccepted) != r.Positive() {
				t.Fatalf("%d became %v", r.Code, o.Class)
			}
			if o.Class == postledger.OutcomeUnknown || o.Class == postledger.OutcomeRefused && r.Code/100 == 4 {
				t.Fatalf("%d became %v", r.Code, o.Class)
			}
			if len(o.Text) > postledger.MaxReplyText || !utf8.ValidString(o.Text) ||
				strings.ContainsFunc(o.Text, unicode.IsControl) || strings.Contains(strings.ToLower(o.Text), "a@rcv.test") {
				t.Fatalf("text %q", o.Text)
			}
		}
	})
}
