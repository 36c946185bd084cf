package journal_test

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/deliver/journal"
)

// The test binary starts itself again as the worker that gets killed.
const (
	childRole = "JOURNAL_TEST_CHILD"
	childDir  = "JOURNAL_TEST_DIR"
)

func TestMain(m *testing.M) {
	switch role := os.Getenv(childRole); role {
	case "":
		os.Exit(m.Run())
	case "steps":
		stepChild(os.Getenv(childDir))
	case "storm":
		stormChild(os.Getenv(childDir))
	case "noroom":
		noRoomChild(os.Getenv(childDir))
	default:
		panic("unknown role " + role)
	}
}

func childOwner() journal.Owner {
	return journal.Owner{Ledger: numbered('L', 1, 0), Worker: numbered('W', 1, 0)}
}

// numbered is an id that can be told from its number.
func numbered(kind byte, seq uint64, i int) postledger.ID {
	id := postledger.ID{0: kind, 1: byte(i)}
	binary.BigEndian.PutUint64(id[8:], seq)
	return id
}

// record is what the child writes for a number: the parent knows it too.
func record(seq uint64) journal.Record {
	r := journal.Record{Envelope: numbered('E', seq, 0), Answered: true}
	for i := range int(seq%5) + 1 {
		r.Members = append(r.Members, journal.Member{Delivery: numbered('D', seq, i), Fence: int64(seq%7) + 1})
		r.Outcomes = append(r.Outcomes, postledger.Outcome{
			Class: postledger.OutcomeClass((seq + uint64(i)) % 8), Phase: postledger.Phase(seq % 11), Code: 200 + int(seq%400),
			Reason: postledger.Reasons()[seq%20], Text: fmt.Sprintf("reply %d to %d", seq, i), ProviderID: fmt.Sprintf("q%d", seq),
		})
	}
	return r
}

// known is what the child tells Begun: every second member, if it can be
// decided by then; the others are in doubt.
func known(r journal.Record) []postledger.Outcome {
	k := make([]postledger.Outcome, len(r.Outcomes))
	decided := false
	for i, o := range r.Outcomes {
		k[i].Class = postledger.OutcomeUnknown
		if i%2 == 1 && o.Class.Certain() && o.Class != postledger.OutcomeAccepted {
			k[i], decided = o, true
		}
	}
	if !decided {
		return nil
	}
	return k
}

// begun is what a record says before its answer.
func begun(r journal.Record) journal.Record {
	r.Outcomes, r.Answered = known(r), false
	return r
}

// check fails unless a record found is exactly what the child wrote.
func check(t *testing.T, got journal.Record) (seq uint64) {
	t.Helper()
	seq = binary.BigEndian.Uint64(got.Envelope[8:])
	want := record(seq)
	if !got.Answered {
		want = begun(want)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("half-written record:\n got %+v\nwant %+v", got, want)
	}
	return seq
}

// startChild runs the test binary in a role.
func startChild(t *testing.T, role, dir string) (cmd *exec.Cmd, stdin io.WriteCloser, stdout io.Reader) {
	t.Helper()
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childRole+"="+role, childDir+"="+dir)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	must(t, err)
	stdout, err = cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	return cmd, stdin, stdout
}

// kill sends SIGKILL and waits until the kernel has let go of the lock.
func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	must(t, cmd.Process.Kill())
	if err := cmd.Wait(); err == nil {
		t.Error("the child ended by itself")
	}
}

func openOnly(t *testing.T, dir string) *journal.Dead {
	t.Helper()
	entries, err := journal.List(dir, childOwner().Ledger)
	must(t, err)
	if len(entries) != 1 {
		t.Fatalf("%d journals, want 1", len(entries))
	}
	d, err := journal.Open(entries[0].Path)
	must(t, err)
	return d
}

var stepNames = []string{"created", "half begun", "begun", "half answered", "answered", "freed", "begun again"}

// stepChild does one step, names it, and waits to be told to go on.
func stepChild(dir string) {
	j, err := journal.Create(dir, childOwner(), 1)
	exitOn(err)
	in := bufio.NewReader(os.Stdin)
	done := func(name string) {
		fmt.Println(name)
		_, err := in.ReadString('\n')
		exitOn(err)
	}
	r, again := record(4), record(5)
	done("created")
	slot, err := j.HalfBegun(r.Envelope, r.Members, known(r))
	exitOn(err)
	done("half begun")
	exitOn(j.Free(slot))
	slot, err = j.Begun(r.Envelope, r.Members, known(r))
	exitOn(err)
	done("begun")
	j.HalfAnswered(slot, r.Outcomes)
	done("half answered")
	exitOn(j.Answered(slot, r.Outcomes))
	done("answered")
	exitOn(j.Free(slot))
	done("freed")
	_, err = j.Begun(again.Envelope, again.Members, known(again))
	exitOn(err)
	done("begun again")
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(3)
	}
}

