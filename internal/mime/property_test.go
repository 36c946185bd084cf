package mime_test

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-message"
	gomail "github.com/emersion/go-message/mail"
	"pgregory.net/rapid"

	"github.com/postledger/postledger/internal/mime"
)

// headerText draws text that a person or a program could put into a header: any valid
// characters, often those with a meaning in some grammar.
func headerText(maxLen int) *rapid.Generator[string] {
	special := rapid.SampledFrom([]rune(`  ",;:<>@()[]\.=?_%'*é日🚲` + "\t\u00a0\u2028\ufeff"))
	plain := rapid.RuneFrom([]rune("abcXYZ019-"))
	anyRune := rapid.Rune().Filter(func(r rune) bool { return r >= ' ' })
	return rapid.StringOfN(rapid.OneOf(special, plain, plain, anyRune), 0, maxLen, -1)
}

func address(names bool) *rapid.Generator[mime.Address] {
	local := rapid.StringMatching(`[a-z0-9!#$%&'*+/=?^_{|}~-]{1,20}(\.[a-zæ山]{1,5})?|"[a-z @,<>()]{1,9}"`)
	domain := rapid.StringMatching(`[a-z0-9]{1,20}(\.xn--[a-z0-9]{1,10})?\.test`)
	return rapid.Custom(func(t *rapid.T) mime.Address {
		a := mime.Address{Addr: local.Draw(t, "local") + "@" + domain.Draw(t, "domain")}
		if names {
			a.Name = headerText(80).Draw(t, "name")
		}
		return a
	})
}

func inputs() *rapid.Generator[*mime.Input] {
	addresses := rapid.SliceOfN(address(true), 0, 6)
	text := rapid.OneOf(
		rapid.StringOfN(rapid.SampledFrom([]rune("ab.= \t\r\né日\x00F")), 0, 400, -1),
		rapid.String(),
		rapid.Just(""),
		rapid.Just(strings.Repeat("From me\r\n.\r\n.. =\r\n--x  \n", 40)),
	)
	return rapid.Custom(func(t *rapid.T) *mime.Input {
		in := &mime.Input{
			From:      address(true).Draw(t, "from"),
			ReplyTo:   addresses.Draw(t, "reply_to"),
			To:        addresses.Draw(t, "to"),
			Cc:        addresses.Draw(t, "cc"),
			Subject:   headerText(300).Draw(t, "subject"),
			MessageID: rapid.StringMatching(`[a-z0-9]{1,60}@[a-z]{1,30}\.test`).Draw(t, "id"),
			Date:      time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "date"), 0),
			Text:      text.Draw(t, "text"),
			HTML:      text.Draw(t, "html"),
			Seed:      rapid.SliceOfN(rapid.Byte(), 1, 32).Draw(t, "seed"),
		}
		for range rapid.IntRange(0, 4).Draw(t, "headers") {
			in.Headers = append(in.Headers, mime.Header{
				Name:  "X-" + rapid.StringMatching(`[a-zA-Z0-9!#~_-]{1,60}`).Draw(t, "name"),
				Value: headerText(1200).Draw(t, "value"),
			})
		}
		for i := range rapid.IntRange(0, 3).Draw(t, "attachments") {
			content := rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "content")
			a := file(headerText(200).Draw(t, "filename"), rapid.SampledFrom([]string{
				"", "image/png", "Text/Plain; charset=iso-8859-1", "text/calendar", "application/x; title*=utf-8''%e2%82%ac%20rates",
				"application/vnd.openxmlformats-officedocument.presentationml.presentation",
				"message/rfc822", `application/x-y; note="a b"; long=` + strings.Repeat("z", 90),
			}).Draw(t, "content_type"), content)
			a.Disposition = mime.Disposition(rapid.IntRange(0, 1).Draw(t, "disposition"))
			if rapid.Bool().Draw(t, "cid") {
				a.ContentID = string(rune('a'+i)) + "@mail.test"
			}
			if a.ContentType == "text/calendar" && rapid.Bool().Draw(t, "invite") {
				a.Method = "REQUEST"
			}
			in.Attachments = append(in.Attachments, a)
		}
		return in
	})
}

// Invariant 10: whatever the input, the bytes are well formed, short-lined and
// the same every time, and two independent parsers read back exactly the input.
func TestEveryMessageReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := inputs().Draw(t, "input")
		b := wire(t, in)
		if again := wire(t, in); !bytes.Equal(again, b) {
			t.Fatalf("composed twice:\n%s\n%s", b, again)
		}
		checkHeader(t, in, b)
		checkStandardLibrary(t, in, b)
		checkGoMessage(t, in, b)
	})
}

