package dkim_test

import (
	"bytes"
	"crypto"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postledger/postledger/internal/mime"
	"github.com/postledger/postledger/internal/mime/dkim"
)

var _ mime.Signer = (*dkim.Signer)(nil)

// signers are the three ways a profile can sign, with the zone for all of them.
func signers(t testing.TB) (map[string]*dkim.Signer, zone) {
	t.Helper()
	z := zone{}
	key := func(a dkim.Algorithm, selector string) dkim.Key {
		private := generate(t, a)
		record, err := dkim.Record(private.Public())
		if err != nil {
			t.Fatal(err)
		}
		z[dkim.RecordName(selector, "mail.test")] = record
		return dkim.Key{Domain: "mail.test", Selector: selector, Private: private}
	}
	r, e := key(dkim.RSA, "r2026"), key(dkim.Ed25519, "e2026")
	out := map[string]*dkim.Signer{}
	for name, keys := range map[string][]dkim.Key{"rsa": {r}, "ed25519": {e}, "both": {r, e}} {
		s, err := dkim.New(keys...)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = s
	}
	return out, z
}

func generate(t testing.TB, a dkim.Algorithm) crypto.Signer {
	t.Helper()
	private, err := dkim.GenerateKey(a)
	if err != nil {
		t.Fatal(err)
	}
	return private
}

func input() *mime.Input {
	return &mime.Input{
		From:      mime.Address{Name: "Åse Dahl", Addr: "ase@mail.test"},
		To:        []mime.Address{{Name: "Omar", Addr: "omar@inbox.test"}},
		Subject:   "Receipt  for øre",
		MessageID: "0193abcd@mail.test",
		Date:      time.Date(2026, 4, 6, 10, 18, 59, 0, time.UTC),
		Headers:   []mime.Header{{Name: "X-Ref", Value: "7"}},
		Added: []mime.Header{
			{Name: "List-Unsubscribe", Value: "<https://app.mail.test/u/0193>"},
			{Name: "List-Unsubscribe-Post", Value: "List-Unsubscribe=One-Click"},
			{Name: "Feedback-ID", Value: "a:b:c:postledger"},
		},
		Text: "Hei\n\n  innrykk \t\nsiste  linje\n\n\n",
		HTML: "<p>Hei</p>\n",
		Seed: []byte("seed"),
	}
}

