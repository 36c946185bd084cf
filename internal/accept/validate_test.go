package accept_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/accept"
)

// decode reads a request as the API does.
func decode(tb testing.TB, text string) *accept.Request {
	tb.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	r := new(accept.Request)
	if err := d.Decode(r); err != nil {
		tb.Fatalf("decode %s: %v", text, err)
	}
	return r
}

// good is a request that breaks no rule.
func good() *accept.Request {
	return &accept.Request{
		To:      []accept.Recipient{{Address: "mira@rcv.test", Name: "Mira Holt"}},
		Subject: "Week 12",
		Text:    "Hello.\n",
	}
}

func TestCheckAccepts(t *testing.T) {
	t.Parallel()
	long := func(n int) string { return strings.Repeat("a", n) }
	tests := map[string]func(*accept.Request){
		"plain":                 func(*accept.Request) {},
		"bcc only":              func(r *accept.Request) { r.Bcc, r.To = r.To, nil },
		"html only":             func(r *accept.Request) { r.Text, r.HTML = "", "<p>Hello</p>" },
		"no subject":            func(r *accept.Request) { r.Subject = "" },
		"longest subject":       func(r *accept.Request) { r.Subject = long(998) },
		"tab in subject":        func(r *accept.Request) { r.Subject = "a\tb" },
		"fifty recipients":      func(r *accept.Request) { r.To = crowd(50) },
		"largest bodies":        func(r *accept.Request) { r.Text, r.HTML = long(5<<20), long(5<<20) },
		"fifty headers":         func(r *accept.Request) { r.Headers = fields(50) },
		"own threads":           func(r *accept.Request) { r.Headers = header("References", "<a@b.test> <c@d.test>") },
		"longest key":           func(r *accept.Request) { r.Key = long(255) },
		"longest name":          func(r *accept.Request) { r.To[0].Name = long(255) },
		"non-ASCII name":        func(r *accept.Request) { r.FromName = "Åse Brønstad" },
		"non-ASCII mailbox":     func(r *accept.Request) { r.To[0].Address = "åse@bücher.test" },
		"own message id":        func(r *accept.Request) { r.MessageID = "<week-12.7@send.test>" },
		"own bare message id":   func(r *accept.Request) { r.MessageID = "week-12.7@send.test" },
		"bulk":                  func(r *accept.Request) { r.Lane = postledger.LaneBulk },
		"locale":                func(r *accept.Request) { r.Locale = "zh-Hant-TW" },
		"ref":                   func(r *accept.Request) { r.Ref = accept.Ref{Scope: "order", ID: "4711"} },
		"attachment only":       func(r *accept.Request) { r.Text, r.Attachments = "", file(nil) },
		"empty attachment":      func(r *accept.Request) { r.Attachments = file(func(a *accept.Attachment) { a.Data = []byte{} }) },
		"inline without a name": func(r *accept.Request) { r.Attachments = file(inline) },
		"invitation":            func(r *accept.Request) { r.Attachments = file(invitation) },
		"declared size and sum": func(r *accept.Request) { r.Attachments = file(declared) },
		"deadline after a span": func(r *accept.Request) { r.Deadline.After = time.Hour },
		"a moment long ago":     func(r *accept.Request) { r.SendAt = time.Unix(1, 0) },
		"marks of hebrew files": func(r *accept.Request) {
			r.Attachments = file(func(a *accept.Attachment) { a.Name = "\u200f\u05d3\u05e0\u05d4.pdf" })
		},
		"joined emoji in a file": func(r *accept.Request) {
			r.Attachments = file(func(a *accept.Attachment) { a.Name = "\U0001f469\u200d\U0001f4bb.png" })
		},
		"encoded type parameter": func(r *accept.Request) {
			r.Attachments = file(func(a *accept.Attachment) { a.ContentType = "text/plain; x*=utf-8''caf%C3%A9" })
		},
		"marks of hebrew names": func(r *accept.Request) { r.To[0].Name = "\u200fדנה" },
		"quoted local part":     func(r *accept.Request) { r.To[0].Address = `"mira holt"@rcv.test` },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := good()
			change(r)
			if err := r.Check(); err != nil {
				t.Errorf("refused: %v", err)
			}
		})
	}
}