// Invariant 4: whatever step the worker was killed at, the journal says what
// was on the wire.
func TestKilledAtEachStep(t *testing.T) {
	half, answered, again := begun(record(4)), record(4), begun(record(5))
	if half.Outcomes == nil || again.Outcomes != nil {
		t.Fatal("the records show only one kind of begun")
	}
	want := map[string][]journal.Record{
		"created": nil, "half begun": nil, "begun": {half}, "half answered": {half},
		"answered": {answered}, "freed": nil, "begun again": {again},
	}
	for _, at := range stepNames {
		t.Run(at, func(t *testing.T) {
			dir := t.TempDir()
			cmd, stdin, stdout := startChild(t, "steps", dir)
			for lines := bufio.NewScanner(stdout); lines.Scan() && lines.Text() != at; {
				_, err := io.WriteString(stdin, "\n")
				must(t, err)
			}
			if at == "begun" {
				entries, err := journal.List(dir, childOwner().Ledger)
				must(t, err)
				if _, err := journal.Open(entries[0].Path); !errors.Is(err, journal.ErrAlive) {
					t.Errorf("open of another process's journal: %v, want ErrAlive", err)
				}
				if _, err := journal.Create(dir, childOwner(), 1); err == nil {
					t.Error("a second process made the same journal")
				}
			}
			kill(t, cmd)
			d := openOnly(t, dir)
			if got := d.Records(); !reflect.DeepEqual(got, want[at]) {
				t.Errorf("got %+v, want %+v", got, want[at])
			}
			must(t, d.Remove())
		})
	}
}

const (
	stormGoroutines = 12
	stormSlots      = 3 * stormGoroutines
)

// stormChild begins, answers and frees as fast as it can on twelve goroutines
// that hold up to three slots each. Some report each step: 'B' after Begun
// returned, 'A' after Answered returned, 'F' before Free is called.
func stormChild(dir string) {
	j, err := journal.Create(dir, childOwner(), stormSlots)
	exitOn(err)
	var group sync.WaitGroup
	for g := range uint64(stormGoroutines) {
		group.Go(func() {
			say := func(step byte, seq uint64) {
				if g%3 != 0 {
					return // silent ones are killed inside the journal more often
				}
				b := [9]byte{step}
				binary.BigEndian.PutUint64(b[1:], seq)
				_, err := os.Stdout.Write(b[:]) // at most PIPE_BUF: never torn
				exitOn(err)
			}
			var held [3]journal.Slot
			for turn := uint64(0); ; turn++ {
				seq := turn*stormGoroutines + g
				r := record(seq)
				slot, err := j.Begun(r.Envelope, r.Members, known(r))
				exitOn(err)
				held[turn%3] = slot
				say('B', seq)
				if turn >= 1 && turn%4 != 0 {
					before := seq - stormGoroutines
					exitOn(j.Answered(held[(turn-1)%3], record(before).Outcomes))
					say('A', before)
				}
				if turn >= 2 {
					say('F', seq-2*stormGoroutines)
					exitOn(j.Free(held[(turn-2)%3]))
				}
				exitOn(j.SetBeat(seq))
			}
		})
	}
	group.Wait()
}

// stormOnce kills a storm after a random number of reports and compares the
// journal with what was reported.
func stormOnce(t *testing.T) (records int) {
	dir := t.TempDir()
	cmd, _, stdout := startChild(t, "storm", dir)
	last := make(map[uint64]byte)
	in := bufio.NewReader(stdout)
	killAfter := 1 + rand.IntN(4000)
	for n := 0; ; n++ {
		var b [9]byte
		if _, err := io.ReadFull(in, b[:]); err != nil {
			break // the pipe ends with the child
		}
		last[binary.BigEndian.Uint64(b[1:])] = b[0]
		if n == killAfter {
			must(t, cmd.Process.Kill())
		}
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != -1 {
		t.Fatalf("the child was not killed: %v", err)
	}

	d := openOnly(t, dir)
	found := make(map[uint64]bool)
	for _, r := range d.Records() {
		seq := check(t, r)
		if found[seq] {
			t.Errorf("%d is recorded twice", seq)
		}
		found[seq] = true
		if last[seq] == 'A' && !r.Answered {
			t.Errorf("%d was answered and its record is only begun", seq)
		}
	}
	for seq, step := range last {
		if step != 'F' && !found[seq] {
			t.Errorf("%d reached %c, was not freed and has no record", seq, step)
		}
	}
	must(t, d.Remove())
	return len(found)
}

func TestRandomKills(t *testing.T) { storms(t, 10) }

func TestRandomKillsLong(t *testing.T) {
	if os.Getenv("POSTLEDGER_LONG") == "" {
		t.Skip("POSTLEDGER_LONG is not set")
	}
	storms(t, 200)
}

func storms(t *testing.T, kills int) {
	records := 0
	for range kills {
		records += stormOnce(t)
	}
	if records == 0 {
		t.Error("no kill met a taken slot: the test has shown nothing")
	}
	t.Logf("%d kills, %d records left by them, all whole", kills, records)
}

func TestNoRoomIsAnErrorOfCreate(t *testing.T) {
	cmd, _, stdout := startChild(t, "noroom", t.TempDir())
	said, err := io.ReadAll(stdout)
	must(t, err)
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, said)
	}
}

// noRoomChild stands a limit on file sizes in for a full disk.
func noRoomChild(dir string) {
	runtime.LockOSThread()
	signal.Ignore(syscall.SIGXFSZ)
	exitOn(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1 << 16, Max: 1 << 16}))
	_, err := journal.Create(dir, childOwner(), 64)
	if err == nil || !strings.Contains(err.Error(), "allocate") {
		exitOn(fmt.Errorf("create on a full disk: %w", errors.Join(err, errors.New("want a refusal to allocate"))))
	}
	files, err := os.ReadDir(dir)
	exitOn(err)
	if len(files) != 0 {
		exitOn(fmt.Errorf("left behind: %v", files))
	}
}
