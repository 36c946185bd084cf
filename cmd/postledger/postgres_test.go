package main_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/testserver"
	"github.com/postledger/postledger/internal/transport/transporttest/sink"
)

// onPostgres is a place whose ledger is a fresh PostgreSQL database.
func onPostgres(t *testing.T, set ...string) place {
	t.Helper()
	key := command(t, nil, "keys", "encryption", "--out", "-").token(t)
	return newPlace(t, append([]string{"POSTLEDGER_DATABASE=" + testserver.Postgres(t), "POSTLEDGER_ENCRYPTION_KEY=" + key}, set...)...)
}

// onDatabase is a place on a kind of database, and what its first serve needs to
// be told.
func onDatabase(t *testing.T, db string) (p place, args []string) {
	t.Helper()
	if db == "postgres" {
		return onPostgres(t), []string{"--migrate"}
	}
	return newPlace(t), nil
}

// On PostgreSQL nothing is migrated or made up without being told.
func TestPostgresNeedsToBeTold(t *testing.T) {
	t.Parallel()
	p := onPostgres(t)
	p.run(t, "serve").expect(t, 1, "holds no ledger yet", "postledger migrate up")
	p.run(t, "keys", "create", "--operator", "--out", "-").expect(t, 1, "postledger migrate up")
	p.run(t, "migrate", "status").expect(t, 1, "missing")
	without := place{p.dir, append(append([]string{}, p.env...), "POSTLEDGER_ENCRYPTION_KEY=")}
	p.run(t, "migrate", "up").expect(t, 0, "applied")
	without.run(t, "serve").expect(t, 1, "encryption_key: is not set")
	p.run(t, "backup").expect(t, 0, "pg_dump --format=custom --file=postledger.dump")

	s := p.start(t)
	operator := s.operator(t)
	command(t, operator, "profiles", "put", "box", "--from", "a@example.org", "--transport", "sandbox").
		expect(t, 1, "invalid_profile", "a sandbox, which sends nothing")
	if code := s.signal(t, syscall.SIGTERM); code != 0 {
		t.Fatalf("exit code %d: %s", code, s.logged())
	}
	meant := place{p.dir, append(append([]string{}, p.env...), "POSTLEDGER_ALLOW_SANDBOX=true")}
	s = meant.start(t)
	operator = s.operator(t)
	command(t, operator, "profiles", "put", "box", "--from", "a@example.org", "--transport", "sandbox").expect(t, 0)
	app := s.appKey(t, "shop")
	command(t, app, "send", "--to", "a@example.com", "--subject", "x", "--text", "x", "--wait").expect(t, 0, "sent")
	p.run(t, "restored").expect(t, 1, "serves this ledger", "stop every process first")
	s.signal(t, syscall.SIGTERM)
	p.run(t, "serve").expect(t, 1, "the default profile is a sandbox")
	p.run(t, "restored").expect(t, 0, "0 deliveries")
	p.run(t, "books").expect(t, 0, "The books balance.")
	p.run(t, "migrate", "down").expect(t, 0, "missing")
}

// Two processes share a ledger. One is killed in the middle; the other sends
// what it had not, and nobody gets two copies.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	const messages = 200
	r := newRelay(t, sink.Config{LateEvery: 1, Late: 10e6})
	// They share the journal directory, as processes of one machine should.
	p := onPostgres(t, "POSTLEDGER_TIMINGS__RECOVERY=200ms")
	s1 := p.start(t, "--migrate")
	command(t, s1.operator(t), "profiles", "put", "relay", "--from", "shop@example.org", "--transport", "smtp",
		"--host", "127.0.0.1", "--port", r.port, "--tls", "none", "--connections", "4").expect(t, 0)
	app := s1.appKey(t, "shop")
	s2 := p.start(t)
	c := s2.client(t, app)
	if _, err := c.SendBatch(t.Context(), batchOf(messages)); err != nil {
		t.Fatal(err)
	}
	until(t, c, "some were sent", func(n map[postledger.Status]int) bool { return n[postledger.StatusSent] >= 20 })
	s1.signal(t, syscall.SIGKILL)
	n := until(t, c, "all is settled", settled)
	const connections = 4
	if n[postledger.StatusUnconfirmed] > connections || n[postledger.StatusSent]+n[postledger.StatusUnconfirmed] != messages {
		t.Errorf("%v", n)
	}
	for who, k := range r.copies(t) {
		if k > 1 {
			t.Errorf("%s got %d copies", who, k)
		}
	}
	books(t, p)
	if code := s2.signal(t, syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d: %s", code, s2.logged())
	}
	if strings.Contains(s2.logged(), "encryption key: back it up") {
		t.Error("a key was made on PostgreSQL")
	}
}
