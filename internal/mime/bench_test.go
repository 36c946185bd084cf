package mime_test

import (
	"bytes"
	"io"
	"mime/quotedprintable"
	"strings"
	"testing"

	"github.com/postledger/postledger/internal/mime"
)

// newsletter is a message of 12.9 KB on the wire: HTML with the usual tables and
// attributes, and its text.
func newsletter() *mime.Input {
	row := "    <tr>\n      <td style=\"padding:0 12px;font-family:Arial,sans-serif\" align=\"left\">Møtet flyttes til torsdag, se <a href=\"https://app.mail.test/m/4711?u=omar\">planen</a>.</td>\n    </tr>\n"
	in := minimal()
	in.From.Name = "Årsmøte"
	in.Subject = "Innkalling: møte torsdag"
	in.To = []mime.Address{{Name: "Omar Dahl", Addr: "omar@inbox.test"}}
	in.Added = []mime.Header{
		{Name: "List-Unsubscribe", Value: "<https://app.mail.test/u/0193abcdef0123456789abcdef>"},
		{Name: "List-Unsubscribe-Post", Value: "List-Unsubscribe=One-Click"},
	}
	in.HTML = "<html><body>\n  <table width=\"600\">\n" + strings.Repeat(row, 43) + "  </table>\n</body></html>\n"
	in.Text = strings.Repeat("Møtet flyttes til torsdag, se https://app.mail.test/m/4711?u=omar\n", 40)
	return in
}

func BenchmarkCompose(b *testing.B) {
	in := newsletter()
	var c mime.Composer
	var size int64
	for b.Loop() {
		m, err := c.Compose(in)
		if err != nil {
			b.Fatal(err)
		}
		if size, err = m.WriteTo(io.Discard); err != nil {
			b.Fatal(err)
		}
		m.Release()
	}
	b.SetBytes(size)
	b.ReportMetric(float64(size), "wire-B")
	b.ReportAllocs()
}

// BenchmarkStandardQuotedPrintable is what the standard library takes for the
// two bodies alone.
func BenchmarkStandardQuotedPrintable(b *testing.B) {
	in := newsletter()
	var buf bytes.Buffer
	for b.Loop() {
		buf.Reset()
		for _, s := range [2]string{in.Text, in.HTML} {
			w := quotedprintable.NewWriter(&buf)
			io.WriteString(w, s)
			w.Close()
		}
	}
	b.ReportAllocs()
}

func BenchmarkAttachment(b *testing.B) {
	in := newsletter()
	in.Attachments = []mime.Attachment{file("årsrapport.pdf", "application/pdf", bytes.Repeat([]byte("%PDF-1.7"), 1<<17))}
	var c mime.Composer
	for b.Loop() {
		m, err := c.Compose(in)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := m.WriteTo(io.Discard); err != nil {
			b.Fatal(err)
		}
		m.Release()
	}
	b.SetBytes(1 << 20)
	b.ReportAllocs()
}
