package mime_test

import (
	stdmime "mime"
	"net/mail"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/postledger/postledger/internal/mime"
)

// B01: a line break in any value that reaches the header is refused; none can
// make a field of its own.
func TestB01HeaderInjection(t *testing.T) {
	for _, bad := range []string{"\r\nX-Inject: 1", "\nX-Inject: 1", "\rX-Inject: 1", "\x00", "\r\n\r\nbody"} {
		for name, change := range map[string]func(*mime.Input){
			"from.name":           func(in *mime.Input) { in.From.Name += bad },
			"from.address":        func(in *mime.Input) { in.From.Addr += bad },
			"reply_to[0].name":    func(in *mime.Input) { in.ReplyTo = []mime.Address{{Name: "Desk" + bad, Addr: "d@a.test"}} },
			"reply_to[0].address": func(in *mime.Input) { in.ReplyTo = []mime.Address{{Name: "Desk", Addr: "d@a.test" + bad}} },
			"to[0].address":       func(in *mime.Input) { in.To[0].Addr = "x" + bad + "@a.test" },
			"cc[0].address":       func(in *mime.Input) { in.Cc = []mime.Address{{Addr: `"x` + bad + `"@a.test`}} },
			"subject":             func(in *mime.Input) { in.Subject += bad + "Bcc: mallory@a.test" },
			"message_id":          func(in *mime.Input) { in.MessageID = "<x" + bad + "@a.test>" },
			"headers[0].name":     func(in *mime.Input) { in.Headers = []mime.Header{{Name: "X-Ref" + bad, Value: "7"}} },
			"headers[0].value":    func(in *mime.Input) { in.Headers = []mime.Header{{Name: "X-Ref", Value: "7" + bad}} },
			"added[0].value":      func(in *mime.Input) { in.Added = []mime.Header{{Name: "Feedback-ID", Value: "7" + bad}} },
			"attachments[0].filename": func(in *mime.Input) {
				in.Attachments = []mime.Attachment{file("a"+bad, "", nil)}
			},
			"attachments[0].content_type": func(in *mime.Input) {
				in.Attachments = []mime.Attachment{file("a", "text/plain; charset=x"+bad, nil)}
			},
			"attachments[0].content_id": func(in *mime.Input) {
				a := file("a", "", nil)
				a.ContentID = "a" + bad
				in.Attachments = []mime.Attachment{a}
			},
		} {
			in := minimal()
			change(in)
			_, err := mime.Compose(in)
			if err == nil || !strings.HasPrefix(err.Error(), name+": ") {
				t.Errorf("%s with %q: got %v", name, bad, err)
			}
		}
	}
}

// B02: of an address only the name is encoded.
func TestB02DisplayName(t *testing.T) {
	for _, name := range []string{
		"Søren Ærlig", "Zoë", "山田 太郎", strings.Repeat("Ünïcödé ", 20) + "x", "a\tb", "=?UTF-8?Q?x?=",
		"Holt, Mira", `Mira "Mimi" Holt`, `back\slash`, "J. R. Holt", "two  spaces", " edge ", "me@mail.test",
		strings.Repeat("abcdefghij", 25), "O'Neil (Ops) <root>", "Ops\x7f",
	} {
		in := minimal()
		a := mime.Address{Name: name, Addr: "soren@send.test"}
		in.From, in.ReplyTo, in.To, in.Cc = a, []mime.Address{a}, []mime.Address{a, a, a}, []mime.Address{a}
		b := wire(t, in)
		if long := longLines(b); long != nil {
			t.Errorf("%q: long lines %q", name, long)
		}
		msg := parse(t, b)
		for _, field := range []string{"From", "Reply-To", "To", "Cc"} {
			if !strings.Contains(msg.Header.Get(field), "<soren@send.test>") {
				t.Errorf("%s: the address is not bare in %q", field, msg.Header.Get(field))
			}
			list, err := mail.ParseAddressList(msg.Header.Get(field))
			if err != nil {
				t.Errorf("%s of %q: %v", field, name, err)
				continue
			}
			for _, got := range list {
				if got.Name != name || got.Address != a.Addr {
					t.Errorf("%s: got %q %q, want %q", field, got.Name, got.Address, name)
				}
			}
		}
	}
}

