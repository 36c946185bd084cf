package main_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/postledger/postledger/client"
	"github.com/postledger/postledger/internal/testserver"
)

// A server that is killed while it counts leaves nothing behind: no file of addresses' marks, no
// session at the source, and no half of a count. The next one counts as if nothing had been.
func TestKillWhileAudienceIsCounted(t *testing.T) {
	t.Parallel()
	source := testserver.Postgres(t)
	// More different addresses than a count holds in memory.
	const rows = 600_000
	execAll(t, "pgx", source, "CREATE TABLE users (id bigint PRIMARY KEY, email text)",
		fmt.Sprintf("INSERT INTO users SELECT i, 'u' || i || '@rcv.test' FROM generate_series(1, %d) i", rows), "ANALYZE users")
	p := newPlace(t)
	p.env = append(p.env, "POSTLEDGER_SOURCES__SHOP__DSN="+source, "POSTLEDGER_SOURCES__SHOP__APPS=shop")
	s := p.start(t)
	s.operator(t)
	app := s.appKey(t, "shop")
	d := writeFile(t, "d.yaml", "source: shop\naddress: email\ncategory: activity\nlens: {from: users, where: {everyone: true}, select: [email]}\n", 0o600)
	command(t, app, "audience", "put", "all", "--file", d).expect(t, 0)

	c := s.client(t, app)
	ctx, cancel := context.WithCancel(t.Context())
	counted := make(chan error, 1)
	go func() {
		_, err := c.PreviewAudience(ctx, client.PreviewRequest{Audience: "all", Want: []client.Want{client.WantCounts}})
		counted <- err
	}()
	fds := fmt.Sprintf("/proc/%d/fd", s.cmd.Process.Pid)
	counts := filepath.Join(p.dir, "counts")
	eventually(t, "something is written down", func() bool {
		select {
		case err := <-counted:
			t.Fatalf("the count ended before: %v", err)
		default:
		}
		open, _ := os.ReadDir(fds) // some are closed meanwhile
		for _, fd := range open {
			if to, _ := os.Readlink(filepath.Join(fds, fd.Name())); strings.HasPrefix(to, counts) {
				return true
			}
		}
		return false
	})
	s.signal(t, syscall.SIGKILL)
	cancel()
	if err := <-counted; err == nil {
		t.Error("a count whose server was killed has a result")
	}
	if left, err := os.ReadDir(counts); err != nil || len(left) > 0 {
		t.Errorf("%d files are left: %v", len(left), err)
	}
	db, err := sql.Open("pgx", source)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	eventually(t, "the source has no session of it", func() bool {
		sessions := -1
		err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()").Scan(&sessions)
		return err == nil && sessions == 0
	})

	again := p.start(t)
	app[0] = "POSTLEDGER_SERVER=" + again.api
	command(t, app, "audience", "count", "all").expect(t, 0, fmt.Sprintf("matched           %d\n", rows), fmt.Sprintf("mailable        %d\n", rows))
}
