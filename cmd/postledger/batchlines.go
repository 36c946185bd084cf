package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"

	"github.com/schollz/progressbar/v3"

	"github.com/postledger/postledger/client"
)

// lines reads messages. It holds one line, and eight bytes for each line that
// was read, to tell equal ones apart: some 30 MB a million.
type lines struct {
	in   *bufio.Reader
	bar  *progressbar.ProgressBar
	name string
	n    int
	seen map[uint64]uint32
	// next numbers the messages, and of says in which lines those are that were
	// not heard of yet: a batch at most.
	next int64
	of   map[int64]int
	// skip, if set, hears of lines that are no message and are left out.
	skip    func(error)
	skipped int
}

// maxLine is the server's bound of a request.
const maxLine = 32 << 20

// errLine is a line that is no message, unlike a file that cannot be read.
type errLine struct {
	n   int
	err error
}

func (e *errLine) Error() string { return fmt.Sprintf("line %d: %s", e.n, e.err) }
func (e *errLine) Unwrap() error { return e.err }

func (r *lines) messages() iter.Seq2[*client.Message, error] {
	return func(yield func(*client.Message, error) bool) {
		for {
			m, err := r.read()
			var bad *errLine
			switch {
			case errors.Is(err, io.EOF) && !errors.As(err, &bad):
				return
			case r.skip != nil && errors.As(err, &bad):
				r.skipped++
				r.skip(bad)
				continue
			case err == nil:
				r.of[r.next] = r.n
				r.next++
			}
			if !yield(m, err) || err != nil {
				return
			}
		}
	}
}

func (r *lines) read() (*client.Message, error) {
	line, err := r.line()
	if err != nil {
		return nil, err
	}
	m, err := r.message(line)
	if err != nil {
		return nil, &errLine{r.n, err}
	}
	return m, nil
}

// line reads the next line that is not empty. A byte order mark before the first
// is what some programs begin every text with.
func (r *lines) line() ([]byte, error) {
	for {
		var line []byte
		size := 0
		for {
			part, err := r.in.ReadSlice('\n')
			if size += len(part); size <= maxLine {
				line = append(line, part...)
			}
			if errors.Is(err, bufio.ErrBufferFull) {
				continue
			}
			if err != nil && (!errors.Is(err, io.EOF) || size == 0) {
				return nil, err
			}
			break
		}
		r.n++
		_ = r.bar.Add(size) // it only draws
		if size > maxLine {
			return nil, &errLine{r.n, fmt.Errorf("is longer than %d bytes", maxLine)}
		}
		if r.n == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}

// inLine names the field of a numbered message by its line: "messages[7].to"
// is "line 9: to".
func (r *lines) inLine(field string) string {
	number, rest, ok := strings.Cut(strings.TrimPrefix(field, "messages["), "]")
	i, err := strconv.ParseInt(number, 10, 64)
	n := r.of[i]
	if !ok || err != nil || n == 0 {
		return field
	}
	return fmt.Sprintf("line %d: %s", n, strings.TrimPrefix(rest, "."))
}

// inLines is an error of the sequence of messages as one of the file.
func (r *lines) inLines(err error) error {
	var batch *client.BatchError
	if !errors.As(err, &batch) {
		return err
	}
	var refused *client.Error
	if errors.As(batch.Err, &refused) {
		for i := range refused.Fields {
			refused.Fields[i].Field = r.inLine(refused.Fields[i].Field)
		}
	}
	return fmt.Errorf("send lines %d to %d: %w", r.of[batch.First], r.of[batch.Last], batch.Err)
}

// lineMessage is a message as a line has it: an attachment names a file, or
// has its content in base64. What must not be empty where it is given would not be in
// the request, as if it had been left out: an empty profile would be the default one.
type lineMessage struct {
	client.Message
	Attachments []lineAttachment `json:"attachments"`
	Profile     *string          `json:"profile"`
	Key         *string          `json:"idempotency_key"`
}

type lineAttachment struct {
	client.Attachment
	Path    string  `json:"path"`
	Content *[]byte `json:"content"`
	SHA256  *string `json:"sha256"`
}

// given sets a text that a line gives, unless it is empty.
func given(field string, text, to *string) error {
	if text == nil {
		return nil
	}
	if *text == "" {
		return fmt.Errorf("%s: is empty; leave it out, or give a value", field)
	}
	*to = *text
	return nil
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
	if err := errors.Join(given("profile", in.Profile, &m.Profile), given("idempotency_key", in.Key, &m.Key)); err != nil {
		return nil, err
	}
	for i, a := range in.Attachments {
		file := a.Attachment
		if err := given(fmt.Sprintf("attachments[%d].sha256", i), a.SHA256, &file.SHA256); err != nil {
			return nil, err
		}
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
