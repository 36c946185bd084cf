package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strconv"

	"github.com/schollz/progressbar/v3"

	"github.com/postledger/postledger/client"
)

type batchCmd struct {
	remote
	File        string `arg:"" help:"File with one message in JSON a line; - is the standard input."`
	Name        string `help:"Names the whole file, in idempotency keys: another name sends it again. Default the file's name." placeholder:"TEXT"`
	Profile     string `help:"Profile to send as; default the default profile."`
	SkipRefused bool   `help:"Leave out messages that break a rule, and go on. Exit code 1 if there were any."`
}

// Run sends a file of messages. It can be stopped and run again: a line
// without a key of its own gets one made of the name and its content, so that
// what was accepted before is a replay, also after other lines were added.
func (c *batchCmd) Run(e *env) error {
	in, size, err := c.open(e)
	if err != nil {
		return err
	}
	defer in.Close()
	name := c.Name
	if name == "" {
		name = filepath.Base(c.File)
	}
	cl, err := c.client()
	if err != nil {
		return err
	}
	sender, err := cl.NewBatchSender(client.BatchOptions{Name: name, Profile: c.Profile, SkipRefused: c.SkipRefused})
	if err != nil {
		return usage("--name: %w", err)
	}
	bar := progressOf(e, size)
	r := &lines{in: bufio.NewReaderSize(in, 64<<10), bar: bar, name: name, seen: map[uint64]uint32{}}
	total, err := c.send(e.ctx, e, sender, r)
	_ = bar.Finish() // it only draws
	if err != nil {
		fmt.Fprintln(e.stderr, total)
		return fmt.Errorf("%w\n  Run the same command again: what was accepted is not sent twice", err)
	}
	if c.JSON {
		err = printJSON(e.stdout, total)
	} else {
		_, err = fmt.Fprintln(e.stdout, total)
	}
	if err == nil && total.Refused > 0 {
		return errDifference
	}
	return err
}

// batchTotal is what became of the lines.
type batchTotal struct {
	Accepted int `json:"accepted"`
	Replayed int `json:"replayed"`
	Gone     int `json:"gone"`
	Refused  int `json:"refused"`
}

func (t batchTotal) String() string {
	return fmt.Sprintf("%d accepted, %d accepted before, %d accepted before and not kept any more, %d refused", t.Accepted, t.Replayed, t.Gone, t.Refused)
}

func (c *batchCmd) send(ctx context.Context, e *env, s *client.BatchSender, r *lines) (batchTotal, error) {
	var t batchTotal
	for m, err := range s.Send(ctx, r.messages()) {
		switch {
		case err != nil:
			return t, err
		case len(m.Refused) > 0:
			t.Refused++
			for _, f := range m.Refused {
				fmt.Fprintf(e.stderr, "message %d: %s %s\n", m.N+1, printable(f.Field), printable(f.Message))
			}
		case m.Gone:
			t.Gone++
		case m.Replayed:
			t.Replayed++
		default:
			t.Accepted++
		}
	}
	return t, nil
}

func (c *batchCmd) open(e *env) (io.ReadCloser, int64, error) {
	if c.File == "-" {
		if c.Name == "" {
			return nil, 0, usage("--name: is needed when the messages come from the standard input")
		}
		return io.NopCloser(e.stdin), -1, nil
	}
	f, err := os.Open(c.File)
	if err != nil {
		return nil, 0, usage("file: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return f, -1, nil
	}
	return f, info.Size(), nil
}

// progressOf draws on a terminal only.
func progressOf(e *env, size int64) *progressbar.ProgressBar {
	if !terminal(e.stderr) {
		return progressbar.DefaultBytesSilent(size)
	}
	return progressbar.NewOptions64(size, progressbar.OptionSetWriter(e.stderr), progressbar.OptionSetDescription("sending"),
		progressbar.OptionShowBytes(true), progressbar.OptionSetPredictTime(true), progressbar.OptionClearOnFinish())
}

// lines reads messages. It holds one line, and eight bytes for each line that
// was read, to tell equal ones apart: some 30 MB a million.
type lines struct {
	in   *bufio.Reader
	bar  *progressbar.ProgressBar
	name string
	n    int
	seen map[uint64]uint32
}

// maxLine is the server's bound of a request.
const maxLine = 32 << 20

func (r *lines) messages() iter.Seq2[*client.Message, error] {
	return func(yield func(*client.Message, error) bool) {
		for {
			line, err := r.line()
			if errors.Is(err, io.EOF) {
				return
			}
			var m *client.Message
			if err == nil {
				m, err = r.message(line)
			}
			if err != nil {
				err = fmt.Errorf("line %d: %w", r.n, err)
			}
			if !yield(m, err) || err != nil {
				return
			}
		}
	}
}

// line reads the next line that is not empty.
func (r *lines) line() ([]byte, error) {
	for {
		var line []byte
		for {
			part, err := r.in.ReadSlice('\n')
			line = append(line, part...)
			if len(line) > maxLine {
				return nil, fmt.Errorf("is longer than %d bytes", maxLine)
			}
			if errors.Is(err, bufio.ErrBufferFull) {
				continue
			}
			if err != nil && (!errors.Is(err, io.EOF) || len(line) == 0) {
				return nil, err
			}
			break
		}
		r.n++
		_ = r.bar.Add(len(line)) // it only draws
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}

// lineMessage is a message as a line has it: an attachment names a file, or
// has its content in base64.
type lineMessage struct {
	client.Message
	Attachments []lineAttachment `json:"attachments"`
}

type lineAttachment struct {
	client.Attachment
	Path    string  `json:"path"`
	Content *[]byte `json:"content"`
}

func (r *lines) message(line []byte) (*client.Message, error) {
	var in lineMessage
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return nil, fmt.Errorf("is not a message in JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("has something after the message")
	}
	m := in.Message
	for i, a := range in.Attachments {
		file := a.Attachment
		switch {
		case (a.Path != "") == (a.Content != nil):
			return nil, fmt.Errorf("attachments[%d]: needs either path or content", i)
		case a.Path != "":
			named := client.File(a.Path)
			file.Open = named.Open
			file.Name, file.ContentType = or(file.Name, named.Name), or(file.ContentType, named.ContentType)
		default:
			content := *a.Content
			file.Open = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
		}
		m.Attachments = append(m.Attachments, file)
	}
	if m.Key == "" {
		m.Key = r.key(line)
	}
	return &m, nil
}

// key names a line by its content, and by which of its equals it is.
func (r *lines) key(line []byte) string {
	sum := sha256.Sum256(line)
	short := binary.BigEndian.Uint64(sum[:])
	n := r.seen[short]
	r.seen[short] = n + 1
	key := r.name + "/" + hex.EncodeToString(sum[:16])
	if n > 0 {
		key += "/" + strconv.FormatUint(uint64(n), 10)
	}
	return key
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
