package testserver

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

// PostgresServer is a server of one test's own, to be stopped, killed and
// frozen. Its methods fail the test when they cannot do what they say.
type PostgresServer struct {
	tb       testing.TB
	programs postgresPrograms
	owner    osUser
	dir      string
	cluster  cluster
	settings []string
	log      string
	server   *process // nil while stopped
	frozen   []known  // what Pause stopped, the postmaster last
}

// StopMode is how a server is told to end.
type StopMode int

const (
	// StopFast ends sessions, writes a checkpoint and ends: an orderly restart.
	StopFast StopMode = iota
	// StopImmediate abandons everything at once, as a crash of the server does:
	// sessions break, and the next start recovers from the write-ahead log.
	StopImmediate
)

// appDatabase is the database that a private server begins with.
const appDatabase = "postledger"

// PrivatePostgres starts a server that belongs to this test. Settings are given
// as "name=value". When the server programs are not installed because
// POSTLEDGER_TEST_POSTGRES_URL names another server, the test is skipped.
func PrivatePostgres(tb testing.TB, settings ...string) *PostgresServer {
	tb.Helper()
	return privatePostgres(tb, "", settings)
}

// PostgresOn is PrivatePostgres with its data on a disk of the test's own.
func PostgresOn(tb testing.TB, disk string, settings ...string) *PostgresServer {
	tb.Helper()
	return privatePostgres(tb, disk, settings)
}

func privatePostgres(tb testing.TB, disk string, settings []string) *PostgresServer {
	tb.Helper()
	if _, ok := findPostgres(); !ok && os.Getenv(postgresURLVariable) != "" {
		tb.Skip("POSTLEDGER_TEST_POSTGRES_URL is set and no PostgreSQL is installed: this test must stop a server of its own")
	}
	dir := sharedDir(tb)
	s := &PostgresServer{
		tb:       tb,
		programs: needPostgres(tb),
		owner:    postgresUser(tb),
		dir:      dir,
		settings: slices.Clone(settings),
		log:      filepath.Join(tb.TempDir(), "postgres.log"),
	}
	useSharedDir(tb, dir)
	if disk == "" {
		disk = dir
	} else if err := s.owner.own(disk); err != nil {
		tb.Fatalf("create a private PostgreSQL server: %v", err)
	}
	var err error
	s.cluster, err = initCluster(s.programs, s.owner, disk, "private-"+randomHex(6), reservePort(tb))
	tb.Cleanup(s.remove)
	if err != nil {
		tb.Fatalf("create a private PostgreSQL server: %v", err)
	}
	s.Start()
	if err := s.cluster.createRole(); err != nil {
		tb.Fatalf("create the private server's role: %v", err)
	}
	create := "CREATE DATABASE " + appDatabase + " OWNER " + appRole + " TEMPLATE template0"
	if err := admin(s.cluster.url(superuser, "postgres"), statement(create)); err != nil {
		tb.Fatalf("create the private server's database: %v", err)
	}
	return s
}

// URL is the server's database, owned by a role without superuser rights. It
// stays the same over restarts.
func (s *PostgresServer) URL() string { return s.cluster.url(appRole, appDatabase) }

// AdminURL reaches the same database as superuser.
func (s *PostgresServer) AdminURL() string { return s.cluster.url(superuser, appDatabase) }

// Addr is the host and port, to put a [Proxy] in front of.
func (s *PostgresServer) Addr() string { return loopback(s.cluster.Port) }

// Start starts a stopped server and returns when it answers.
func (s *PostgresServer) Start() {
	s.tb.Helper()
	if s.server != nil {
		s.tb.Fatal("start PostgreSQL: it already runs")
	}
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.tb.Fatalf("start PostgreSQL: %v", err)
	}
	defer log.Close()
	cmd := s.owner.command(s.dir, s.programs.path("postgres"), s.cluster.serverArgs(s.settings...)...)
	cmd.Stdout, cmd.Stderr = log, log
	server, err := startProcess(cmd)
	if err != nil {
		s.tb.Fatal(err)
	}
	s.server = server
	if err := server.awaitReady(s.cluster.ready); err != nil {
		s.tb.Fatalf("start PostgreSQL: %v\n%s", err, tail(s.log))
	}
}

