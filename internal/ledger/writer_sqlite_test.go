package ledger_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/ledger/ledgertest"
)

// fileWorld is a world in a file of its own, that reopen opens again.
func fileWorld(t *testing.T) (w *ledgertest.World, reopen func() *ledger.Ledger) {
	return worldIn(t, filepath.Join(t.TempDir(), "ledger.db"))
}

func worldIn(t *testing.T, file string) (w *ledgertest.World, reopen func() *ledger.Ledger) {
	url := "sqlite://" + file
	w = ledgertest.NewWorld(t, func(t *testing.T) *ledger.Ledger { return openOnce(t, url) })
	t.Cleanup(func() { _ = w.Close() })
	return w, func() *ledger.Ledger {
		t.Helper()
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return open(t, url)
	}
}

// openOnce opens a ledger that the test closes.
func openOnce(t *testing.T, url string) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(t.Context(), url, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l
}

// accept sends a message of a size and returns what its caller was told.
func accept(w *ledgertest.World, key string, size int) (ledger.NewMessage, error) {
	m := w.Message([]string{"a@x.example"}, ledgertest.WithKey(key, "f"))
	m.Content.Text = strings.Repeat("x", size)
	_, err := w.Accept(context.WithoutCancel(w.T.Context()), w.Request(m))
	return m, err
}

