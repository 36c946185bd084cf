package main_test

import (
	"bytes"
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/client"
	"github.com/postledger/postledger/internal/transport/transporttest/sink"
)

// A backup that is taken while mail is sent, and put in the place of the
// ledger, sends nothing again: what was open in it waits for a decision
// (invariant 17).
func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	r := newRelay(t, sink.Config{})
	p := newPlace(t, "POSTLEDGER_TIMINGS__HEARTBEAT=50ms")
	s, app := relayed(t, p, r)
	operator := s.operator(t)
	c := s.client(t, app)
	command(t, operator, "profiles", "pause", "relay").expect(t, 0)
	if _, err := c.SendBatch(t.Context(), batchOf(20)); err != nil {
		t.Fatal(err)
	}
	backup := filepath.Join(t.TempDir(), "backup.db")
	p.run(t, "backup").expect(t, 2, "--out: is needed")
	p.run(t, "backup", "--out", backup).expect(t, 0, "wrote ", filepath.Join(p.dir, "blobs"), "-wal and -shm")
	p.run(t, "backup", "--out", backup).expect(t, 1, "exists")
	if info, err := os.Stat(backup); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatal(info, err)
	}
	// What was open in the backup leaves after it was taken.
	command(t, operator, "profiles", "resume", "relay").expect(t, 0)
	until(t, c, "all was sent", func(n map[postledger.Status]int) bool { return n[postledger.StatusSent] == 20 })
	// A heartbeat after the backup is what tells its age.
	awaitBeat(t, p)
	s.signal(t, syscall.SIGKILL)

	restore := func(t *testing.T) {
		t.Helper()
		old, err := filepath.Glob(p.database() + "*")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range old {
			if err := os.Remove(f); err != nil {
				t.Fatal(err)
			}
		}
		content, err := os.ReadFile(backup)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p.database(), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	decided := func(t *testing.T, s *server) {
		t.Helper()
		c := s.client(t, app)
		command(t, s.operator(t), "profiles", "resume", "relay").expect(t, 0)
		n := until(t, c, "nothing is open", settled)
		if n[postledger.StatusUnconfirmed] != 20 {
			t.Fatalf("%v", n)
		}
		command(t, s.operator(t), "messages", "resolve", "--status", "unconfirmed", "--reason", "restored", "--sent").expect(t, 0, "20 resolved")
		if n := until(t, c, "nothing is open", settled); n[postledger.StatusSent] != 20 {
			t.Errorf("%v", n)
		}
		once(t, r, 20)
	}
	// The log of the killed process is no part of the backup.
	t.Run("the former ledger's log beside it is refused", func(t *testing.T) {
		if info, err := os.Stat(p.database() + "-wal"); err != nil || info.Size() == 0 {
			t.Fatal(info, err)
		}
		content, err := os.ReadFile(backup)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p.database(), content, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"serve"}, {"restored"}, {"books"}} {
			p.run(t, args...).expect(t, 1, "it is a backup, and the -wal file beside it")
		}
		if now, err := os.ReadFile(p.database()); err != nil || !bytes.Equal(now, content) {
			t.Errorf("the backup was changed: %v", err)
		}
	})
	t.Run("it notices by itself", func(t *testing.T) {
		restore(t)
		s := p.start(t)
		if !strings.Contains(s.logged(), "the ledger was restored") {
			t.Errorf("it does not say so: %s", s.logged())
		}
		decided(t, s)
		s.signal(t, syscall.SIGTERM)
	})
	t.Run("on another machine, an operator says so", func(t *testing.T) {
		restore(t)
		if err := os.RemoveAll(filepath.Join(p.dir, "journal")); err != nil {
			t.Fatal(err)
		}
		p.run(t, "restored", "--at", "2999-01-01T00:00:00Z").expect(t, 2, "must not be in the future")
		p.run(t, "restored", "--at", "2000-01-01T00:00:00Z").expect(t, 0, "0 deliveries")
		p.run(t, "restored", "--resume").expect(t, 2, "no marking was interrupted")
		p.run(t, "restored").expect(t, 0, "20 deliveries")
		p.run(t, "restored").expect(t, 0, "0 deliveries")
		decided(t, p.start(t))
	})
}

// The books name what is missing.
func TestBooksFindADifference(t *testing.T) {
	t.Parallel()
	s, _, app := sandbox(t)
	c := s.client(t, app)
	m := &client.Message{To: client.To("a@example.com"), Subject: "x", Text: "x", Attachments: []client.Attachment{client.Bytes("a", "", []byte("x"))}}
	if _, err := c.Send(t.Context(), m, client.Wait(client.MaxWait)); err != nil {
		t.Fatal(err)
	}
	s.run(t, "books").expect(t, 0, "The books balance.")
	if err := os.RemoveAll(filepath.Join(s.dir, "blobs")); err != nil {
		t.Fatal(err)
	}
	s.run(t, "books").expect(t, 1, "--no-attachments leaves them out")
	s.run(t, "books", "--no-attachments").expect(t, 0, "The books balance.")
	if err := os.Mkdir(filepath.Join(s.dir, "blobs"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.run(t, "books").expect(t, 1, "do not balance", "attachment_lost")
	s.run(t, "books", "--json").expect(t, 1, `"balanced": false`, `"kind": "attachment_lost"`)
}

// awaitBeat waits until the process has written another heartbeat.
func awaitBeat(t *testing.T, p place) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+p.database()+"?mode=ro&_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for first := int64(0); ; <-tick.C {
		var beat int64
		if err := db.QueryRowContext(ctx, "SELECT max(beat) FROM workers").Scan(&beat); err != nil {
			t.Fatal(err)
		}
		if first == 0 {
			first = beat
		}
		if beat > first {
			return
		}
	}
}