func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	long := func(n int) string { return strings.Repeat("a", n) }
	tests := map[string]struct {
		change func(*accept.Request)
		want   string // field and rule
	}{
		"no recipients":           {func(r *accept.Request) { r.To = nil }, "to required"},
		"51 recipients":           {func(r *accept.Request) { r.Cc = crowd(50) }, "to too_many"},
		"no content":              {func(r *accept.Request) { r.Text = "" }, "text required"},
		"long subject":            {func(r *accept.Request) { r.Subject = long(999) }, "subject too_long"},
		"large bodies":            {func(r *accept.Request) { r.HTML = long(10 << 20) }, "text too_large"},
		"NUL in text":             {func(r *accept.Request) { r.Text = "a\x00b" }, "text control"},
		"latin-1 text":            {func(r *accept.Request) { r.Text = "caf\xe9" }, "text encoding"},
		"latin-1 subject":         {func(r *accept.Request) { r.Subject = "caf\xe9" }, "subject encoding"},
		"latin-1 html":            {func(r *accept.Request) { r.HTML = "caf\xe9" }, "html encoding"},
		"51 headers":              {func(r *accept.Request) { r.Headers = fields(51) }, "headers too_many"},
		"colon in a name":         {func(r *accept.Request) { r.Headers = header("X-A:b", "c") }, "headers[0].name syntax"},
		"space in a name":         {func(r *accept.Request) { r.Headers = header("X A", "c") }, "headers[0].name syntax"},
		"no header name":          {func(r *accept.Request) { r.Headers = header("", "c") }, "headers[0].name syntax"},
		"long header":             {func(r *accept.Request) { r.Headers = header("X-A", long(4097)) }, "headers[0].value too_long"},
		"header twice":            {func(r *accept.Request) { r.Headers = append(header("List-Id", "<a.b>"), header("list-id", "<c.d>")...) }, "headers[1].name duplicate"},
		"long from name":          {func(r *accept.Request) { r.FromName = long(256) }, "from_name too_long"},
		"a name that is no UTF-8": {func(r *accept.Request) { r.To[0].Name = "a\xff" }, "to[0].name encoding"},
		"disguised name":          {func(r *accept.Request) { r.To[0].Name = "moc.live\u202e" }, "to[0].name control"},
		"eleven reply-to":         {func(r *accept.Request) { r.ReplyTo = make([]postledger.Mailbox, 11) }, "reply_to too_many"},
		"empty reply-to":          {func(r *accept.Request) { r.ReplyTo = make([]postledger.Mailbox, 1) }, "reply_to[0].address required"},
		"unknown lane":            {func(r *accept.Request) { r.Lane = "express" }, "lane unknown"},
		"unknown category":        {func(r *accept.Request) { r.Category = "news" }, "category unknown"},
		"scope without id":        {func(r *accept.Request) { r.Ref.Scope = "order" }, "ref.id required"},
		"long ref":                {func(r *accept.Request) { r.Ref.ID = long(256) }, "ref.id too_long"},
		"long actor":              {func(r *accept.Request) { r.Actor.Name = long(256) }, "actor.name too_long"},
		"long tenant":             {func(r *accept.Request) { r.Tenant = long(256) }, "tenant too_long"},
		"long key":                {func(r *accept.Request) { r.Key = long(256) }, "idempotency_key too_long"},
		"tab in a key":            {func(r *accept.Request) { r.Key = "a\tb" }, "idempotency_key control"},
		"locale":                  {func(r *accept.Request) { r.Locale = "de_DE" }, "locale syntax"},
		"empty subtag":            {func(r *accept.Request) { r.Locale = "de-" }, "locale syntax"},
		"two deadlines":           {func(r *accept.Request) { r.Deadline = accept.Deadline{At: time.Unix(1, 0), After: 1} }, "deadline not_allowed"},
		"far deadline":            {func(r *accept.Request) { r.Deadline.After = 367 * 24 * time.Hour }, "deadline range"},
		"51 attachments":          {func(r *accept.Request) { r.Attachments = make([]accept.Attachment, 51) }, "attachments too_many"},
		"no file name":            {func(r *accept.Request) { r.Attachments = file(func(a *accept.Attachment) { a.Name = "" }) }, "attachments[0].name required"},
		"no content type":         {func(r *accept.Request) { r.Attachments = file(func(a *accept.Attachment) { a.ContentType = "pdf;" }) }, "attachments[0].content_type syntax"},
		"multipart": {func(r *accept.Request) {
			r.Attachments = file(func(a *accept.Attachment) { a.ContentType = "multipart/mixed" })
		}, "attachments[0].content_type syntax"},
		"disposition":        {func(r *accept.Request) { r.Attachments = file(func(a *accept.Attachment) { a.Disposition = "hidden" }) }, "attachments[0].disposition unknown"},
		"no file content":    {func(r *accept.Request) { r.Attachments = file(func(a *accept.Attachment) { a.Data = nil }) }, "attachments[0].content required"},
		"other size":         {func(r *accept.Request) { r.Attachments = file(func(a *accept.Attachment) { a.Size = new(int64) }) }, "attachments[0].size mismatch"},
		"no sum":             {func(r *accept.Request) { r.Attachments = file(func(a *accept.Attachment) { a.SHA256 = "abc" }) }, "attachments[0].sha256 syntax"},
		"odd method":         {func(r *accept.Request) { r.Attachments = file(func(a *accept.Attachment) { a.Method = "EXPLODE" }) }, "attachments[0].method unknown"},
		"method of a pdf":    {func(r *accept.Request) { r.Attachments = file(func(a *accept.Attachment) { a.Method = "REQUEST" }) }, "attachments[0].method not_allowed"},
		"content id":         {func(r *accept.Request) { r.Attachments = file(func(a *accept.Attachment) { a.ContentID = "<a b>" }) }, "attachments[0].content_id syntax"},
		"content id twice":   {func(r *accept.Request) { r.Attachments = append(file(inline), file(inline)...) }, "attachments[1].content_id duplicate"},
		"bracket in mailbox": {func(r *accept.Request) { r.To[0].Address = "Mira <mira@rcv.test>" }, "to[0].address syntax"},
	}
	for _, c := range "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029" {
		tests[fmt.Sprintf("file name with %U", c)] = struct {
			change func(*accept.Request)
			want   string
		}{func(r *accept.Request) {
			r.Attachments = file(func(a *accept.Attachment) { a.Name = "photo-" + string(c) + "gpj.exe" })
		}, "attachments[0].name control"}
	}
	for _, c := range []string{"%0A", "%0D", "%00", "%7F", "%C2%85", "%E2%80%A8"} {
		tests["type parameter with "+c] = struct {
			change func(*accept.Request)
			want   string
		}{func(r *accept.Request) {
			r.Attachments = file(func(a *accept.Attachment) { a.ContentType = "text/plain; x*=utf-8''a" + c + "b" })
		}, "attachments[0].content_type control"}
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := good()
			tt.change(r)
			if got := broken(t, r.Check()); !slices.Equal(got, []string{tt.want}) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// Invariant 10, cases B01 and B05: nothing a caller gives reaches a header
// with a line break, or a command with more than an address.
func TestInjectionIsRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		set   func(r *accept.Request, bad string)
		field string
	}{
		{func(r *accept.Request, s string) { r.Subject = s }, "subject"},
		{func(r *accept.Request, s string) { r.To[0].Name = s }, "to[0].name"},
		{func(r *accept.Request, s string) { r.To[0].Address = "mira@rcv.test" + s }, "to[0].address"},
		{func(r *accept.Request, s string) { r.To[0].Address = s + "@rcv.test" }, "to[0].address"},
		{func(r *accept.Request, s string) { r.To[0].Address = `"` + s + `"@rcv.test` }, "to[0].address"},
		{func(r *accept.Request, s string) { r.Cc = []accept.Recipient{{Address: "desk@rcv.test" + s}} }, "cc[0].address"},
		{func(r *accept.Request, s string) { r.Bcc = []accept.Recipient{{Address: "desk@rcv.test", Name: s}} }, "bcc[0].name"},
		{func(r *accept.Request, s string) {
			r.ReplyTo = []postledger.Mailbox{{Name: "Desk", Address: "desk@send.test" + s}}
		}, "reply_to[0].address"},
		{func(r *accept.Request, s string) {
			r.ReplyTo = []postledger.Mailbox{{Name: s, Address: "desk@send.test"}}
		}, "reply_to[0].name"},
		{func(r *accept.Request, s string) { r.FromName = s }, "from_name"},
		{func(r *accept.Request, s string) { r.Headers = header("X-Ref", s) }, "headers[0].value"},
		{func(r *accept.Request, s string) { r.Headers = header("X-Ref"+s, "7") }, "headers[0].name"},
		{func(r *accept.Request, s string) { r.MessageID = "<a" + s + "@send.test>" }, "message_id"},
		{func(r *accept.Request, s string) { r.Key = s }, "idempotency_key"},
		{func(r *accept.Request, s string) { r.Ref.ID = s }, "ref.id"},
		{func(r *accept.Request, s string) { r.Tenant = s }, "tenant"},
		{func(r *accept.Request, s string) { r.Locale = "de" + s }, "locale"},
		{func(r *accept.Request, s string) { r.Actor.ID = s }, "actor.id"},
		{func(r *accept.Request, s string) { r.Profile = s }, "profile"},
		{func(r *accept.Request, s string) {
			r.Attachments = file(func(a *accept.Attachment) { a.Name = s })
		}, "attachments[0].name"},
		{func(r *accept.Request, s string) {
			r.Attachments = file(func(a *accept.Attachment) { a.ContentType = "text/plain; x=" + s })
		}, "attachments[0].content_type"},
		{func(r *accept.Request, s string) {
			r.Attachments = file(func(a *accept.Attachment) { a.ContentID = s })
		}, "attachments[0].content_id"},
		{func(r *accept.Request, s string) {
			r.Attachments = file(func(a *accept.Attachment) { a.ContentType, a.Method = "text/calendar", "REQUEST"+s })
		}, "attachments[0].method"},
	}
	for _, tt := range tests {
		for _, bad := range []string{"a\r\nX-Probe: 1", "a\nBcc: spy@evil.test", "a\rb", "a\x00b", "a\x1bb", "a\x7fb", "a\u0085b", "a\u2028b"} {
			r := good()
			tt.set(r, bad)
			var fields []string
			for _, p := range problemsOf(t, r.Check()) {
				fields = append(fields, p.Field)
				if strings.Contains(p.Message, "Probe") || strings.Contains(p.Message, "evil") {
					t.Errorf("%s: the message repeats the value: %s", tt.field, p.Message)
				}
			}
			if !slices.Contains(fields, tt.field) {
				t.Errorf("%s = %q: problems at %q", tt.field, bad, fields)
			}
		}
	}
	// B05
	r := good()
	r.To[0].Address = `"ops@in.test> NOTIFY=NEVER"@out.test`
	if got := broken(t, r.Check()); !slices.Equal(got, []string{"to[0].address syntax"}) {
		t.Errorf("B05: %q", got)
	}
}

func TestReservedHeadersAreRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"From", "Sender", "To", "cc", "BCC", "Date", "Message-ID", "MIME-Version", "Subject", "Reply-To",
		"Content-Type", "content-disposition", "Received", "Return-Path", "DKIM-Signature", "ARC-Seal",
		"Authentication-Results", "Resent-To", "List-Unsubscribe", "List-Unsubscribe-Post",
		"X-SMTPAPI", "X-Mailgun-Track", "X-SES-Configuration-Set", "X-PM-Message-Stream", "X-Mailin-Tag",
		"Resend-Idempotency-Key",
	} {
		r := good()
		r.Headers = header(name, "x")
		if got := broken(t, r.Check()); !slices.Equal(got, []string{"headers[0].name reserved"}) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// Case B14.
func TestBadMessageIDsAreRefused(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"abc", "<a@b@c>", "<a@>", "@b", "<>", "<a b@c>", "a@b c", "<a@b", "<a@b>>", `<"a"@b>`, strings.Repeat("a", 600) + "@b"} {
		r := good()
		r.MessageID = id
		if got := broken(t, r.Check()); !slices.Equal(got, []string{"message_id syntax"}) {
			t.Errorf("%q: %q", id, got)
		}
	}
}

// Case B22: one mailbox is one recipient, whatever the letter case, the quoting
// and the header.
func TestOneCopyForEachMailbox(t *testing.T) {
	t.Parallel()
	for _, again := range []string{"mira.holt@rcv.test", "MIRA.HOLT@rcv.TEST", `"mira.holt"@rcv.test`} {
		r := good()
		r.To[0].Address = "Mira.Holt@RCV.test"
		r.Bcc = []accept.Recipient{{Address: again}}
		got := problemsOf(t, r.Check())
		if len(got) != 1 || got[0].Field != "bcc[0].address" || got[0].Rule != accept.RuleDuplicate || !strings.Contains(got[0].Message, "to[0]") {
			t.Errorf("%q: %+v", again, got)
		}
	}
}