func signed(t testing.TB, s mime.Signer, in *mime.Input) []byte {
	t.Helper()
	m, err := mime.Compose(in)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Release()
	for range 2 { // signing again replaces
		if err := m.Sign(s); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	if n, err := m.WriteTo(&b); err != nil || n != m.Size() {
		t.Fatalf("wrote %d of %d: %v", n, m.Size(), err)
	}
	return b.Bytes()
}

// Two independent verifiers accept what we sign, for every kind of body.
func TestSignaturesVerify(t *testing.T) {
	attached := input()
	content := bytes.Repeat([]byte("0123456789 "), 3000)
	attached.Attachments = []mime.Attachment{{
		Filename: "data.bin", Size: int64(len(content)),
		Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
	}}
	empty := input()
	empty.Text, empty.HTML = "", ""
	blank := input()
	blank.Text, blank.HTML = "\n\n \n", ""
	bare := input()
	bare.To, bare.Headers, bare.Added, bare.Subject = nil, nil, nil, ""
	many := input()
	many.ReplyTo, many.Cc = many.To, many.To

	byName, z := signers(t)
	var cases []verifyCase
	for name, s := range byName {
		for _, in := range []*mime.Input{input(), attached, empty, blank, bare, many} {
			message := signed(t, s, in)
			want := 1
			if name == "both" {
				want = 2
			}
			if err := goVerdict(message, z, want); err != nil {
				t.Errorf("%s: go-msgauth: %v\n%.2000s", name, err, message)
			}
			if again := signed(t, s, in); !bytes.Equal(again, message) {
				t.Errorf("%s: signed twice, two results", name)
			}
			for _, line := range strings.Split(string(message), "\r\n") {
				if len(line) > 78 {
					t.Errorf("%s: line of %d octets: %s", name, len(line), line)
				}
			}
			cases = append(cases, verifyCase{message, z})
		}
	}
	for i, verdicts := range pythonVerdicts(t, cases) {
		if len(verdicts) == 0 {
			t.Errorf("dkimpy found no signature in %.2000s", cases[i].Message)
		}
		for _, v := range verdicts {
			if v != true {
				t.Errorf("dkimpy: %v\n%.2000s", v, cases[i].Message)
			}
		}
	}
}

// What a signature is for: changes that matter break it, for both verifiers, and
// those that relays make do not.
func TestTampering(t *testing.T) {
	byName, z := signers(t)
	message := string(signed(t, byName["both"], input()))
	first := func(field string) string { return field + "\r\n" + message }
	replace := func(from, to string) string {
		if !strings.Contains(message, from) {
			t.Fatalf("%q is not in the message", from)
		}
		return strings.Replace(message, from, to, 1)
	}
	var names []string
	var want []bool
	var cases []verifyCase
	add := func(name, m string, good bool) {
		names, want = append(names, name), append(want, good)
		cases = append(cases, verifyCase{[]byte(m), z})
	}
	add("untouched", message, true)
	add("blanks", replace("To: Omar <", "To:\tOmar   <"), true)
	add("folded", replace("To: Omar <", "To: Omar\r\n\t<"), true)
	add("trace field added", first("Received: by relay.test; Mon, 06 Apr 2026 10:19:00 +0000"), true)
	add("caller's field gone", replace("X-Ref: 7\r\n", ""), true)
	add("lines after the end", message+"\r\n\r\n", true)
	for _, field := range []string{
		"From: mallory@mail.test", "Reply-To: mallory@x.test", "To: x@x.test", "Cc: x@x.test", "Subject: Pay here",
		"Date: Tue, 07 Apr 2026 10:18:59 +0000", "Content-Type: text/html",
	} {
		add("added "+field, first(field), false)
		head, body, _ := strings.Cut(message, "\r\n\r\n")
		add("appended "+field, head+"\r\n"+field+"\r\n\r\n"+body, false)
	}
	add("subject", replace("Subject: ", "Subject: Re: "), false)
	add("unsubscribe", replace("app.mail.test/u", "evil.test/u"), false)
	add("one click gone", replace("List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n", ""), false)
	add("feedback id", replace("a:b:c:postledger", "a:b:d:postledger"), false)
	add("message id", replace("0193abcd@mail", "0193abce@mail"), false)
	add("body", replace("<p>Hei", "<p>Hej"), false)
	add("appended", message+"x\r\n", false)

	for i, verdicts := range pythonVerdicts(t, cases) {
		if err := goVerdict(cases[i].Message, z, 2); (err == nil) != want[i] {
			t.Errorf("%s: go-msgauth: %v", names[i], err)
		}
		if len(verdicts) != 2 {
			t.Errorf("%s: dkimpy: %d verdicts", names[i], len(verdicts))
		}
		for _, v := range verdicts {
			if (v == true) != want[i] {
				t.Errorf("%s: dkimpy: %v", names[i], v)
			}
		}
	}
}

func TestFieldsOccurringTwiceAreCoveredFromTheLast(t *testing.T) {
	byName, z := signers(t)
	header := "From: a@mail.test\r\nList-Help: <x:1>\r\nX: 1\r\nlist-help: <x:2>\r\nLIST-HELP :\r\n <x:3>\r\n"
	out, err := byName["both"].AppendSignature([]byte("Keep: 1\r\n"), []byte(header), strings.NewReader("hi\r\n"))
	if err != nil || !bytes.HasPrefix(out, []byte("Keep: 1\r\nDKIM-Signature: ")) {
		t.Fatalf("%q %v", out, err)
	}
	message := append(out, header+"\r\nhi\r\n"...)
	if err := goVerdict(message, z, 2); err != nil {
		t.Error(err)
	}
}

type failingBody struct{ err error }

func (b failingBody) WriteTo(io.Writer) (int64, error) { return 0, b.err }

func TestSignErrors(t *testing.T) {
	byName, _ := signers(t)
	s := byName["both"]
	if _, err := s.AppendSignature(nil, []byte("To: x\r\n"), strings.NewReader("")); !errors.Is(err, dkim.ErrNoFrom) {
		t.Errorf("without From: %v", err)
	}
	boom := errors.New("boom")
	if _, err := s.AppendSignature(nil, []byte("From: x\r\n"), failingBody{boom}); !errors.Is(err, boom) {
		t.Errorf("with a failing body: %v", err)
	}
	in := input()
	in.Attachments = []mime.Attachment{{Size: 1, Open: func() (io.ReadCloser, error) { return nil, boom }}}
	m, err := mime.Compose(in)
	if err != nil {
		t.Fatal(err)
	}
	var ae *mime.AttachmentError
	if err := m.Sign(s); !errors.As(err, &ae) || !errors.Is(err, boom) {
		t.Errorf("with a lost attachment: %v", err)
	}
}

func TestConcurrentUse(t *testing.T) {
	byName, _ := signers(t)
	want := signed(t, byName["ed25519"], input())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				if got := signed(t, byName["ed25519"], input()); !bytes.Equal(got, want) {
					t.Error("another result")
				}
			}
		})
	}
	wg.Wait()
}
