package main

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/postledger/postledger/internal/testserver"
)

// host lets a program use the tests' servers: it is what they need of a test.
// What they register is undone when close is called.
type host struct {
	testing.TB // nil: only what is below may be called
	cleanups   []func()
}

// refusal is what Fatal panics with, for onServers to catch.
type refusal struct{ error }

func (*host) Helper()                      {}
func (*host) Logf(string, ...any)          {}
func (h *host) Cleanup(f func())           { h.cleanups = append(h.cleanups, f) }
func (*host) Fatal(args ...any)            { panic(refusal{errors.New(fmt.Sprint(args...))}) }
func (*host) Fatalf(f string, args ...any) { panic(refusal{fmt.Errorf(f, args...)}) }
func (*host) Skip(args ...any)             { panic(refusal{errors.New(fmt.Sprint(args...))}) }
func (*host) Error(args ...any)            { fmt.Fprintln(os.Stderr, args...) }
func (*host) Errorf(f string, args ...any) { fmt.Fprintf(os.Stderr, f+"\n", args...) }

func (h *host) TempDir() string {
	dir, err := os.MkdirTemp("", "postledger-bench-")
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func (h *host) close() {
	for len(h.cleanups) > 0 {
		last := len(h.cleanups) - 1
		f := h.cleanups[last]
		h.cleanups = h.cleanups[:last]
		f()
	}
}

// servers are what the measured programs talk to.
type servers struct {
	postgres string // URL
	host     *host  // starts what only some parts need
	admin    string // URL of the same database as superuser
	sink     *sinkProcess
	dir      string // for SQLite files and journals
	// statements: the server can count what each statement costs.
	statements bool
}

// onServers starts PostgreSQL and the sink, and ends them when fn has returned.
func onServers(fn func(*servers) error) (err error) {
	h := &host{}
	defer h.close()
	defer func() {
		switch p := recover().(type) {
		case nil:
		case refusal:
			err = p.error
		default:
			panic(p)
		}
	}()
	s := &servers{host: h, dir: h.TempDir()}
	// Room enough that no run waits for a checkpoint that another one owes.
	pg := testserver.PrivatePostgres(h, "shared_buffers=512MB", "max_wal_size=4GB")
	s.postgres, s.admin = pg.URL(), pg.AdminURL()
	if s.statements, err = s.has("pg_stat_statements"); err != nil {
		return err
	}
	if s.statements {
		if err := s.prepareStatements(func() { pg.Stop(testserver.StopFast); pg.Start() }); err != nil {
			return err
		}
	}
	if s.sink, err = startSink(sinkConfig{}); err != nil {
		return err
	}
	h.Cleanup(s.sink.stop)
	return fn(s)
}
