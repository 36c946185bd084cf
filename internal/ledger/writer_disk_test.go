package ledger_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/ledger/ledgertest"
)

// diskVariable names the database of the child that writes to a disk with
// little room.
const diskVariable = "POSTLEDGER_TEST_DISK"

// Invariant 2, by a process that runs out of room again and again, while it
// writes a row (max_page_count) and while it commits (the bound on the size of
// a file), and is killed in the end: what callers were told is what is there.
func TestToldIsWhatIsInTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledger.db")
	cmd := osexec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestDiskChild$")
	cmd.Env = append(os.Environ(), diskVariable+"="+file)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	told := map[string][]postledger.ID{}
	for s := bufio.NewScanner(out); s.Scan(); {
		what, text, _ := strings.Cut(s.Text(), " ")
		id, err := postledger.ParseID(text)
		if err != nil {
			t.Fatalf("the child says %q", s.Text())
		}
		told[what] = append(told[what], id)
	}
	var exit *osexec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the child ended with %v", err)
	}
	for _, what := range []string{"yes", "no", "put-yes", "put-no", "last"} {
		if len(told[what]) == 0 {
			t.Errorf("nobody was told %q", what)
		}
	}

	l := open(t, "sqlite://"+file)
	for what, ids := range told {
		for _, id := range ids {
			_, found, err := l.DeliveryByID(t.Context(), id)
			if strings.HasPrefix(what, "put") {
				var n int64
				n, err = l.ExecRaw(t.Context(), `UPDATE settings SET value = 'found' WHERE name = ?`, id.String())
				found = n == 1
			}
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(what, "unknown") && found == strings.HasSuffix(what, "no") {
				t.Errorf("%s: its caller was told %q, and it is there: %v", id, what, found)
			}
		}
	}
	balance(t, l)
}

// TestDiskChild is that process.
func TestDiskChild(t *testing.T) {
	file := os.Getenv(diskVariable)
	if file == "" {
		t.Skip("POSTLEDGER_TEST_DISK is not set: TestToldIsWhatIsInTheFile runs this as a process of its own")
	}
	w := ledgertest.NewWorld(t, func(t *testing.T) *ledger.Ledger { return openOnce(t, "sqlite://"+file) })
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	room := func(bytes int) {
		l := limit
		if bytes >= 0 {
			info, err := os.Stat(file + "-wal")
			if err != nil {
				t.Fatal(err)
			}
			l.Cur = uint64(info.Size() + int64(bytes))
		}
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &l); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	tell := func(kind string, id postledger.ID, err error) {
		what := "yes"
		if errors.Is(err, ledger.ErrFateUnknown) || ledger.FateOpen(err) {
			what = "unknown"
		} else if err != nil {
			what = "no"
		}
		mu.Lock()
		defer mu.Unlock()
		fmt.Println(kind+what, id)
	}
	n := 0
	burst := func() {
		var wg sync.WaitGroup
		for range 12 {
			n++
			key, size := fmt.Sprint(n), rand.IntN(3)*rand.IntN(60_000)
			wg.Go(func() {
				m, err := accept(w, key, size)
				tell("", m.Deliveries[0].ID, err)
			})
			wg.Go(func() { // has nobody who looks up its fate
				id := w.NewID()
				_, err := w.ExecRaw(context.WithoutCancel(t.Context()), `INSERT INTO settings (name, value) VALUES (?, '')`, id.String())
				tell("put-", id, err)
			})
		}
		wg.Wait()
	}
	for range 10 {
		if err := w.LimitPages(t.Context(), rand.IntN(40)); err != nil {
			t.Fatal(err)
		}
		burst()
		if err := w.LimitPages(t.Context(), -1); err != nil {
			t.Fatal(err)
		}
		burst()
		room(rand.IntN(60_000))
		burst()
		room(-1)
	}
	m, err := accept(w, "last", 1<<20)
	if err != nil {
		t.Fatalf("with room again: %v", err)
	}
	fmt.Println("last", m.Deliveries[0].ID)
	room(0)
	burst()
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
}