// B04: encoded-words hold whole characters and lose nothing.
func TestB04Subject(t *testing.T) {
	for _, subject := range []string{
		strings.Repeat("🛶", 41), strings.Repeat("Généalogie ", 18), strings.Repeat("日本語のお知らせ", 12),
		" leading", "trailing ", "two  spaces and é", strings.Repeat("x", 300), "tab\there", "plain",
		strings.Repeat("word ", 60) + "end", "=?UTF-8?B?eA==?=", "a =?b", strings.Repeat("é", 499), " ", "\t",
		strings.Repeat("e\u0301", 60), "x\u2028y", strings.Repeat("y", 67) + " z",
	} {
		in := minimal()
		in.Subject = subject
		b := wire(t, in)
		if long := longLines(b); long != nil {
			t.Errorf("%.20q: long lines %q", subject, long)
		}
		msg := parse(t, b)
		raw := msg.Header.Get("Subject")
		for _, word := range strings.Fields(raw) {
			if !strings.HasPrefix(word, "=?") {
				continue
			}
			dec, err := new(stdmime.WordDecoder).Decode(word)
			if err != nil || !utf8.ValidString(dec) || len(word) > 75 {
				t.Errorf("word %q of %d octets: %q, %v", word, len(word), dec, err)
			}
		}
		if got := subjectOf(t, msg); got != subject {
			t.Errorf("got %q, want %q", got, subject)
		}
	}
}

// B08: no line of a body is long on the wire, whatever it is in the content.
func TestB08LongLines(t *testing.T) {
	in := minimal()
	in.Text = strings.Repeat("q9", 3000)
	in.HTML = "<table><tr>" + strings.Repeat("<td>husleie og strøm ", 120) + "</table>"
	b := wire(t, in)
	for _, line := range strings.Split(string(b), "\r\n") {
		if len(line) > 78 {
			t.Errorf("line of %d octets: %.40q", len(line), line)
		}
	}
	root := parts(t, b)
	if root.children[0].content != in.Text || root.children[1].content != in.HTML {
		t.Error("content changed")
	}
}

// B10: file names are RFC 2231, so that every reader gets the exact name.
func TestB10FileName(t *testing.T) {
	for name, fallback := range map[string]string{
		"simple.pdf":                       "simple.pdf",
		"with space.pdf":                   "with space.pdf",
		"Økonomi – tredje kvartal.pdf":     "_konomi _ tredje kvartal.pdf",
		"請求書.xlsx":                         "___.xlsx",
		`quo"te.txt`:                       "quo_te.txt",
		`back\slash.txt`:                   "back_slash.txt",
		"per%cent.txt":                     "per_cent.txt",
		"=?UTF-8?Q?x?=.txt":                "__UTF-8_Q_x__.txt",
		"semi;colon.txt":                   "semi;colon.txt",
		"a/../b.txt":                       "a/../b.txt",
		" lead.txt":                        "_lead.txt",
		"trail ":                           "trail_",
		"'quote'.txt":                      "'quote'.txt",
		strings.Repeat("long-name-", 18):   strings.Repeat("long-name-", 6),
		strings.Repeat("ø", 176) + ".tar":  strings.Repeat("_", 56) + ".tar",
		strings.Repeat("🎻 ", 40) + ".flac": strings.Repeat("_ ", 27) + "_.flac",
		"tab\t.txt":                        "tab_.txt",
	} {
		in := minimal()
		in.Attachments = []mime.Attachment{file(name, "application/pdf", []byte("x"))}
		b := wire(t, in)
		for _, line := range strings.Split(string(b), "\r\n") {
			if len(line) > 78 {
				t.Errorf("%q: line of %d octets: %q", name, len(line), line)
			}
		}
		part := parts(t, b).children[1]
		_, params, err := stdmime.ParseMediaType(part.header["Content-Disposition"][0])
		if err != nil || params["filename"] != name || part.params["name"] != fallback {
			t.Errorf("%q: got %q and fallback %q, %v", name, params["filename"], part.params["name"], err)
		}
	}
}

// B14: a Message-ID has two sides or is refused.
func TestB14MessageID(t *testing.T) {
	for _, bad := range []string{"", "xyz", "x@", "@x", "<x@>", "<x@y@z>", "x y@z", "<x@y", "x@y>", "x..y@z", "x@y.", "x@é.test", "<<x@y>>", "x@[y z]", `"x"@y`} {
		in := minimal()
		in.MessageID = bad
		if _, err := mime.Compose(in); err == nil {
			t.Errorf("%q was accepted", bad)
		}
		if mime.CheckMessageID(bad) == nil {
			t.Errorf("%q passes the check", bad)
		}
	}
	for _, good := range []string{"x@y", "<x@y>", "a.b+c=d@mail.example.test", "x@[192.0.2.1]", strings.Repeat("x", 300) + "@y.test"} {
		in := minimal()
		in.MessageID = good
		ids := parse(t, wire(t, in)).Header["Message-Id"]
		if want := "<" + strings.Trim(good, "<>") + ">"; len(ids) != 1 || ids[0] != want {
			t.Errorf("%q became %q", good, ids)
		}
	}
}

// B15: the date has four digits for the year, seconds and a numeric zone.
func TestB15Date(t *testing.T) {
	in := minimal()
	in.Date = time.Date(2027, 11, 3, 4, 5, 6, 7, time.FixedZone("", -3600))
	if got := parse(t, wire(t, in)).Header["Date"]; len(got) != 1 || got[0] != "Wed, 03 Nov 2027 05:05:06 +0000" {
		t.Errorf("got %q", got)
	}
}
