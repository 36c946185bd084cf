package journal_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/deliver/journal"
)

func TestOnlyOneProcessHoldsAJournal(t *testing.T) {
	var s ids
	j := create(t, t.TempDir(), s.owner(), 1)
	if _, err := journal.Open(j.Path()); !errors.Is(err, journal.ErrAlive) {
		t.Errorf("open of a living journal: %v, want ErrAlive", err)
	}
	if err := journal.Discard(j.Path()); !errors.Is(err, journal.ErrAlive) {
		t.Errorf("discard of a living journal: %v, want ErrAlive", err)
	}
	d := reopen(t, j)
	if _, err := journal.Open(j.Path()); !errors.Is(err, journal.ErrAlive) {
		t.Errorf("second recovery: %v, want ErrAlive", err)
	}
	must(t, d.Remove())
	if _, err := journal.Open(j.Path()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("open of a recovered journal: %v, want ErrNotExist", err)
	}
}

func TestAnotherBootProvesNothing(t *testing.T) {
	var s ids
	dir, owner := t.TempDir(), s.owner()
	j, err := journal.CreateUnder(dir, owner, s.next(), 1)
	must(t, err)
	must(t, j.SetBeat(5))
	must(t, j.Abandon())
	if _, err := journal.Open(j.Path()); !errors.Is(err, journal.ErrOtherBoot) {
		t.Errorf("open: %v, want ErrOtherBoot", err)
	}
	entries, err := journal.List(dir, owner.Ledger)
	must(t, err)
	if len(entries) != 1 || entries[0].Err != nil || entries[0].Header.Beat != 5 {
		t.Errorf("entries = %+v", entries)
	}
	must(t, journal.Discard(j.Path()))
	if err := journal.Discard(j.Path()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("second discard: %v, want ErrNotExist", err)
	}
}

func TestDamageIsSeenAndProvesNothing(t *testing.T) {
	var s ids
	owner := s.owner()
	j := create(t, t.TempDir(), owner, 3)
	slot, err := j.Begun(s.next(), s.members(2), nil)
	must(t, err)
	must(t, j.Answered(slot, []postledger.Outcome{{Class: postledger.OutcomeAccepted, Text: "ok"}, {Class: postledger.OutcomeRefused}}))
	_, err = j.Begun(s.next(), s.members(2), []postledger.Outcome{{Class: postledger.OutcomeUnknown}, {Class: postledger.OutcomeRefused, Text: "no"}})
	must(t, err)
	must(t, j.Abandon())
	whole, err := os.ReadFile(j.Path())
	must(t, err)

	flip := func(at int) func([]byte) []byte {
		return func(b []byte) []byte { b[at] ^= 1; return b }
	}
	cut := func(n int) func([]byte) []byte { return func(b []byte) []byte { return b[:n] } }
	for name, damage := range map[string]func([]byte) []byte{
		"empty":         cut(0),
		"short header":  cut(100),
		"header only":   cut(4096),
		"cut in a slot": cut(len(whole) - 1),
		"too long":      func(b []byte) []byte { return append(b, 0) },
		"magic":         flip(0),
		"version":       flip(8),
		"slot size":     flip(12),
		"slot count":    flip(16),
		"ledger":        flip(24),
		"worker":        flip(40),
		"boot":          flip(56),
		"clean flag":    func(b []byte) []byte { b[88] = 2; return b },
		"all zero":      func(b []byte) []byte { clear(b); return b },
		"state":         flip(journal.SlotOffset(0)),
		"state of free": flip(journal.SlotOffset(2)),
		"member count":  flip(journal.SlotOffset(0) + 4),
		"envelope":      flip(journal.SlotOffset(1) + 8),
		"member":        flip(journal.SlotOffset(1) + 70),
		"decided":       flip(journal.SlotOffset(1) + 24),
		"known outcome": flip(journal.SlotOffset(1) + 64 + 50*24 + 40),
		"known text":    flip(journal.SlotOffset(1) + 64 + 50*64),
		"outcome":       flip(journal.SlotOffset(0) + 64 + 50*24),
		"text":          flip(journal.SlotOffset(0) + 64 + 50*64),
		"zero page":     func(b []byte) []byte { clear(b[journal.SlotOffset(0)+4 : journal.SlotOffset(1)]); return b },
		"another's slots": func(b []byte) []byte {
			copy(b[journal.SlotOffset(0)+8:], b[journal.SlotOffset(1)+8:journal.SlotOffset(1)+24])
			return b
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, filepath.Base(j.Path()))
			must(t, os.WriteFile(path, damage(append([]byte(nil), whole...)), 0o600))
			if _, err := journal.Open(path); !errors.Is(err, journal.ErrCorrupt) {
				t.Errorf("open: %v, want ErrCorrupt", err)
			}
			must(t, journal.Discard(path))
		})
	}

	t.Run("copied under another name", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), s.next().String()+".journal")
		must(t, os.WriteFile(path, whole, 0o600))
		if _, err := journal.Open(path); !errors.Is(err, journal.ErrCorrupt) {
			t.Errorf("open: %v, want ErrCorrupt", err)
		}
	})
	t.Run("a pipe", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), s.next().String()+".journal")
		must(t, syscall.Mkfifo(path, 0o600))
		if _, err := journal.Open(path); !errors.Is(err, journal.ErrCorrupt) {
			t.Errorf("open: %v, want ErrCorrupt", err)
		}
	})
	t.Run("a link", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), filepath.Base(j.Path()))
		must(t, os.Symlink(j.Path(), path))
		if d, err := journal.Open(path); err == nil {
			t.Error("a symbolic link was followed")
			_ = d.Close()
		}
	})
}

