package mime_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/postledger/postledger/internal/mime"
)

// A third reader, written by others in another language, sees what was meant
// and finds nothing to complain about (B02, B04, B10).
func TestPythonReadsTheSame(t *testing.T) {
	names := []string{
		"plain.pdf", "with space.pdf", "Økonomi – tredje kvartal.pdf", strings.Repeat("ø", 90) + ".tar",
		`quo"te\.txt`, "per%20cent.txt", "=?UTF-8?Q?x?=.txt", "semi;colon.txt", "it's.txt", strings.Repeat("long-name-", 18),
	}
	people := []mime.Address{
		{Name: "Søren Ærlig", Addr: "soren@send.test"},
		{Name: "Holt, Mira (Ops)", Addr: "mira@send.test"},
		{Name: `Mira "Mimi" Holt`, Addr: "mimi@send.test"},
		{Name: "山田 太郎", Addr: "taro@send.test"},
		{Addr: "bare@send.test"},
	}
	var messages [][]byte
	var inputs []*mime.Input
	for _, name := range names {
		in := minimal()
		in.Subject = "Générale: " + strings.Repeat("🛶 ", 20) + "end"
		in.To = people
		in.HTML = "<p>x</p>"
		a := file(name, "application/pdf", []byte("x"))
		eml := file("", "message/rfc822", []byte("Subject: x\r\n\r\nhello\r\n"))
		in.Attachments = []mime.Attachment{a, eml}
		inputs = append(inputs, in)
		messages = append(messages, wire(t, in))
	}
	stdin, err := json.Marshal(messages)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("python3", "testdata/read.py")
	cmd.Stdin = bytes.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("python3 is needed for this test: %v\n%s", err, stderr.Bytes())
	}
	var shown []struct {
		Subject  string
		To       [][2]string
		Types    []string
		Names    []string
		OldNames []string `json:"old_names"`
		Defects  []string
	}
	if err := json.Unmarshal(out, &shown); err != nil {
		t.Fatal(err)
	}
	for i, in := range inputs {
		got := shown[i]
		name := in.Attachments[0].Filename
		if got.Subject != in.Subject || len(got.Defects) > 0 {
			t.Errorf("%q: subject %q, defects %q", name, got.Subject, got.Defects)
		}
		for k, a := range in.To {
			if got.To[k] != [2]string{a.Name, a.Addr} {
				t.Errorf("to: got %q, want %q", got.To[k], a)
			}
		}
		want := []string{
			"multipart/mixed", "multipart/alternative", "text/plain", "text/html", "application/pdf",
			"message/rfc822", "text/plain",
		}
		if !slices.Equal(got.Types, want) {
			t.Errorf("types %q", got.Types)
		}
		if got.Names[4] != name || got.OldNames[4] != name {
			t.Errorf("name: got %q and %q, want %q", got.Names[4], got.OldNames[4], name)
		}
	}
}