func TestMarketingNeedsConsent(t *testing.T) {
	t.Parallel()
	r := good()
	r.Category = postledger.CategoryMarketing
	if err := r.Check(); !errors.Is(err, accept.ErrConsent) || accept.CodeOf(err) != accept.CodeConsent {
		t.Errorf("got %v", err)
	}
}

func TestProblemsAreListedTogetherAndBounded(t *testing.T) {
	t.Parallel()
	r := good()
	r.Subject, r.Lane, r.Tenant = "a\nb", "express", "c\nd"
	if got := broken(t, r.Check()); !slices.Equal(got, []string{"subject control", "lane unknown", "tenant control"}) {
		t.Errorf("got %q", got)
	}
	for i := range 50 {
		r.Headers = append(r.Headers, postledger.Header{Name: "To", Value: fmt.Sprint(i)})
	}
	var e *accept.InvalidError
	if !errors.As(r.Check(), &e) || len(e.Problems) != accept.MaxProblems || e.More != 3 {
		t.Errorf("got %d problems and %d more", len(e.Problems), e.More)
	}
}

func TestDeadlineJSON(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	for text, want := range map[string]accept.Deadline{
		`"2026-03-01T09:00:00Z"`: {At: at},
		`900`:                    {After: 15 * time.Minute},
		`null`:                   {},
	} {
		var d accept.Deadline
		if err := json.Unmarshal([]byte(text), &d); err != nil || d != want {
			t.Errorf("%s: %+v, %v", text, d, err)
		}
		if back, err := json.Marshal(d); err != nil || string(back) != text {
			t.Errorf("%s: written as %s, %v", text, back, err)
		}
	}
	for _, text := range []string{`0`, `-5`, `1.5`, `"900"`, `"PT15M"`, `""`, `"0001-01-01T00:00:00Z"`, `true`, `{}`, `1e3`, `99999999999`} {
		var d accept.Deadline
		if err := json.Unmarshal([]byte(text), &d); err == nil {
			t.Errorf("%s: read as %+v", text, d)
		}
	}
}

