package audience

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// distinct counts the different addresses among any number, and how many of them
// are suppressed, in bounded memory.
//
// Each address leaves a mark of 127 bits: SHA-256 of a key of this count and the
// folded address, so that a mark says nothing once the count is done. Two
// addresses have one mark with a probability of 2^-127 a pair: below 10^-24 for
// ten million addresses, and nobody who chooses addresses knows the key. The last
// bit says that the address is suppressed.
//
// Marks are gathered in a buffer. A full buffer is sorted and repeated ones are
// dropped; when more than half of it is left, it becomes a run in a file. Runs are
// merged in the end, and sooner when there are too many. Memory: 8 MiB of marks and
// runsMost × 32 KiB of readers; disk: 16 bytes for each different address, twice
// while runs are merged.
type distinct struct {
	dir  string
	key  [32]byte
	most int
	buf  []mark
	runs []*os.File
	text []byte
}

// mark is 127 bits of a hash and, lowest, whether the address is suppressed.
type mark struct{ hi, lo uint64 }

const (
	distinctMarks = 1 << 19 // × 16 bytes = 8 MiB
	runsMost      = 64
	runBuffer     = 32 << 10
	markSize      = 16
)

func (m mark) same(other mark) bool { return m.hi == other.hi && m.lo|1 == other.lo|1 }

func compareMarks(a, b mark) int {
	return cmp.Or(cmp.Compare(a.hi, b.hi), cmp.Compare(a.lo, b.lo))
}

func newDistinct(dir string, most int) *distinct {
	d := &distinct{dir: dir, most: most}
	_, _ = rand.Read(d.key[:]) // never fails
	return d
}

func (d *distinct) add(ctx context.Context, folded string, suppressed bool) error {
	d.text = append(append(d.text[:0], d.key[:]...), folded...)
	sum := sha256.Sum256(d.text)
	m := mark{binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:16]) &^ 1}
	if suppressed {
		m.lo |= 1
	}
	if d.buf = append(d.buf, m); len(d.buf) < d.most {
		return nil
	}
	if d.compact(); len(d.buf) <= d.most/2 {
		return nil
	}
	return d.spill(ctx)
}

// compact sorts the buffer and keeps one mark an address; it is suppressed if one
// of them is.
func (d *distinct) compact() {
	slices.SortFunc(d.buf, compareMarks)
	kept := d.buf[:0]
	for _, m := range d.buf {
		if n := len(kept); n > 0 && kept[n-1].same(m) {
			kept[n-1].lo |= m.lo & 1
			continue
		}
		kept = append(kept, m)
	}
	d.buf = kept
}

func (d *distinct) spill(ctx context.Context) error {
	run, err := d.write(func(put func(mark) error) error {
		for _, m := range d.buf {
			if err := put(m); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	d.buf = d.buf[:0]
	if d.runs = append(d.runs, run); len(d.runs) < runsMost {
		return nil
	}
	one, err := d.write(func(put func(mark) error) error { return d.merge(ctx, put) })
	if err != nil {
		return err
	}
	old := d.runs
	d.runs = []*os.File{one}
	return closeAll(old)
}

// write makes a run of what fill puts. Its file has no name any more: it goes with
// the process, however that ends.
func (d *distinct) write(fill func(put func(mark) error) error) (*os.File, error) {
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return nil, fmt.Errorf("count: make a directory for sorted addresses: %w", err)
	}
	f, err := os.CreateTemp(d.dir, "count-*")
	if err != nil {
		return nil, fmt.Errorf("count: make a file for sorted addresses: %w", err)
	}
	err = os.Remove(f.Name())
	w := bufio.NewWriterSize(f, runBuffer)
	if err == nil {
		err = fill(func(m mark) error {
			var b [markSize]byte
			binary.BigEndian.PutUint64(b[:8], m.hi)
			binary.BigEndian.PutUint64(b[8:], m.lo)
			_, err := w.Write(b[:])
			return err
		})
	}
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("count: write sorted addresses: %w", err), f.Close())
	}
	return f, nil
}

// total counts what was added. Nothing can be added after it.
func (d *distinct) total(ctx context.Context) (all, suppressed int64, err error) {
	d.compact()
	if len(d.runs) > 0 {
		if err := d.spill(ctx); err != nil {
			return 0, 0, err
		}
	}
	put := func(m mark) error {
		all++
		suppressed += int64(m.lo & 1)
		return nil
	}
	if len(d.runs) > 0 {
		err = d.merge(ctx, put)
		return all, suppressed, err
	}
	for _, m := range d.buf {
		_ = put(m)
	}
	return all, suppressed, nil
}

// merge puts the marks of all runs in order, each address once.
func (d *distinct) merge(ctx context.Context, put func(mark) error) error {
	heads := make([]*head, 0, len(d.runs))
	for _, f := range d.runs {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return fmt.Errorf("count: read sorted addresses: %w", err)
		}
		h := &head{r: bufio.NewReaderSize(f, runBuffer)}
		if more, err := h.next(); err != nil {
			return err
		} else if more {
			heads = append(heads, h)
		}
	}
	var last mark
	have := false
	for n := 0; len(heads) > 0; n++ {
		if n%(1<<16) == 0 && ctx.Err() != nil {
			return fmt.Errorf("count: %w", ctx.Err())
		}
		least := 0
		for i := range heads {
			if compareMarks(heads[i].m, heads[least].m) < 0 {
				least = i
			}
		}
		m := heads[least].m
		switch {
		case have && last.same(m):
			last.lo |= m.lo & 1
		case have:
			if err := put(last); err != nil {
				return err
			}
			last = m
		default:
			last, have = m, true
		}
		more, err := heads[least].next()
		if err != nil {
			return err
		}
		if !more {
			heads = slices.Delete(heads, least, least+1)
		}
	}
	if have {
		return put(last)
	}
	return nil
}

// head is where the reading of a run is.
type head struct {
	r *bufio.Reader
	m mark
}

func (h *head) next() (bool, error) {
	var b [markSize]byte
	switch _, err := io.ReadFull(h.r, b[:]); {
	case errors.Is(err, io.EOF):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("count: read sorted addresses: %w", err)
	}
	h.m = mark{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])}
	return true, nil
}

func closeAll(files []*os.File) error {
	var errs []error
	for _, f := range files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

func (d *distinct) close() error {
	runs := d.runs
	d.runs, d.buf = nil, nil
	return closeAll(runs)
}
