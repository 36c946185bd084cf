package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/schollz/progressbar/v3"

	"github.com/postledger/postledger/client"
)

type batchCmd struct {
	remote
	File        string `arg:"" help:"File with one message in JSON a line; - is the standard input."`
	Name        string `help:"Names the whole file, in idempotency keys: another name sends it again. Default the file's name." placeholder:"TEXT"`
	Profile     string `help:"Profile to send as; default the default profile."`
	SkipRefused bool   `help:"Leave out lines that are no message or break a rule, and go on. Exit code 1 if there were any."`
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
	r := &lines{in: bufio.NewReaderSize(in, 64<<10), bar: bar, name: name, seen: map[uint64]uint32{}, of: map[int64]int{}}
	if c.SkipRefused {
		r.skip = func(err error) { fmt.Fprintln(e.stderr, printable(err.Error())) }
	}
	total, err := c.send(e.ctx, e, sender, r)
	total.Refused += r.skipped
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
			return t, r.inLines(err)
		case len(m.Refused) > 0:
			t.Refused++
			for _, f := range m.Refused {
				fmt.Fprintf(e.stderr, "%s %s\n", printable(r.inLine(f.Field)), printable(f.Message))
			}
		case m.Gone:
			t.Gone++
		case m.Replayed:
			t.Replayed++
		default:
			t.Accepted++
		}
		if err == nil {
			delete(r.of, m.N)
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

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