func TestListFindsALedgersJournals(t *testing.T) {
	var s ids
	dir := filepath.Join(t.TempDir(), "wire")
	if entries, err := journal.List(dir, s.next()); err != nil || entries != nil {
		t.Errorf("no directory: %v, %v", entries, err)
	}
	mine, other := s.owner(), s.owner()
	create(t, dir, mine, 1)
	create(t, dir, other, 1)
	damaged := s.next()
	must(t, os.WriteFile(filepath.Join(dir, damaged.String()+".journal"), []byte("?"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "notes.journal"), nil, 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o600))

	entries, err := journal.List(dir, mine.Ledger)
	must(t, err)
	got := make(map[postledger.ID]journal.Entry)
	for _, e := range entries {
		got[e.Worker] = e
	}
	if len(got) != 2 || got[mine.Worker].Header.Owner != mine || !errors.Is(got[damaged].Err, journal.ErrCorrupt) {
		t.Errorf("entries = %+v", entries)
	}
}

// A file cut under a living worker would raise SIGBUS; instead the worker
// learns that it must send nothing more.
func TestAPageThatCannotBeWrittenIsAnError(t *testing.T) {
	var s ids
	j := create(t, t.TempDir(), s.owner(), 4)
	slot, err := j.Begun(s.next(), s.members(1), nil)
	must(t, err)
	must(t, j.Break())
	if err := j.Answered(slot, make([]postledger.Outcome, 1)); !errors.Is(err, journal.ErrBroken) {
		t.Errorf("answered: %v, want ErrBroken", err)
	}
	if _, err := j.Begun(s.next(), s.members(1), nil); !errors.Is(err, journal.ErrBroken) {
		t.Errorf("begun: %v, want ErrBroken", err)
	}
	if err := j.Free(slot); !errors.Is(err, journal.ErrBroken) {
		t.Errorf("free: %v, want ErrBroken", err)
	}
	must(t, j.Abandon())
	if _, err := journal.Open(j.Path()); !errors.Is(err, journal.ErrCorrupt) {
		t.Errorf("open: %v, want ErrCorrupt", err)
	}
}
