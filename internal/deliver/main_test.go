package deliver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/app/killpoint"
	"github.com/postledger/postledger/internal/deliver"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/transport/smtp"
)

// childVariable makes the test binary a worker process that can be killed.
const childVariable = "POSTLEDGER_TEST_WORKER"

// childConfig is what a worker process is told.
type childConfig struct {
	Database, JournalDir string
	// StopAt is a kill point at which the process stops itself once, as
	// SIGSTOP does.
	StopAt string
	// StopWithin bounds the stop; 0 is 20 s.
	StopWithin time.Duration
	// Shorter limits for tests of liveness; zero is the default.
	Heartbeat, StaleAfter, LostAfter time.Duration
}

func TestMain(m *testing.M) {
	if v := os.Getenv(childVariable); v != "" {
		if err := runChild(v); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		// These tests wait for disks, servers and other processes.
		_ = flag.Set("test.parallel", "6")
	}
	code := m.Run()
	shared.process.end()
	os.Exit(code)
}

// stopHere stops the process at this very instruction: a signal to the whole
// process may be taken up by another thread while this one runs on.
func stopHere() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_ = unix.Tgkill(unix.Getpid(), unix.Gettid(), unix.SIGSTOP)
}

// runChild is a worker until its stdin ends.
func runChild(config string) error {
	var c childConfig
	if err := json.Unmarshal([]byte(config), &c); err != nil {
		return err
	}
	kill, err := killpoint.Parse(os.Getenv(killpoint.Variable))
	if err != nil {
		return err
	}
	var stopped sync.Once
	at := func(point string) {
		if point == c.StopAt {
			stopped.Do(stopHere)
		}
		kill.At(point)
	}
	ctx := context.Background()
	l, err := ledger.Open(ctx, c.Database, ledger.Options{})
	if err != nil {
		return err
	}
	w, err := deliver.New(deliver.Config{
		Ledger: l, JournalDir: c.JournalDir, Host: "test", Version: "test", Kill: at,
		Hop: func(p postledger.Profile) (deliver.Hop, error) {
			var s settings
			if err := json.Unmarshal(p.Config.Settings, &s); err != nil {
				return deliver.Hop{}, err
			}
			tr, err := smtp.New(smtp.Config{Host: "127.0.0.1", Port: s.Port, TLS: smtp.TLSNone, MaxConnections: p.Config.Connections})
			return deliver.Hop{Transport: tr}, err
		},
		Pause:         func(context.Context, postledger.ID, string) error { return nil },
		Open:          func(context.Context, string) (io.ReadCloser, error) { return nil, os.ErrNotExist },
		PollImmediate: 20 * time.Millisecond, PollBulk: 20 * time.Millisecond,
		Heartbeat: c.Heartbeat, StaleAfter: c.StaleAfter, LostAfter: c.LostAfter,
	})
	if err != nil {
		return err
	}
	if err := w.Start(ctx); err != nil {
		return err
	}
	fmt.Println("started", w.ID())
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	if c.StopWithin == 0 {
		c.StopWithin = 20 * time.Second
	}
	stop, cancel := context.WithTimeout(ctx, c.StopWithin)
	defer cancel()
	if err := w.Stop(stop); err != nil {
		return err
	}
	return l.Close()
}
