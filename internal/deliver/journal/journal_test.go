package journal_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/deliver/journal"
)

// ids makes distinct ids for a test.
type ids struct{ source postledger.IDSource }

func (s *ids) next() postledger.ID { return s.source.Next(time.Unix(1_800_000_000, 0)) }

func (s *ids) owner() journal.Owner {
	return journal.Owner{Ledger: s.next(), Worker: s.next()}
}

func (s *ids) members(n int) []journal.Member {
	m := make([]journal.Member, n)
	for i := range m {
		m[i] = journal.Member{Delivery: s.next(), Fence: int64(i + 1)}
	}
	return m
}

func create(t testing.TB, dir string, owner journal.Owner, slots int) *journal.Journal {
	t.Helper()
	j, err := journal.Create(dir, owner, slots)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Abandon(); err != nil && !errors.Is(err, journal.ErrClosed) {
			t.Error(err)
		}
	})
	return j
}

// reopen ends a journal as a crash would and opens what it left.
func reopen(t testing.TB, j *journal.Journal) *journal.Dead {
	t.Helper()
	if err := j.Abandon(); err != nil {
		t.Fatal(err)
	}
	d, err := journal.Open(j.Path())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestARecordLivesFromBegunToFree(t *testing.T) {
	var s ids
	owner := s.owner()
	j := create(t, t.TempDir(), owner, 4)

	freed, doubt, refused, answered := s.next(), s.next(), s.next(), s.next()
	one, three := s.members(1), s.members(3)
	outcomes := []postledger.Outcome{
		{Class: postledger.OutcomeAccepted, Phase: postledger.PhaseDot, Code: 250, Enhanced: postledger.EnhancedCode{2, 0, 0}, Text: "2.0.0 Ok: queued as 4F2", ProviderID: "4F2"},
		{Class: postledger.OutcomeRefused, Phase: postledger.PhaseRcpt, Reason: postledger.ReasonRejectedRecipient, Code: 550, Enhanced: postledger.EnhancedCode{5, 1, 1}, Text: "no such user"},
		{Class: postledger.OutcomeDeferred, Phase: postledger.PhaseRcpt, Reason: postledger.ReasonDeferred, Code: 450, Enhanced: postledger.EnhancedCode{4, 2, 1}, Text: "Postfach gerade gesperrt – später"},
	}

	slot, err := j.Begun(freed, one, nil)
	must(t, err)
	must(t, j.Answered(slot, outcomes[:1]))
	must(t, j.Free(slot))
	_, err = j.Begun(doubt, one, nil)
	must(t, err)
	known := []postledger.Outcome{{Class: postledger.OutcomeUnknown}, outcomes[1], outcomes[2]}
	_, err = j.Begun(refused, three, known)
	must(t, err)
	slot, err = j.Begun(answered, three, known)
	must(t, err)
	must(t, j.Answered(slot, outcomes))
	must(t, j.SetBeat(77))
	if got := j.Taken(); got != 3 {
		t.Errorf("taken = %d, want 3", got)
	}

	d := reopen(t, j)
	h := d.Header()
	if h.Owner != owner || h.Slots != 4 || h.Beat != 77 || h.Clean {
		t.Errorf("header = %+v", h)
	}
	got := make(map[postledger.ID]journal.Record)
	for _, r := range d.Records() {
		got[r.Envelope] = r
	}
	want := map[postledger.ID]journal.Record{
		doubt:    {Envelope: doubt, Members: one},
		refused:  {Envelope: refused, Members: three, Outcomes: known},
		answered: {Envelope: answered, Members: three, Outcomes: outcomes, Answered: true},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("records:\n got %+v\nwant %+v", got, want)
	}
}

func TestEveryReasonFits(t *testing.T) {
	var s ids
	j := create(t, t.TempDir(), s.owner(), 1)
	reasons := postledger.Reasons()
	outcomes := make([]postledger.Outcome, 0, len(reasons))
	for _, r := range reasons {
		if len(r) > journal.MaxReason {
			t.Errorf("reason %q has %d bytes, the journal keeps %d", r, len(r), journal.MaxReason)
		}
		outcomes = append(outcomes, postledger.Outcome{Class: postledger.OutcomeRefused, Reason: r})
	}
	slot, err := j.Begun(s.next(), s.members(len(outcomes)), nil)
	must(t, err)
	must(t, j.Answered(slot, outcomes))
	if got := reopen(t, j).Records()[0].Outcomes; !reflect.DeepEqual(got, outcomes) {
		t.Errorf("got %+v", got)
	}
}

func TestACleanStopLeavesTheHeartbeat(t *testing.T) {
	var s ids
	dir, owner := t.TempDir(), s.owner()
	j := create(t, dir, owner, 1)
	must(t, j.SetBeat(9))
	slot, err := j.Begun(s.next(), s.members(1), nil)
	must(t, err)
	if err := j.Close(); !errors.Is(err, journal.ErrInUse) {
		t.Fatalf("close with a taken slot: %v, want ErrInUse", err)
	}
	if _, err := journal.Open(j.Path()); !errors.Is(err, journal.ErrAlive) {
		t.Errorf("open after a refused close: %v, want ErrAlive", err)
	}
	must(t, j.Free(slot))
	must(t, j.Close())

	entries, err := journal.List(dir, owner.Ledger)
	must(t, err)
	if len(entries) != 1 || !entries[0].Header.Clean || entries[0].Header.Beat != 9 || entries[0].Err != nil {
		t.Fatalf("entries = %+v", entries)
	}
	d, err := journal.Open(entries[0].Path)
	must(t, err)
	must(t, d.Remove())
	if _, err := os.Stat(j.Path()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after Remove: %v", err)
	}
}

func TestAClosedJournalRecordsNothing(t *testing.T) {
	var s ids
	j := create(t, t.TempDir(), s.owner(), 1)
	slot, err := j.Begun(s.next(), s.members(1), nil)
	must(t, err)
	must(t, j.Free(slot))
	must(t, j.Close())
	_, begun := j.Begun(s.next(), s.members(1), nil)
	for name, err := range map[string]error{
		"begun": begun, "answered": j.Answered(slot, make([]postledger.Outcome, 1)), "free": j.Free(slot),
		"beat": j.SetBeat(1), "close": j.Close(), "abandon": j.Abandon(),
	} {
		if !errors.Is(err, journal.ErrClosed) {
			t.Errorf("%s: %v, want ErrClosed", name, err)
		}
	}
}

func TestFullIsAnErrorAndPasses(t *testing.T) {
	var s ids
	j := create(t, t.TempDir(), s.owner(), 2)
	first, err := j.Begun(s.next(), s.members(1), nil)
	must(t, err)
	_, err = j.Begun(s.next(), s.members(1), nil)
	must(t, err)
	if _, err := j.Begun(s.next(), s.members(1), nil); !errors.Is(err, journal.ErrFull) {
		t.Fatalf("third of two: %v, want ErrFull", err)
	}
	must(t, j.Free(first))
	if _, err := j.Begun(s.next(), s.members(1), nil); err != nil {
		t.Error(err)
	}
}

func TestMisuseChangesNothing(t *testing.T) {
	var s ids
	j := create(t, t.TempDir(), s.owner(), 2)
	envelope, members := s.next(), s.members(2)
	accepted := []postledger.Outcome{{Class: postledger.OutcomeAccepted}, {Class: postledger.OutcomeAccepted}}
	for name, call := range map[string]func() error{
		"no envelope":      func() error { _, err := j.Begun(postledger.ID{}, members, nil); return err },
		"no member":        func() error { _, err := j.Begun(envelope, nil, nil); return err },
		"51 members":       func() error { _, err := j.Begun(envelope, s.members(51), nil); return err },
		"no delivery":      func() error { _, err := j.Begun(envelope, []journal.Member{{Fence: 1}}, nil); return err },
		"no fence":         func() error { _, err := j.Begun(envelope, []journal.Member{{Delivery: envelope}}, nil); return err },
		"one known of two": func() error { _, err := j.Begun(envelope, members, accepted[:1]); return err },
		"accepted before":  func() error { _, err := j.Begun(envelope, members, accepted); return err },
		"zero slot":        func() error { return j.Answered(journal.Slot{}, accepted) },
	} {
		if err := call(); !errors.Is(err, journal.ErrMisuse) {
			t.Errorf("%s: %v, want ErrMisuse", name, err)
		}
	}

	old, err := j.Begun(s.next(), members, nil)
	must(t, err)
	must(t, j.Free(old))
	doubt, refused := postledger.Outcome{Class: postledger.OutcomeUnknown}, postledger.Outcome{Class: postledger.OutcomeRefused}
	slot, err := j.Begun(envelope, members, []postledger.Outcome{doubt, refused}) // the same slot, another turn
	must(t, err)
	for name, call := range map[string]func() error{
		"answer by an old handle": func() error { return j.Answered(old, accepted) },
		"free by an old handle":   func() error { return j.Free(old) },
		"one outcome for two":     func() error { return j.Answered(slot, accepted[:1]) },
		"accepted once refused":   func() error { return j.Answered(slot, accepted) },
	} {
		if err := call(); !errors.Is(err, journal.ErrMisuse) {
			t.Errorf("%s: %v, want ErrMisuse", name, err)
		}
	}
	answer := []postledger.Outcome{accepted[0], refused}
	must(t, j.Answered(slot, answer))
	if err := j.Answered(slot, make([]postledger.Outcome, 2)); !errors.Is(err, journal.ErrMisuse) {
		t.Errorf("second answer: %v, want ErrMisuse", err)
	}
	records := reopen(t, j).Records()
	if len(records) != 1 || records[0].Envelope != envelope || !reflect.DeepEqual(records[0].Outcomes, answer) {
		t.Errorf("records = %+v", records)
	}
}

// Invariant 5: texts are evidence only; whatever their size, the classes and
// provider ids of fifty recipients are kept.
func TestTextsAreCutAndClassesKept(t *testing.T) {
	var s ids
	long := strings.Repeat("ü", 200)
	for name, c := range map[string]struct {
		n        int
		text     func(i int) string
		provider func(i int) string
		wantText func(i int, got string) bool
		wantProv func(i int, got string) bool
	}{
		"one long text": {
			n: 1, text: func(int) string { return long }, provider: func(int) string { return strings.Repeat("p", 200) },
			wantText: func(_ int, got string) bool { return got == long[:journal.MaxText] },
			wantProv: func(_ int, got string) bool { return len(got) == 200 },
		},
		"cut inside a character": {
			n: 1, text: func(int) string { return "a" + long }, provider: func(int) string { return strings.Repeat("p", 201) },
			wantText: func(_ int, got string) bool { return got == ("a" + long)[:journal.MaxText-1] },
			wantProv: func(_ int, got string) bool { return got == "" },
		},
		"shared reply of fifty": {
			n: 50, text: func(int) string { return long }, provider: func(int) string { return "4F2" },
			wantText: func(_ int, got string) bool { return got == long[:journal.MaxText] },
			wantProv: func(_ int, got string) bool { return got == "4F2" },
		},
		"fifty different": {
			n: 50, text: func(i int) string { return strings.Repeat(string(rune('A'+i)), 400) },
			provider: func(i int) string { return strings.Repeat(string(rune('A'+i)), 36) },
			wantText: func(i int, got string) bool {
				return got == strings.Repeat(string(rune('A'+i)), len(got)) && (i > 15 || len(got) == journal.MaxText)
			},
			wantProv: func(i int, got string) bool { return got == strings.Repeat(string(rune('A'+i)), 36) },
		},
		"not UTF-8": {
			n: 1, text: func(int) string { return "a\xffb" }, provider: func(int) string { return "\xff" },
			wantText: func(_ int, got string) bool { return got == "a?b" },
			wantProv: func(_ int, got string) bool { return got == "" },
		},
	} {
		t.Run(name, func(t *testing.T) {
			j := create(t, t.TempDir(), s.owner(), 1)
			outcomes := make([]postledger.Outcome, c.n)
			for i := range outcomes {
				outcomes[i] = postledger.Outcome{Class: postledger.OutcomeClass(i % 8), Text: c.text(i), ProviderID: c.provider(i)}
			}
			slot, err := j.Begun(s.next(), s.members(c.n), nil)
			must(t, err)
			must(t, j.Answered(slot, outcomes))
			for i, o := range reopen(t, j).Records()[0].Outcomes {
				if o.Class != outcomes[i].Class || !c.wantText(i, o.Text) || !c.wantProv(i, o.ProviderID) {
					t.Errorf("outcome %d = %+v", i, o)
				}
			}
		})
	}
}

func TestImpossibleOutcomesPromiseNothing(t *testing.T) {
	var s ids
	j := create(t, t.TempDir(), s.owner(), 1)
	slot, err := j.Begun(s.next(), s.members(1), nil)
	must(t, err)
	must(t, j.Answered(slot, []postledger.Outcome{{
		Class: 200, Phase: 99, Code: 70000, Enhanced: postledger.EnhancedCode{2, 1000, 0},
		Reason: postledger.Reason(strings.Repeat("r", 30)),
	}}))
	got := reopen(t, j).Records()[0].Outcomes[0]
	if want := (postledger.Outcome{Class: postledger.OutcomeUnknown}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestCreateRefusesBadInput(t *testing.T) {
	var s ids
	dir := t.TempDir()
	for name, c := range map[string]struct {
		owner journal.Owner
		slots int
		say   string
	}{
		"no ledger":      {journal.Owner{Worker: s.next()}, 1, "ledger id"},
		"no worker":      {journal.Owner{Ledger: s.next()}, 1, "worker id"},
		"no slot":        {s.owner(), 0, "0 slots"},
		"too many slots": {s.owner(), journal.MaxSlots + 1, "slots"},
	} {
		if _, err := journal.Create(dir, c.owner, c.slots); err == nil || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: %v", name, err)
		}
	}
	owner := s.owner()
	create(t, dir, owner, 1)
	if _, err := journal.Create(dir, owner, 1); !errors.Is(err, fs.ErrExist) {
		t.Errorf("same worker twice: %v, want ErrExist", err)
	}
	files, err := os.ReadDir(dir)
	must(t, err)
	if len(files) != 1 {
		t.Errorf("files left: %v", files)
	}
}

func TestFilesArePrivate(t *testing.T) {
	var s ids
	dir := filepath.Join(t.TempDir(), "a", "wire")
	j := create(t, dir, s.owner(), 1)
	for path, want := range map[string]fs.FileMode{dir: 0o700, j.Path(): 0o600} {
		st, err := os.Stat(path)
		must(t, err)
		if st.Mode().Perm() != want {
			t.Errorf("%s has mode %o, want %o", path, st.Mode().Perm(), want)
		}
	}
}

func TestLeftoversOfAKilledCreateAreSwept(t *testing.T) {
	var s ids
	dir := t.TempDir()
	left, young := filepath.Join(dir, s.next().String()+".journal.new"), filepath.Join(dir, s.next().String()+".journal.new")
	must(t, os.WriteFile(left, []byte("half"), 0o600))
	must(t, os.WriteFile(young, nil, 0o600))
	create(t, dir, s.owner(), 1)
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("unlocked leftover: %v, want it gone", err)
	}
	if _, err := os.Stat(young); err != nil {
		t.Errorf("a file somebody may be making right now: %v", err)
	}
}

func TestSpaceIsAllocatedWithoutFallocate(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "space"))
	must(t, err)
	defer f.Close()
	const size = 4096 + 9*8192
	must(t, journal.WriteZeros(f, size))
	must(t, f.Sync()) // ext4 counts blocks when it has chosen them
	st, err := f.Stat()
	must(t, err)
	if blocks := st.Sys().(*syscall.Stat_t).Blocks; st.Size() != size || blocks*512 < size {
		t.Errorf("%d bytes in %d blocks, want %d bytes with all of its blocks", st.Size(), blocks, size)
	}
}
