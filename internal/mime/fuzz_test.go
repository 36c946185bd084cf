package mime_test

import (
	"errors"
	"io"
	stdmime "mime"
	"mime/quotedprintable"
	"net/mail"
	"strings"
	"testing"

	"github.com/postledger/postledger/internal/mime"
)

// fuzzed composes in and returns nil bytes if the input was refused, which must
// be a FieldError.
func fuzzed(t *testing.T, in *mime.Input) []byte {
	t.Helper()
	m, err := mime.Compose(in)
	if err != nil {
		var fe *mime.FieldError
		if !errors.As(err, &fe) {
			t.Fatalf("refused with %v", err)
		}
		return nil
	}
	m.Release()
	return wire(t, in)
}

// FuzzHeaderText: what is not refused comes back exactly, as subject, display
// name and custom field, in lines that are short.
func FuzzHeaderText(f *testing.F) {
	for _, s := range []string{
		"", "plain", " é ", "=?UTF-8?Q?=41?=", "a\r\nb", "\"quoted\" \\", "x  y", strings.Repeat("🚲", 60),
		strings.Repeat("a ", 200), strings.Repeat("z", 1200), "\t", "a,b;c:<d>", "\x7f", "\xff", "=?", "?=",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		in := minimal()
		in.Subject = s
		in.From.Name = s
		in.Headers = []mime.Header{{Name: "X-Text", Value: s}}
		b := fuzzed(t, in)
		if b == nil {
			return
		}
		for _, line := range longLines(b) {
			// Only a word of a custom field may be longer: it is not taken apart.
			if strings.Contains(line, "=?") || !strings.Contains(s, strings.TrimPrefix(strings.TrimSpace(line), "X-Text: ")) {
				t.Errorf("line of %d octets: %q", len(line), line)
			}
		}
		msg := parse(t, b)
		if got := subjectOf(t, msg); got != s {
			t.Errorf("subject: got %q, want %q", got, s)
		}
		if from, err := mail.ParseAddress(msg.Header.Get("From")); err != nil || from.Name != s || from.Address != in.From.Addr {
			t.Errorf("from: got %v %v, want %q", from, err, s)
		}
		got, err := new(stdmime.WordDecoder).DecodeHeader(msg.Header.Get("X-Text"))
		if want := strings.Trim(s, " \t"); err != nil || got != want {
			t.Errorf("custom: got %q %v, want %q", got, err, want)
		}
	})
}

// FuzzAddress: an address that is not refused is the one that is read back.
func FuzzAddress(f *testing.F) {
	for _, s := range []string{
		"a@b.test", "a@b@c", `"a b"@c.test`, `"a\"b"@c`, "æ@c.test", "a@[192.0.2.1]", "a@[IPv6:2001:db8::1]",
		"a.@b", "<a@b>", "a@b>", "a,b@c", "a@b\r\nX: 1", "a@b c", `"@"@b`, "a@é",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		in := minimal()
		in.To = []mime.Address{{Addr: s}, {Name: "Name", Addr: s}}
		b := fuzzed(t, in)
		if b == nil {
			return
		}
		list, err := parse(t, b).Header.AddressList("To")
		if err != nil || len(list) != 2 {
			// The parser of the standard library knows no address literals.
			if strings.HasSuffix(s, "]") {
				return
			}
			t.Fatalf("%q: %v %v", s, list, err)
		}
		want, err := mail.ParseAddress(s)
		if err != nil || list[0].Address != want.Address || list[1].Address != want.Address {
			t.Errorf("got %q %q, want %q", list[0].Address, list[1].Address, s)
		}
	})
}

// FuzzFileName: the exact name comes back, and its fallback is short ASCII.
func FuzzFileName(f *testing.F) {
	for _, s := range []string{
		"a.txt", "é.pdf", strings.Repeat("long ", 50), `"`, `\`, "%41", "'", "''", "a;b", "a*0", " x ", "=?", ".", "..",
		"\u202efdp.exe", strings.Repeat("é", 200) + ".pdf", "a\tb", "x\r\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		in := minimal()
		in.Attachments = []mime.Attachment{file(name, "application/pdf", []byte("x"))}
		b := fuzzed(t, in)
		if b == nil || name == "" {
			return
		}
		for _, line := range strings.Split(string(b), "\r\n") {
			if len(line) > 78 {
				t.Errorf("line of %d octets: %q", len(line), line)
			}
		}
		part := parts(t, b).children[1]
		_, params, err := stdmime.ParseMediaType(part.header["Content-Disposition"][0])
		if err != nil || params["filename"] != name {
			t.Errorf("got %q, %v, want %q", params["filename"], err, name)
		}
		for _, c := range []byte(part.params["name"]) {
			if c < ' ' || c > '~' || len(part.params["name"]) > 60 {
				t.Errorf("fallback %q", part.params["name"])
			}
		}
	})
}

// FuzzQuotedPrintable: another decoder gives back the text with CRLF line ends,
// and no encoded line is over 76 or ends in a blank.
func FuzzQuotedPrintable(f *testing.F) {
	for _, s := range []string{
		"", "a", "a \n", " ", "\t", "=", "==", ".", "..\n.", "From x\nFrom y", "\r", "\n", "\r\r\n\n", "é",
		strings.Repeat("x", 74) + " ", strings.Repeat("x", 75) + " ", strings.Repeat("x", 76) + " \n", "\x00\x7f",
		strings.Repeat("x", 75) + ".", strings.Repeat("x", 75) + "From y", strings.Repeat("é", 40), strings.Repeat(" ", 200),
		strings.Repeat("abcdefgh", 9) + "\t\t\t\t", strings.Repeat("y", 73) + "=", strings.Repeat("y", 72) + "=",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		in := minimal()
		in.Text, in.HTML = s+"x", "y" // an empty text would be no part
		b := fuzzed(t, in)
		if b == nil {
			return
		}
		_, rest, _ := strings.Cut(string(b), "quoted-printable\r\n\r\n")
		encoded, _, _ := strings.Cut(rest, "\r\n--=_")
		for _, line := range strings.Split(encoded, "\r\n") {
			if len(line) > 76 || strings.TrimRight(line, " \t") != line || strings.HasPrefix(line, ".") || strings.HasPrefix(line, "From ") {
				t.Errorf("encoded line %q", line)
			}
		}
		got, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(encoded)))
		if err != nil || string(got) != canonical(s+"x") {
			t.Errorf("got %q %v, want %q", got, err, canonical(s+"x"))
		}
	})
}