// there fails unless a message is in the file, or is not, with all that
// belongs to it.
func there(t *testing.T, l *ledger.Ledger, m ledger.NewMessage, want bool) {
	t.Helper()
	_, row, err := l.DeliveryByID(t.Context(), m.Deliveries[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	known, err := l.LookupKeys(t.Context(), m.Message.AppID, []string{m.Key}, []string{"f"})
	if err != nil {
		t.Fatal(err)
	}
	if _, key := known[0]; row != want || key != want {
		t.Errorf("%s: row %v, key %v, want %v", m.Key, row, key, want)
	}
}

func balance(t *testing.T, l *ledger.Ledger) {
	t.Helper()
	if r, err := l.Books(t.Context(), nil); err != nil || len(r.Differences) != 0 {
		t.Errorf("books %+v %v", r, err)
	}
}

// Invariant 2: a full disk makes SQLite roll the shared transaction back in the
// middle of a group. Whoever was in it hears that nothing was committed, and
// whoever was not goes on in the next.
func TestFullDiskEndsTheGroup(t *testing.T) {
	w, reopen := fileWorld(t)
	other := w.StartNewWorker()
	old := w.Send([]string{"old@x.example"})[0]
	lease := w.LeaseN(1)[0]
	if err := w.LimitPages(t.Context(), 8); err != nil {
		t.Fatal(err)
	}
	var big ledger.NewMessage
	var errs [4]error
	held := w.Group(
		t.Context(),
		func() {
			_, errs[0] = w.ExecRaw(t.Context(), `INSERT INTO settings (name, value) VALUES ('before', '')`)
		},
		func() {
			_, errs[1] = w.Settle(t.Context(), []ledger.Settlement{{ID: old, Fence: lease.Fence, Mover: postledger.MoverWorker, To: postledger.StatusSent}})
		},
		func() { big, errs[2] = accept(w, "big", 1<<20) },
		func() { _, errs[3] = w.Heartbeat(t.Context(), other.ID, ledger.Counts{Beats: 1}) },
	)
	for i, err := range append(errs[:3:3], held) {
		if err == nil || ledger.FateOpen(err) || errors.Is(err, ledger.ErrFateUnknown) || !strings.Contains(err.Error(), "full") {
			t.Errorf("in the group, %d: %v", i, err)
		}
	}
	after, err := accept(w, "after", 10)
	if err := errors.Join(errs[3], err); err != nil {
		t.Errorf("behind the group: %v", err)
	}
	if _, err := accept(w, "big", 1<<20); err == nil {
		t.Error("a megabyte fits into eight pages")
	}
	if err := w.LimitPages(t.Context(), -1); err != nil {
		t.Fatal(err)
	}
	late, err := accept(w, "late", 1<<20)
	if err != nil {
		t.Errorf("once there is room: %v", err)
	}
	l := reopen()
	if _, err := l.ExecRaw(t.Context(), `INSERT INTO settings (name, value) VALUES ('before', '')`); err != nil {
		t.Errorf("put again what was undone: %v", err)
	}
	there(t, l, big, false)
	there(t, l, after, true)
	there(t, l, late, true)
	if d, _, err := l.DeliveryByID(t.Context(), old); err != nil || d.Status != postledger.StatusSending {
		t.Errorf("the settle that was undone: %s %v", d.Status, err)
	}
	if v, _, err := l.WorkerByID(t.Context(), other.ID); err != nil || v.Beats != 2 {
		t.Errorf("the heartbeat behind the group: %d %v", v.Beats, err)
	}
	balance(t, l)
}

// A refusal may rest on what is undone: here on a key that nobody has used.
func TestRefusalIsUndoneWithItsGroup(t *testing.T) {
	w, _ := fileWorld(t)
	if err := w.LimitPages(t.Context(), 8); err != nil {
		t.Fatal(err)
	}
	var mismatch *ledger.MismatchError
	var errs [3]error
	held := w.Group(
		t.Context(),
		func() {
			_, errs[0] = w.ExecRaw(t.Context(), `INSERT INTO idempotency_keys (app_id, key, fingerprint, created_at) VALUES (?, 'k', 'other', 1)`, w.App.ID)
		},
		func() { _, errs[1] = accept(w, "k", 10) },
		func() {
			_, errs[2] = w.ExecRaw(t.Context(), `INSERT INTO contents (message_id, text_body) VALUES (x'00', hex(zeroblob(1000000)))`)
		},
	)
	for i, err := range append(errs[:], held) {
		if err == nil || errors.As(err, &mismatch) {
			t.Errorf("%d: %v", i, err)
		}
	}
}

// What runs after SQLite's own rollback, in an operation that overlooked it,
// would commit alone.
func TestNothingCommitsOutsideTheTransaction(t *testing.T) {
	w, reopen := fileWorld(t)
	if err := w.LimitPages(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	put := `INSERT INTO settings (name, value) VALUES ('overlooked', '')`
	own, err := w.ExecAll(t.Context(), `INSERT INTO contents (message_id, text_body) VALUES (x'00', hex(zeroblob(1000000)))`, put)
	if err == nil || own[0] == nil || own[1] == nil {
		t.Errorf("told %v, its statements %v", err, own)
	}
	if err := w.LimitPages(t.Context(), -1); err != nil {
		t.Fatal(err)
	}
	// The same statement finds its row where it was committed.
	if _, err := reopen().ExecRaw(t.Context(), put); err != nil {
		t.Errorf("put it again: %v", err)
	}
}

// A statement of several rows that finds no room is undone by itself, and the
// transaction of the others goes on.
func TestFullDiskInOneStatement(t *testing.T) {
	w, reopen := fileWorld(t)
	if err := w.LimitPages(t.Context(), 8); err != nil {
		t.Fatal(err)
	}
	var m ledger.NewMessage
	var errs [2]error
	held := w.Group(
		t.Context(),
		func() {
			_, errs[0] = w.ExecRaw(t.Context(), `INSERT INTO contents (message_id, text_body)
			SELECT value, hex(zeroblob(100000)) FROM json_each('["a", "b", "c"]')`)
		},
		func() { m, errs[1] = accept(w, "k", 10) },
	)
	if errs[0] == nil || errs[1] != nil || held != nil {
		t.Errorf("told %v, %v", errs, held)
	}
	l := reopen()
	there(t, l, m, true)
	balance(t, l)
}

// A file that another program holds is waited for once by a group of requests,
// and not by each of them.
func TestHeldFileIsWaitedForOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledger.db")
	w, reopen := worldIn(t, file)
	const requests, wait = 30, time.Second
	if _, err := w.ExecRaw(t.Context(), fmt.Sprint("PRAGMA busy_timeout = ", wait.Milliseconds())); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	holder, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := holder.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	began := time.Now()
	for i := range requests {
		wg.Go(func() {
			if _, err := accept(w, fmt.Sprint(i), 10); err == nil || ledger.FateOpen(err) || errors.Is(err, ledger.ErrFateUnknown) {
				t.Errorf("request %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if waited := time.Since(began); waited > requests/2*wait {
		t.Errorf("%d requests waited %s for a file that each asks for during %s", requests, waited, wait)
	}
	if err := errors.Join(holder.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
	m, err := accept(w, "late", 10)
	if err != nil {
		t.Errorf("once it is free: %v", err)
	}
	l := reopen()
	there(t, l, m, true)
	balance(t, l)
}

// A connection whose ROLLBACK failed is inside that transaction until the next
// operation, and no longer.
func TestNoTransactionIsStayedIn(t *testing.T) {
	w, reopen := fileWorld(t)
	put := `INSERT INTO settings (name, value) VALUES ('left', '')`
	if err := w.Inside(t.Context(), put); err != nil {
		t.Fatal(err)
	}
	m, err := accept(w, "k", 10)
	if err != nil {
		t.Fatal(err)
	}
	l := reopen()
	there(t, l, m, true)
	if _, err := l.ExecRaw(t.Context(), put); err != nil {
		t.Errorf("put again what was not committed: %v", err)
	}
}

// What a COMMIT may have left in the write-ahead log is written over, which
// takes a page that has changed.
func TestSealWritesAPage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledger.db")
	w, _ := worldIn(t, file)
	size := func() int64 {
		info, err := os.Stat(file + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	for range 2 {
		before := size()
		if err := w.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
		if size() <= before {
			t.Errorf("%d bytes before, %d after", before, size())
		}
	}
}
