package main_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postledger/postledger/internal/testserver"
)

// What befalls a PostgreSQL server while mail is accepted and sent through it:
// nothing accepted is lost or sent twice, callers are told in time to come
// again, the process says that it is not ready, asks no more than its rests
// allow, and goes on by itself when it is over (invariants 1, 2, 4 and 5).
func TestPostgresFaults(t *testing.T) {
	t.Parallel()
	for name, fault := range postgresFaults() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fault(t, shortOutage())
		})
	}
}

// The long form has the timings that users have, for a minute each.
func TestPostgresFaultsLong(t *testing.T) {
	if os.Getenv("POSTLEDGER_LONG") == "" {
		t.Skip("POSTLEDGER_LONG is not set")
	}
	for name, fault := range postgresFaults() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fault(t, longOutage())
		})
	}
}

func postgresFaults() map[string]func(*testing.T, outageForm) {
	return map[string]func(*testing.T, outageForm){
		"killed": func(t *testing.T, f outageForm) {
			p := newTroubled(t, f, testserver.PrivatePostgres(t))
			p.fault(outageKind{silent: true}, p.db.Kill, p.db.Start)
			p.over()
		},
		"paused": func(t *testing.T, f outageForm) {
			p := newTroubled(t, f, testserver.PrivatePostgres(t))
			p.fault(outageKind{silent: true, hangs: true}, p.db.Pause, p.db.Resume)
			p.over()
		},
		"out of connections": func(t *testing.T, f outageForm) {
			p := newTroubled(t, f, testserver.PrivatePostgres(t, "max_connections=40"))
			others := &others{t: t, url: p.db.URL()}
			p.fault(outageKind{silent: true}, func() {
				p.proxy.Refuse(true)
				p.proxy.Cut()
				others.come()
				// 40 less those that are for superusers.
				p.until("the others have all", func() bool {
					return p.count(`SELECT count(*) FROM pg_stat_activity WHERE usename = 'postledger' AND application_name = ''`) == 30
				})
				p.proxy.Refuse(false)
			}, others.leave)
			p.over()
		},
		"read only": func(t *testing.T, f outageForm) {
			p := newTroubled(t, f, testserver.PrivatePostgres(t))
			// As after a fail-over: sessions end, and new ones cannot write.
			p.fault(outageKind{silent: true}, func() {
				p.admin(`ALTER DATABASE postledger SET default_transaction_read_only = on`)
				p.proxy.Cut()
			}, func() {
				p.admin(`SET default_transaction_read_only = off`, `ALTER DATABASE postledger RESET default_transaction_read_only`)
			})
			p.over()
		},
		"read only sessions": func(t *testing.T, f outageForm) {
			p := newTroubled(t, f, testserver.PrivatePostgres(t))
			// The sessions that there are cannot write any more, and stay.
			p.fault(outageKind{silent: true}, func() {
				p.admin(`ALTER SYSTEM SET default_transaction_read_only = on`, `SELECT pg_reload_conf()`)
			}, func() {
				p.admin(`ALTER SYSTEM RESET default_transaction_read_only`, `SELECT pg_reload_conf()`)
			})
			p.over()
		},
		"disk full": func(t *testing.T, f outageForm) {
			disk := testserver.NewSmallDisk(t, 192)
			p := newTroubled(t, f, testserver.PostgresOn(t, disk.Dir))
			// It can still overwrite what it has, so the worker lives.
			p.fault(outageKind{}, disk.Fill, func() {
				disk.Free()
				if p.db.Exited() { // without room for its log it ends
					p.db.Start()
				}
			})
			p.over()
		},
	}
}

// troubled is an outage of a PostgreSQL server of its own, behind a proxy.
type troubled struct {
	*outage
	db    *testserver.PostgresServer
	proxy *testserver.TCPProxy
}

func newTroubled(t *testing.T, f outageForm, db *testserver.PostgresServer) *troubled {
	t.Helper()
	key := command(t, nil, "keys", "encryption", "--out", "-").token(t)
	set := append([]string{"POSTLEDGER_DATABASE=" + db.URL(), "POSTLEDGER_ENCRYPTION_KEY=" + key}, f.set...)
	behind, proxy := newPlace(t, set...).behindProxy(t)
	p := &troubled{db: db, proxy: proxy, outage: newOutage(t, f, behind, "--migrate")}
	p.attempts = p.proxy.Accepted
	p.sessions = func() int {
		return p.count(`SELECT count(*) FROM pg_stat_activity WHERE application_name = 'postledger'`)
	}
	p.calm()
	return p
}

// count asks the server itself, past the proxy.
func (p *troubled) count(sql string) (n int) {
	p.t.Helper()
	p.session(func(ctx context.Context, c *pgx.Conn) error { return c.QueryRow(ctx, sql).Scan(&n) })
	return n
}

func (p *troubled) admin(statements ...string) {
	p.t.Helper()
	p.session(func(ctx context.Context, c *pgx.Conn) error {
		for _, s := range statements {
			if _, err := c.Exec(ctx, s); err != nil {
				return err
			}
		}
		return nil
	})
}

func (p *troubled) session(fn func(context.Context, *pgx.Conn) error) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := pgx.Connect(ctx, p.db.AdminURL())
	if err != nil {
		p.t.Fatal(err)
	}
	defer c.Close(ctx)
	if err := fn(ctx, c); err != nil {
		p.t.Fatal(err)
	}
}

// others take every connection that there is, and every one that comes free.
type others struct {
	t    *testing.T
	url  string
	stop context.CancelFunc
	gone chan struct{}
}

func (o *others) come() {
	ctx, cancel := context.WithCancel(context.Background())
	o.stop, o.gone = cancel, make(chan struct{})
	go func() {
		defer close(o.gone)
		var held []*pgx.Conn
		again := time.NewTicker(2 * time.Millisecond)
		defer again.Stop()
		for ctx.Err() == nil {
			c, err := pgx.Connect(ctx, o.url)
			if err == nil {
				held = append(held, c)
				continue
			}
			<-again.C
		}
		for _, c := range held {
			_ = c.Close(context.Background()) // the server is told, or ends with the test
		}
	}()
}

func (o *others) leave() {
	o.stop()
	<-o.gone
}
