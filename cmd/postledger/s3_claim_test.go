package main_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/postledger/postledger/internal/testserver"
)

// Two ledgers with one bucket and prefix would take each other's attachments for
// orphans: the second does not start, deletes nothing, and says why. One that
// starts while the store is gone finds out before it writes anything.
func TestABucketIsOneLedgers(t *testing.T) {
	t.Parallel()
	b := newBucketPlaces(t)
	first, _ := b.place(t)
	s := first.start(t, "--migrate")
	b.relay(t, s.operator(t))
	m, _ := letter("kept@example.com", 1000)
	if _, err := s.client(t, s.appKey(t, "shop")).Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	kept := b.store.Objects(t)

	b.env[0] = "POSTLEDGER_DATABASE=" + testserver.Postgres(t)
	second, line := b.place(t)
	second.run(t, "migrate", "up").expect(t, 0)
	const why = "belong to the ledger"
	refused, _ := second.launch(t)
	<-refused.done
	if code := refused.cmd.ProcessState.ExitCode(); code == 0 || !strings.Contains(refused.logged(), why) {
		t.Fatalf("exit code %d: %s", code, refused.logged())
	}
	if r := second.run(t, "doctor", "--no-login", "--no-dns"); r.code == 0 || !strings.Contains(r.stdout, why) {
		t.Errorf("doctor: %d, %s", r.code, r.stdout)
	}
	if r := second.run(t, "retention", "run"); r.code == 0 || !strings.Contains(r.stderr, why) {
		t.Errorf("retention: %d, %s", r.code, r.stderr)
	}

	line.Refuse(true)
	late := second.start(t)
	b.relay(t, late.operator(t))
	app := late.appKey(t, "shop")
	line.Refuse(false)
	m, _ = letter("lost@example.com", 1000)
	if a, err := late.impatient(t, app).Send(t.Context(), m); err == nil {
		t.Errorf("it accepted an attachment: %+v", a)
	}
	if objects := b.store.Objects(t); strings.Join(objects, " ") != strings.Join(kept, " ") {
		t.Errorf("there is %q, was %q", objects, kept)
	}
	late.signal(t, syscall.SIGTERM)

	// The ledger itself starts there again, with the id that a restored one has too.
	s.signal(t, syscall.SIGTERM)
	first.start(t)
}
