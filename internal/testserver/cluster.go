package testserver

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	superuser = "postgres"
	// appRole owns the databases that tests get. It has no superuser's rights,
	// as in production, so that a test shows what needs them.
	appRole = "postledger"
)

// cluster is a data directory and how its server is reached.
type cluster struct {
	Data     string `json:"data"`
	Port     int    `json:"port"`
	Password string `json:"password"` // of both roles
}

// initCluster creates an empty data directory. Its files are not forced to disk
// now (that is only about a crash of the machine in the next seconds); what the
// server writes later is.
func initCluster(programs postgresPrograms, owner osUser, dir, name string, port int) (cluster, error) {
	c := cluster{Data: filepath.Join(dir, name), Port: port, Password: randomHex(16)}
	passwordFile := c.Data + ".password"
	if err := os.WriteFile(passwordFile, []byte(c.Password+"\n"), 0o600); err != nil {
		return c, fmt.Errorf("write password file: %w", err)
	}
	defer os.Remove(passwordFile)
	if err := owner.own(passwordFile); err != nil {
		return c, fmt.Errorf("hand over password file: %w", err)
	}
	initdb := owner.command(dir, programs.path("initdb"),
		"-D", c.Data, "-U", superuser, "-E", "UTF8", "--locale=C", "-A", "scram-sha-256",
		"--pwfile="+passwordFile, "--no-sync", "--no-instructions")
	if out, err := initdb.CombinedOutput(); err != nil {
		return c, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return c, nil
}

// serverArgs are the arguments of the program postgres. Everything that bears on
// durability keeps its default: fsync, full_page_writes and synchronous_commit
// are on.
func (c cluster) serverArgs(settings ...string) []string {
	settings = append([]string{
		"listen_addresses=127.0.0.1",
		fmt.Sprintf("port=%d", c.Port),
		"unix_socket_directories=",
		"max_connections=300",
		"shared_buffers=128MB",
		"superuser_reserved_connections=10",
		"timezone=UTC",
		"log_timezone=UTC",
	}, settings...)
	args := []string{"-D", c.Data}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	return args
}

func (c cluster) url(role, database string) string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(role, c.Password),
		Host:     loopback(c.Port),
		Path:     "/" + database,
		RawQuery: "sslmode=disable",
	}
	return u.String()
}

// answers tells whether a server that knows this cluster's password runs.
func (c cluster) answers(patience time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.url(superuser, "postgres"))
	if err != nil {
		return false
	}
	defer conn.Close(ctx)
	return conn.Ping(ctx) == nil
}

// ready tells whether a server that has just been started answers. While it
// recovers it says so in its pid file; asking that first saves it the refused
// connections, each of which costs it a process.
func (c cluster) ready() bool {
	status, err := os.ReadFile(filepath.Join(c.Data, "postmaster.pid"))
	return err == nil && strings.HasSuffix(strings.TrimSpace(string(status)), "ready") && c.answers(time.Second)
}

// createRole makes the role that owns the tests' databases.
func (c cluster) createRole() error {
	return admin(c.url(superuser, "postgres"), func(ctx context.Context, conn *pgconn.PgConn) error {
		// The password is hexadecimal: it needs no quoting.
		return run(ctx, conn, "CREATE ROLE "+appRole+" LOGIN CREATEDB PASSWORD '"+c.Password+"'")
	})
}

// admin runs statements over a connection of its own.
func admin(url string, statements func(context.Context, *pgconn.PgConn) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	conn, err := pgconn.Connect(ctx, url)
	if err != nil {
		return fmt.Errorf("connect to the test server: %w", err)
	}
	defer conn.Close(ctx)
	return statements(ctx, conn)
}

func run(ctx context.Context, conn *pgconn.PgConn, sql string) error {
	return conn.Exec(ctx, sql).Close()
}

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
