package app_test

import (
	"database/sql"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver registers itself

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/app"
	"github.com/postledger/postledger/internal/app/config"
	"github.com/postledger/postledger/internal/secret"
	"github.com/postledger/postledger/lens/catalogue"
)

// sourcesOf has one source, "shop", that the app shop may use.
func sourcesOf(t *testing.T, dsn string) (*app.Sources, postledger.App) {
	t.Helper()
	c := config.Default()
	c.Database = config.SQLite(filepath.Join(t.TempDir(), "ledger.db"))
	c.Sources = map[string]config.Source{"shop": {DSN: secret.NewValue(dsn), Apps: []string{"shop"}, Timeout: time.Second}}
	s, err := app.NewSources(&c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, postledger.App{Name: "shop"}
}

// Who waits while it is found that a source does not answer is told so, and does not try for
// as long again: six that ask at once take no six times as long.
func TestThoseWhoWaitForASourceThatHangsHearOfIt(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var tries atomic.Int64
	first := make(chan struct{})
	hold := make(chan struct{})
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if tries.Add(1) == 1 {
				close(first)
				<-hold
			}
			_ = conn.Close() // an end without a word is a failure
		}
	}()
	s, shop := sourcesOf(t, "postgres://reader@"+l.Addr().String()+"/shop?sslmode=disable")
	const all = 6
	var wg sync.WaitGroup
	var refused atomic.Int64
	ask := func() {
		if _, err := s.Open(t.Context(), "shop", shop, false); err != nil {
			refused.Add(1)
		}
	}
	wg.Go(ask)
	<-first
	waiting := make(chan struct{}, all)
	for range all - 1 {
		wg.Go(func() {
			waiting <- struct{}{}
			ask()
		})
	}
	for range all - 1 {
		<-waiting
	}
	// What the first one meets is not looked for again by those who wait behind it.
	tried := tries.Load()
	close(hold)
	wg.Wait()
	more := tries.Load() - tried
	if refused.Load() != all || more > 2*2 {
		t.Errorf("%d of %d were refused; %d connections were made after the first", refused.Load(), all, more)
	}
}

// The file of a DSN is read again, so that a password can be changed while the server runs.
func TestAChangedDSNIsTakenUp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"old", "new"} {
		db, err := sql.Open("sqlite", filepath.Join(dir, name+".db"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.ExecContext(t.Context(), "CREATE TABLE "+name+" (id integer PRIMARY KEY)"); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "dsn")
	point := func(name string) {
		if err := os.WriteFile(file, []byte("sqlite:"+filepath.Join(dir, name+".db")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	point("old")
	s, shop := sourcesOf(t, "file:"+file)
	before, err := s.Open(t.Context(), "shop", shop, false)
	if err != nil {
		t.Fatal(err)
	}
	point("new")
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(30 * time.Second); ; <-tick.C {
		now, err := s.Open(t.Context(), "shop", shop, true)
		if err != nil {
			t.Fatal(err)
		}
		if _, found := now.Catalogue.Table("new"); found {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the file's new content is not read")
		}
	}
	// Who began before may finish.
	if _, err := before.Source.Catalogue(t.Context(), catalogue.Model{}); err != nil {
		t.Errorf("the source that was in use: %v", err)
	}
}