// Stop ends the server and returns when it is gone.
func (s *PostgresServer) Stop(mode StopMode) {
	s.tb.Helper()
	if s.server == nil {
		s.tb.Fatal("stop PostgreSQL: it does not run")
	}
	s.thaw()
	ask := syscall.SIGINT
	if mode == StopImmediate {
		ask = syscall.SIGQUIT
	}
	s.end(ask, startTimeout)
}

// end asks with the signal, then kills, and returns when every process is gone.
func (s *PostgresServer) end(ask syscall.Signal, patience time.Duration) {
	s.tb.Helper()
	s.server.signal(ask)
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-s.server.done: // it waits for its children
		s.server = nil
	case <-timer.C:
		s.Kill()
	}
}

// Kill ends every process of the server at one moment, as a power failure
// does but for the disk. It returns when they are gone.
func (s *PostgresServer) Kill() {
	s.tb.Helper()
	s.Pause() // so that none does anything about the end of another
	s.killFrozen()
	s.server = nil
}

// killFrozen kills what Pause has stopped and returns when all of it has ended: a
// server that starts while one process of the last is still attached to the shared
// memory refuses to.
func (s *PostgresServer) killFrozen() {
	s.tb.Helper()
	for _, p := range s.frozen {
		_ = syscall.Kill(p.pid, syscall.SIGKILL) // frozen, so the id is still its own
	}
	for _, p := range s.frozen {
		if err := awaitEnd(p); err != nil {
			s.tb.Fatalf("kill PostgreSQL: %v", err)
		}
	}
	s.frozen = nil
	<-s.server.done
}

// Exited tells whether the server has ended by itself, as it does when it
// cannot recover. It counts as stopped then.
func (s *PostgresServer) Exited() bool {
	if s.server != nil && s.server.exited() {
		s.server = nil
	}
	return s.server == nil
}

// Pause freezes every process of the server: connections stay open and nothing
// answers, as when its machine is unreachable. It returns when all are frozen.
func (s *PostgresServer) Pause() {
	s.tb.Helper()
	if s.server == nil || len(s.frozen) > 0 {
		s.tb.Fatal("pause PostgreSQL: it does not run")
	}
	// The postmaster first: then no new process is born while the rest is listed.
	if err := freeze(s.server.pid); err != nil {
		s.tb.Fatalf("pause PostgreSQL: %v", err)
	}
	s.frozen = []known{identify(s.server.pid)}
	backends, err := children(s.server.pid)
	if err != nil {
		s.tb.Fatalf("pause PostgreSQL: %v", err)
	}
	for _, p := range backends {
		s.frozen = append([]known{p}, s.frozen...)
		if err := freeze(p.pid); err != nil {
			s.tb.Fatalf("pause PostgreSQL: %v", err)
		}
	}
}

// Resume undoes Pause.
func (s *PostgresServer) Resume() {
	s.tb.Helper()
	if len(s.frozen) == 0 {
		s.tb.Fatal("resume PostgreSQL: it is not paused")
	}
	s.thaw()
}

func (s *PostgresServer) thaw() {
	for _, p := range s.frozen {
		// A frozen process has not been reaped, so the id is still its own.
		_ = syscall.Kill(p.pid, syscall.SIGCONT)
	}
	s.frozen = nil
}

func (s *PostgresServer) remove() {
	s.thaw()
	if s.server != nil {
		s.end(syscall.SIGQUIT, 10*time.Second)
	}
	if err := os.RemoveAll(s.cluster.Data); err != nil {
		s.tb.Errorf("remove the private server's data: %v", err)
	}
}

// freeze stops a process and waits until it stands still: the signal alone is
// delivered some time later.
func freeze(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return fmt.Errorf("stop process %d: %w", pid, err)
	}
	deadline := time.Now().Add(startTimeout)
	for !stopped(pid) {
		if time.Now().After(deadline) {
			return fmt.Errorf("process %d runs on after SIGSTOP", pid)
		}
		time.Sleep(pollInterval)
	}
	return nil
}

// awaitEnd waits until a process that was killed has let go of its memory: the
// kernel takes it down some time after the signal, and longer on a busy machine.
func awaitEnd(p known) error {
	deadline := time.Now().Add(startTimeout)
	for !p.ended() {
		if time.Now().After(deadline) {
			return fmt.Errorf("process %d goes on after SIGKILL", p.pid)
		}
		time.Sleep(pollInterval)
	}
	return nil
}
