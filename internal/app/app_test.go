package app_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/postledger/postledger/internal/app"
	"github.com/postledger/postledger/internal/app/config"
	"github.com/postledger/postledger/internal/ledger"
)

func TestSourceOf(t *testing.T) {
	t.Parallel()
	trusted := []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	tests := map[string]struct {
		peer, forwarded, want string
	}{
		"no proxy":                       {"192.0.2.7:1", "", "192.0.2.7"},
		"a stranger's header":            {"192.0.2.7:1", "198.51.100.9", "192.0.2.7"},
		"a proxy":                        {"127.0.0.1:1", "198.51.100.9", "198.51.100.9"},
		"a proxy without the header":     {"127.0.0.1:1", "", "127.0.0.1"},
		"two proxies":                    {"127.0.0.1:1", "198.51.100.9, 10.1.2.3", "198.51.100.9"},
		"what a caller made up":          {"127.0.0.1:1", "203.0.113.1, 198.51.100.9", "198.51.100.9"},
		"nonsense":                       {"127.0.0.1:1", "203.0.113.1, nonsense", "127.0.0.1"},
		"all trusted":                    {"127.0.0.1:1", "10.0.0.1, 10.0.0.2", "10.0.0.1"},
		"IPv6":                           {"[2001:db8:1:2:3:4:5:6]:1", "", "2001:db8:1:2::/64"},
		"IPv6 behind a proxy":            {"[fd00::1]:1", "2001:db8::1", "2001:db8::/64"},
		"IPv4 in IPv6":                   {"[::ffff:192.0.2.7]:1", "", "192.0.2.7"},
		"a zone, and no address at all":  {"pipe", "", "pipe"},
		"a header with an address twice": {"10.9.9.9:1", "198.51.100.9,198.51.100.9", "198.51.100.9"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest("GET", "/", nil)
			r.RemoteAddr = tt.peer
			if tt.forwarded != "" {
				r.Header.Set("X-Forwarded-For", tt.forwarded)
			}
			if got := app.SourceOf(trusted)(r); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

func TestReadinessIsKeptForASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, fault := 0, error(nil)
		r := app.NewReadiness(map[string]func(context.Context) error{"ledger": func(context.Context) error { asked++; return fault }})
		for range 10 {
			if err := r.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if asked != 1 {
			t.Errorf("asked %d times", asked)
		}
		fault = errors.New("down")
		<-time.After(2 * time.Second)
		if err := r.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "ledger: down") {
			t.Errorf("%v", err)
		}
		fault = nil
		<-time.After(2 * time.Second)
		if err := r.Ready(t.Context()); err != nil {
			t.Error(err)
		}
		r.Stop()
		if err := r.Ready(t.Context()); err == nil {
			t.Error("ready while it stops")
		}
	})
}

func TestLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "ledger.db")
	l, err := app.LockSQLite(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := app.LockSQLite(path); !errors.Is(err, ledger.ErrInUse) {
		t.Errorf("twice: %v", err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if l, err = app.LockSQLite(path); err != nil {
		t.Fatalf("after the release: %v", err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if err := (*app.Lock)(nil).Release(); err != nil {
		t.Error(err)
	}
}

// A start that fails leaves nothing running, and nothing locked.
func TestAFailedStartTakesItselfDown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := config.Default()
	c.DataDir, c.Database = dir, config.SQLite(filepath.Join(dir, "l.db"))
	c.Blobs, c.JournalDir = filepath.Join(dir, "blobs"), "/proc/journal"
	c.HTTP, c.AdminHTTP = "127.0.0.1:0", config.Off
	if err := app.New(c, app.Options{}).Start(t.Context()); err == nil {
		t.Fatal("it started without a journal")
	}
	c.JournalDir = filepath.Join(dir, "journal")
	a := app.New(c, app.Options{})
	if err := a.Start(t.Context()); err != nil {
		t.Fatalf("the second start: %v", err)
	}
	if a.AdminAddr() != "" || a.Addr() == "" {
		t.Errorf("%q %q", a.Addr(), a.AdminAddr())
	}
	if err := a.Stop(); err != nil {
		t.Error(err)
	}
}
