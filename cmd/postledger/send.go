package main

import (
	"fmt"
	"io"
	"net/mail"
	"os"
	"strings"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/client"
)

type sendCmd struct {
	remote
	To        []string      `help:"Recipient, as an address or Name <address>. May be repeated." sep:"none" placeholder:"ADDRESS"`
	Cc        []string      `help:"Recipient of a copy." sep:"none" placeholder:"ADDRESS"`
	Bcc       []string      `help:"Recipient that nobody sees." sep:"none" placeholder:"ADDRESS"`
	Subject   string        `help:"Subject."`
	Text      string        `help:"Text; - reads it from the standard input." placeholder:"TEXT"`
	HTML      string        `name:"html" help:"File that holds the HTML." type:"existingfile" placeholder:"FILE"`
	Attach    []string      `help:"File to attach. May be repeated." type:"existingfile" sep:"none" placeholder:"FILE"`
	Profile   string        `help:"Profile to send as; default the default profile."`
	FromName  string        `help:"Name shown beside the sender's address."`
	ReplyTo   []string      `help:"Address replies go to." sep:"none" placeholder:"ADDRESS"`
	Header    []string      `help:"Header field of your own, as Name: value." sep:"none" placeholder:"FIELD"`
	Lane      string        `help:"immediate or bulk." enum:",immediate,bulk" default:""`
	Category  string        `help:"system, platform, activity or marketing." default:""`
	RefScope  string        `help:"What kind of thing --ref names."`
	Ref       string        `help:"Your own name for what the message is about."`
	SendAt    time.Time     `help:"When it is due (RFC 3339); default now." placeholder:"TIME"`
	ExpiresIn time.Duration `help:"How long after it is due it is worth sending." placeholder:"2h"`
	Key       string        `help:"Idempotency key: a repetition with it sends nothing twice."`
	Wait      bool          `help:"Wait up to 30 s until each recipient has a result. Exit code 1 unless it was sent to all."`
}

func (c *sendCmd) Run(e *env) error {
	m, err := c.message(e)
	if err != nil {
		return err
	}
	cl, err := c.client()
	if err != nil {
		return err
	}
	var opts []client.SendOption
	if c.Wait {
		opts = append(opts, client.Wait(client.MaxWait))
	}
	a, err := cl.Send(e.ctx, m, opts...)
	if err != nil {
		return err
	}
	if err := c.print(e, a); err != nil {
		return err
	}
	if c.Wait && !allSent(a.Counts) {
		return errDifference
	}
	return nil
}

func allSent(n map[postledger.Status]int) bool {
	all := 0
	for _, k := range n {
		all += k
	}
	return n[postledger.StatusSent] == all
}

func (c *sendCmd) message(e *env) (*client.Message, error) {
	if len(c.To)+len(c.Cc)+len(c.Bcc) == 0 {
		return nil, usage("--to, --cc or --bcc: at least one recipient is needed")
	}
	m := &client.Message{
		Profile: c.Profile, Subject: c.Subject, FromName: c.FromName, Lane: postledger.Lane(c.Lane),
		Category: postledger.Category(c.Category), Ref: client.Ref{Scope: c.RefScope, ID: c.Ref}, SendAt: c.SendAt,
		Deadline: client.Deadline{After: c.ExpiresIn}, Key: c.Key, Text: c.Text,
	}
	var err error
	for _, f := range []struct {
		flag string
		in   []string
		out  *[]client.Recipient
	}{{"--to", c.To, &m.To}, {"--cc", c.Cc, &m.Cc}, {"--bcc", c.Bcc, &m.Bcc}} {
		if *f.out, err = recipients(f.flag, f.in); err != nil {
			return nil, err
		}
	}
	replies, err := recipients("--reply-to", c.ReplyTo)
	if err != nil {
		return nil, err
	}
	for _, r := range replies {
		m.ReplyTo = append(m.ReplyTo, mailbox(r))
	}
	for _, h := range c.Header {
		name, value, ok := strings.Cut(h, ":")
		if !ok {
			return nil, usage("--header: %q is not Name: value", h)
		}
		m.Headers = append(m.Headers, postledger.Header{Name: strings.TrimSpace(name), Value: strings.TrimSpace(value)})
	}
	if c.Text == "-" {
		text, err := readBody(e.stdin)
		if err != nil {
			return nil, fmt.Errorf("--text: %w", err)
		}
		m.Text = text
	}
	if c.HTML != "" {
		f, err := os.Open(c.HTML)
		if err != nil {
			return nil, usage("--html: %w", err)
		}
		defer f.Close()
		if m.HTML, err = readBody(f); err != nil {
			return nil, fmt.Errorf("--html: %w", err)
		}
	}
	for _, path := range c.Attach {
		m.Attachments = append(m.Attachments, client.File(path))
	}
	return m, nil
}

// mailbox turns a recipient into a mailbox.
func mailbox(r client.Recipient) postledger.Mailbox {
	return postledger.Mailbox{Name: r.Name, Address: r.Address}
}

// maxBody is the server's bound of both bodies together.
const maxBody = 10 << 20

func readBody(r io.Reader) (string, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxBody+1))
	if err == nil && len(b) > maxBody {
		err = fmt.Errorf("is longer than %d bytes", maxBody)
	}
	return string(b), err
}

// recipients reads addresses with or without a name (RFC 5322 §3.4). A bare
// one is for the server to judge.
func recipients(flag string, list []string) ([]client.Recipient, error) {
	var out []client.Recipient
	for _, s := range list {
		if !strings.ContainsRune(s, '<') {
			out = append(out, client.Recipient{Address: strings.TrimSpace(s)})
			continue
		}
		a, err := mail.ParseAddress(s)
		if err != nil {
			return nil, usage("%s: %q is neither an address nor Name <address>", flag, s)
		}
		out = append(out, client.Recipient{Name: a.Name, Address: a.Address})
	}
	return out, nil
}

func (c *sendCmd) print(e *env, a *client.Accepted) error {
	if c.JSON {
		return printJSON(e.stdout, a)
	}
	what := "accepted"
	if a.Replayed {
		what = "already accepted"
	}
	fmt.Fprintf(e.stdout, "%s %s\n", what, a.ID)
	if len(a.Removed) > 0 {
		fmt.Fprintf(e.stdout, "removed from the HTML: %s\n", printable(strings.Join(a.Removed, ", ")))
	}
	if a.Status == "" {
		return nil
	}
	fmt.Fprintf(e.stdout, "%s (%s)\n", a.Status, counts(a.Counts))
	return printFailures(e, a.Failures)
}

// counts says how many deliveries are in each state, in the order of life.
func counts(n map[postledger.Status]int) string {
	var parts []string
	for _, s := range postledger.Statuses() {
		if n[s] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[s], s))
		}
	}
	return strings.Join(parts, ", ")
}

func printFailures(e *env, list []client.Failure) error {
	if len(list) == 0 {
		return nil
	}
	rows := make([][]string, len(list))
	for i, f := range list {
		rows[i] = []string{f.Recipient, string(f.Status), string(f.Reason), moment(f.At)}
	}
	return table(e.stdout, "RECIPIENT STATUS REASON AT", rows)
}
