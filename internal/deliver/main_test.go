package deliver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

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
	os.Exit(m.Run())
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
	ctx := context.Background()
	l, err := ledger.Open(ctx, c.Database, ledger.Options{})
	if err != nil {
		return err
	}
	w, err := deliver.New(deliver.Config{
		Ledger: l, JournalDir: c.JournalDir, Host: "test", Version: "test", Kill: kill.At,
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
	stop, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if err := w.Stop(stop); err != nil {
		return err
	}
	return l.Close()
}