func FuzzCheck(f *testing.F) {
	for _, s := range []string{
		`{"to":[{"address":"mira@rcv.test","name":"Mira"}],"subject":"Week 12","text":"Hello"}`,
		`{"to":[{"address":"a@b.test"}],"bcc":[{"address":"A@b.test"}],"html":"<p>x","headers":[{"name":"X-Ref","value":"7"}]}`,
		`{"cc":[{"address":"\"a b\"@b.test"}],"text":"x","attachments":[{"name":"a.ics","content_type":"text/calendar","method":"request","content":"QQ=="}],"deadline":60}`,
		`{"to":[{"address":"a@b.test"}],"text":"x","message_id":"<a@b.test>","reply_to":[{"address":"c@d.test","name":"ø"}],"locale":"pt-BR"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		d := json.NewDecoder(bytes.NewReader(b))
		d.DisallowUnknownFields()
		var r accept.Request
		if d.Decode(&r) != nil {
			return
		}
		err := r.Check()
		if err != nil {
			if accept.CodeOf(err) == "" {
				t.Fatalf("a refusal without a code: %v", err)
			}
			return
		}
		singles := []string{r.Subject, r.FromName, r.MessageID, r.Key, r.Tenant, r.Ref.ID, r.Actor.Name}
		for _, l := range [][]accept.Recipient{r.To, r.Cc, r.Bcc} {
			for _, rc := range l {
				singles = append(singles, rc.Address, rc.Name)
			}
		}
		for _, h := range r.Headers {
			singles = append(singles, h.Name, h.Value)
		}
		for _, a := range r.Attachments {
			singles = append(singles, a.Name, a.ContentType, a.ContentID, a.Method)
		}
		for _, s := range singles {
			if strings.ContainsAny(s, "\r\n\x00") {
				t.Fatalf("a line break or NUL passed in %q", s)
			}
		}
		if n := len(r.To) + len(r.Cc) + len(r.Bcc); n == 0 || n > accept.MaxRecipients {
			t.Fatalf("%d recipients passed", n)
		}
	})
}

func crowd(n int) []accept.Recipient {
	out := make([]accept.Recipient, n)
	for i := range out {
		out[i].Address = fmt.Sprintf("r%d@rcv.test", i)
	}
	return out
}

func header(name, value string) []postledger.Header {
	return []postledger.Header{{Name: name, Value: value}}
}

func fields(n int) []postledger.Header {
	out := make([]postledger.Header, n)
	for i := range out {
		out[i] = postledger.Header{Name: fmt.Sprintf("X-Ref-%d", i), Value: "7"}
	}
	return out
}

func file(change func(*accept.Attachment)) []accept.Attachment {
	a := accept.Attachment{Name: "week.pdf", ContentType: "application/pdf", Data: []byte("abc")}
	if change != nil {
		change(&a)
	}
	return []accept.Attachment{a}
}

func inline(a *accept.Attachment) {
	a.Name, a.ContentType, a.Disposition, a.ContentID = "", "image/png", "inline", "logo@send.test"
}

func invitation(a *accept.Attachment) {
	a.Name, a.ContentType, a.Method = "week.ics", "text/calendar; charset=utf-8", "request"
}

func declared(a *accept.Attachment) {
	size := int64(3)
	a.Size, a.SHA256 = &size, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
}

func problemsOf(tb testing.TB, err error) []accept.Problem {
	tb.Helper()
	var e *accept.InvalidError
	if !errors.As(err, &e) {
		tb.Fatalf("got %v, want problems", err)
	}
	return e.Problems
}

// broken lists field and rule of each problem.
func broken(tb testing.TB, err error) []string {
	tb.Helper()
	var out []string
	for _, p := range problemsOf(tb, err) {
		out = append(out, p.Field+" "+string(p.Rule))
	}
	return out
}