func checkHeader(t *rapid.T, in *mime.Input, b []byte) {
	count := map[string]int{}
	for _, line := range rawHeader(b) {
		if strings.TrimSpace(line) == "" {
			t.Fatalf("blank line in the header:\n%s", b)
		}
		if len(line) > 78 && strings.ContainsAny(strings.TrimPrefix(line, " "), " ") && !strings.HasPrefix(line, "X-") && strings.Contains(line, "=?") {
			t.Fatalf("line of %d octets could be folded: %q", len(line), line)
		}
		if strings.Contains(line, "=?UTF-8?") && len(line) > 76 {
			t.Fatalf("line with an encoded-word has %d octets: %q", len(line), line)
		}
		if !isWSP(line[0]) {
			name, _, ok := strings.Cut(line, ":")
			if !ok {
				t.Fatalf("not a field: %q", line)
			}
			count[strings.ToLower(name)]++
		}
	}
	for _, name := range []string{"from", "date", "message-id", "mime-version", "content-type", "auto-submitted"} {
		if count[name] != 1 {
			t.Fatalf("%d fields %s", count[name], name)
		}
		delete(count, name)
	}
	for _, name := range []string{"reply-to", "to", "cc", "subject", "content-transfer-encoding"} {
		if count[name] > 1 {
			t.Fatalf("%d fields %s", count[name], name)
		}
		delete(count, name)
	}
	for name := range count {
		if !strings.HasPrefix(name, "x-") {
			t.Fatalf("field %s from nowhere (invariant 10)", name)
		}
	}
}

func isWSP(c byte) bool { return c == ' ' || c == '\t' }

func checkStandardLibrary(t *rapid.T, in *mime.Input, b []byte) {
	msg := parse(t, b)
	same := func(field string, want []mime.Address) {
		if len(want) == 0 {
			return
		}
		got, err := msg.Header.AddressList(field)
		if err != nil || len(got) != len(want) {
			t.Fatalf("%s: %v %v from %q", field, got, err, msg.Header.Get(field))
		}
		for i, w := range want {
			// The parser gives a quoted local part without its quotes.
			if got[i].Name != w.Name || got[i].Address != strings.ReplaceAll(w.Addr, `"`, "") {
				t.Fatalf("%s %d: got %q %q, want %q %q", field, i, got[i].Name, got[i].Address, w.Name, w.Addr)
			}
		}
	}
	same("From", []mime.Address{in.From})
	same("Reply-To", in.ReplyTo)
	same("To", in.To)
	same("Cc", in.Cc)
	if got := subjectOf(t, msg); got != in.Subject {
		t.Fatalf("subject: got %q, want %q", got, in.Subject)
	}
	if date, err := msg.Header.Date(); err != nil || !date.Equal(in.Date) {
		t.Fatalf("date: %v %v", date, err)
	}
	root := tree(t, msg.Header, msg.Body)
	var leaves []node
	var walk func(node)
	walk = func(n node) {
		if n.children == nil && !strings.HasPrefix(n.kind, "multipart/") {
			leaves = append(leaves, n)
		}
		for _, c := range n.children {
			walk(c)
		}
	}
	walk(root)
	single := len(leaves) == 1 && leaves[0].kind == root.kind
	takeBody := func(kind, want string) {
		if want == "" {
			return
		}
		want = canonical(want)
		if single && !strings.HasSuffix(want, "\r\n") {
			want += "\r\n" // the end of the message
		}
		if len(leaves) == 0 || leaves[0].kind != kind || leaves[0].content != want {
			t.Fatalf("%s: got %q, want %q", kind, leaves, want)
		}
		leaves = leaves[1:]
	}
	takeBody("text/plain", in.Text)
	takeBody("text/html", in.HTML)
	if in.Text == "" && in.HTML == "" && len(in.Attachments) == 0 {
		leaves = leaves[1:]
	}
	for i := range in.Attachments {
		a := &in.Attachments[i]
		r, _ := a.Open()
		want, _ := io.ReadAll(r)
		found := 0
		for _, n := range leaves {
			content, want := n.content, string(want)
			if single {
				content = strings.TrimSuffix(content, "\r\n")
			}
			name := n.fileName()
			if n.kind == "message/rfc822" {
				want = canonical(want)
			}
			if content == want && (name == a.Filename || n.params["method"] != "") {
				found++
			}
		}
		if found == 0 {
			t.Fatalf("attachment %d %q with %q is not in %q", i, a.Filename, want, leaves)
		}
	}
}

func checkGoMessage(t *rapid.T, in *mime.Input, b []byte) {
	r, err := gomail.CreateReader(bytes.NewReader(b))
	if err != nil && !message.IsUnknownCharset(err) {
		t.Fatalf("go-message: %v", err)
	}
	if id, err := r.Header.MessageID(); err != nil || id != in.MessageID {
		t.Fatalf("go-message id: %q %v", id, err)
	}
	if s, err := r.Header.Subject(); err != nil || s != in.Subject {
		t.Fatalf("go-message subject: %q %v, want %q", s, err, in.Subject)
	}
	if list, err := r.Header.AddressList("Cc"); err != nil || len(list) != len(in.Cc) {
		t.Fatalf("go-message cc: %v %v", list, err)
	}
	for _, h := range in.Headers {
		fields := r.Header.FieldsByKey(h.Name)
		found := false
		for fields.Next() {
			text, err := fields.Text()
			found = found || err == nil && text == strings.Trim(h.Value, " \t")
		}
		if !found {
			t.Fatalf("go-message: %s is not %q", h.Name, h.Value)
		}
	}
	for {
		p, err := r.NextPart()
		if err == io.EOF {
			return
		}
		if err != nil && !message.IsUnknownCharset(err) {
			t.Fatalf("go-message part: %v\n%s", err, b)
		}
		if _, err := io.Copy(io.Discard, p.Body); err != nil {
			t.Fatalf("go-message body: %v", err)
		}
	}
}
