package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/postledger/postledger/internal/mime"
)

// wireSize is what a bulk message has on the wire, about: HTML and text, in
// quoted-printable, no two messages alike.
const wireSize = 12_900

const (
	from    = "desk@send.example"
	subject = "Innkalling: møte torsdag"
)

func recipient(run, i int) string { return fmt.Sprintf("r%d.%d@rcpt.example", run, i) }

// bodies are those of message i, or the same for all.
func (j *job) bodies(i int) (text, html string) {
	if j.Shared {
		i = 0
	}
	return bodies(i)
}

// bodies are the text and HTML of message i.
func bodies(i int) (text, html string) {
	var t, h strings.Builder
	h.WriteString("<html><body>\n  <table width=\"600\">\n")
	for row := range 43 {
		fmt.Fprintf(&h, "    <tr>\n      <td style=\"padding:0 12px;font-family:Arial,sans-serif\" align=\"left\">Møtet %d.%d flyttes til torsdag, se "+
			"<a href=\"https://app.mail.example/m/%d?row=%d\">planen</a>.</td>\n    </tr>\n", i, row, i, row)
		if row < 41 {
			fmt.Fprintf(&t, "Møtet %d.%d flyttes til torsdag, se https://app.mail.example/m/%d\n", i, row, i)
		}
	}
	h.WriteString("  </table>\n</body></html>\n")
	return t.String(), h.String()
}

// small are the bodies of an accepted request: 3 KB together.
func small(i int) (text, html string) {
	text, html = bodies(i)
	return text[:1000], html[:2000]
}

// input is what the floor builds of a message.
func input(seed []byte, to, subject, text, html string, date time.Time) *mime.Input {
	return &mime.Input{
		From: mime.Address{Addr: from}, To: []mime.Address{{Addr: to}}, Subject: subject,
		MessageID: fmt.Sprintf("<%x@send.example>", seed), Date: date, Text: text, HTML: html, Seed: seed,
	}
}
