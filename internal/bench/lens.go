package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/postledger/postledger/internal/bench/cost"
	"github.com/postledger/postledger/lens"
	"github.com/postledger/postledger/lens/catalogue"
	"github.com/postledger/postledger/lens/source"
)

// The measured parts, as they are called in the figures, and the value that a part
// adds to a result.
const (
	barePostgresRows = "lens: a bare SELECT on PostgreSQL"
	streamPostgres   = "lens: a stream on PostgreSQL"
	bareSQLiteRows   = "lens: a bare SELECT on SQLite"
	streamSQLite     = "lens: a stream on SQLite"
	aboveIdle        = "MiB above idle"
)

// lensMost is what a stream may take of memory above idle, in MB.
const lensMost = 64

func (b *bench) prepareLens() error {
	url, err := b.s.create("lens", "template0")
	if err != nil {
		return err
	}
	b.own["lens"] = place{url: url}
	for _, url := range []string{url, b.lensFile()} {
		if _, err := run("lens-load", job{URL: url, N: b.o.users}); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) lensFile() string { return "sqlite://" + filepath.Join(b.s.dir, "lens.db") }

func (b *bench) lens(i int) error {
	pg, lite := job{URL: b.own["lens"].url, N: b.o.users}, job{URL: b.lensFile(), N: b.o.users}
	return b.pair(
		i,
		step{barePostgresRows, "lens-bare", "", pg},
		step{streamPostgres, "lens-stream", "", pg},
		step{bareSQLiteRows, "lens-bare", "", lite},
		step{streamSQLite, "lens-stream", "", lite},
	)
}

func (b *bench) judgeLens() error {
	f := b.figures
	seconds := func(m measured) float64 { return m.Seconds }
	f.atMost("time of a lens's stream on PostgreSQL, of a bare SELECT", streamPostgres, barePostgresRows, seconds, 2)
	f.atMost("time of a lens's stream on SQLite, of a bare SELECT", streamSQLite, bareSQLiteRows, seconds, 2)
	for _, on := range []struct{ name, part string }{{"PostgreSQL", streamPostgres}, {"SQLite", streamSQLite}} {
		var above []float64
		for _, m := range f.runs[on.part] {
			above = append(above, m.Values[aboveIdle])
		}
		f.bar(fmt.Sprintf("memory of a stream of %d, above idle, %s", b.o.users, on.name), "MiB", above,
			fmt.Sprintf("≤ %d MB", lensMost), func(v float64) bool { return v*(1<<20) <= lensMost*1_000_000 })
	}
	return nil
}

// usersBytes are what a user and its organization's name have, all columns together.
const usersBytes = 200

const (
	lensOrganizations = `CREATE TABLE organizations (id BIGINT NOT NULL PRIMARY KEY, name TEXT NOT NULL)`
	lensUsers         = `CREATE TABLE users (id BIGINT NOT NULL PRIMARY KEY, organization_id BIGINT NOT NULL REFERENCES organizations (id),
		email TEXT NOT NULL, name TEXT NOT NULL, note TEXT)`
	organizations = 1_000
)

// lensDriver is the driver and the name of a database that both parts use.
func lensDriver(url string) (driver, dsn string) {
	if isPostgres(url) {
		return "pgx", url
	}
	return "sqlite", "file:" + strings.TrimPrefix(url, "sqlite://")
}

// lensLoad writes N users of 1,000 organizations.
func lensLoad(j *job) (r result, err error) {
	ctx := context.Background()
	driver, dsn := lensDriver(j.URL)
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return r, err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return r, err
	}
	defer func() { _ = tx.Rollback() }()
	for _, table := range []string{lensOrganizations, lensUsers} {
		if _, err := tx.ExecContext(ctx, table); err != nil {
			return r, err
		}
	}
	insert := func(table string, n int, row func(i int) string) error {
		for from := 0; from < n; from += 1_000 {
			var rows []string
			for i := from; i < min(from+1_000, n); i++ {
				rows = append(rows, row(i))
			}
			if _, err := tx.ExecContext(ctx, "INSERT INTO "+table+" VALUES "+strings.Join(rows, ", ")); err != nil {
				return err
			}
		}
		return nil
	}
	if err := insert("organizations", organizations, func(i int) string { return fmt.Sprintf("(%d, 'Organization %d')", i, i) }); err != nil {
		return r, err
	}
	err = insert("users", j.N, func(i int) string {
		email, name := fmt.Sprintf("user.%d@rcpt.example", i), fmt.Sprintf("Holt, Mira %d", i)
		note := strings.Repeat("prefers letters ", usersBytes/16)[:usersBytes-16-18-len(email)-len(name)]
		return fmt.Sprintf("(%d, %d, '%s', '%s', '%s')", i, i%organizations, email, name, note)
	})
	if err != nil {
		return r, err
	}
	if err := tx.Commit(); err != nil {
		return r, err
	}
	_, err = db.ExecContext(ctx, map[bool]string{true: "VACUUM ANALYZE", false: "ANALYZE"}[isPostgres(j.URL)])
	return r, err
}

// lensBare reads what the stream reads with one SELECT, as a program would that knows
// the tables.
func lensBare(j *job) (r result, err error) {
	driver, dsn := lensDriver(j.URL)
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return r, err
	}
	defer db.Close()
	if err := db.Ping(); err != nil {
		return r, err
	}
	m, err := startMeter(j.URL)
	if err != nil {
		return r, err
	}
	rows, err := db.Query(`SELECT u.id, u.email, u.name, u.note, o.name FROM users u LEFT JOIN organizations o ON o.id = u.organization_id`)
	if err != nil {
		return r, err
	}
	defer rows.Close()
	n, size := 0, 0
	for rows.Next() {
		var id int64
		var email, name string
		var note, organization sql.NullString
		if err := rows.Scan(&id, &email, &name, &note, &organization); err != nil {
			return r, err
		}
		n++
		size += len(email) + len(name) + len(note.String) + len(organization.String)
	}
	if err := rows.Err(); err != nil || n != j.N {
		return r, fmt.Errorf("%d rows of %d were read: %w", n, j.N, err)
	}
	r, err = m.stop()
	r.Values = map[string]float64{"bytes": float64(size)}
	return r, err
}

// lensStream reads all users with their organization through a lens.
func lensStream(j *job) (r result, err error) {
	ctx := context.Background()
	src, err := source.Open(ctx, j.URL, source.Options{})
	if err != nil {
		return r, err
	}
	defer src.Close()
	c, err := src.Catalogue(ctx, catalogue.Model{})
	if err != nil {
		return r, err
	}
	plan, err := lens.Where("users", lens.Everyone{}).
		Selecting("id", "email", "name", "note", lens.Relation("organization", "name")).Check(c, lens.Scope{})
	if err != nil {
		return r, err
	}
	q, err := plan.Bind(lens.Bindings{Now: time.Now()})
	if err != nil {
		return r, err
	}
	idle, err := idleKiB()
	if err != nil {
		return r, err
	}
	m, err := startMeter(j.URL)
	if err != nil {
		return r, err
	}
	n, size := 0, 0
	for row, err := range q.Rows(ctx, src, "") {
		if err != nil {
			return r, err
		}
		n++
		size += len(row["email"].(string)) + len(row["name"].(string)) + len(row["note"].(string)) + len(row["organization"].(lens.Row)["name"].(string))
	}
	if n != j.N {
		return r, fmt.Errorf("%d rows of %d were read", n, j.N)
	}
	if r, err = m.stop(); err != nil {
		return r, err
	}
	peak, err := cost.PeakKiB()
	r.Values = map[string]float64{"bytes": float64(size), aboveIdle: float64(peak-idle) / 1024}
	return r, err
}

// idleKiB is this process's resident size, where its largest counts from now on.
func idleKiB() (int, error) {
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		return 0, fmt.Errorf("forget the largest size: %w", err)
	}
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(b))
	pages, err := strconv.Atoi(fields[1])
	return pages * os.Getpagesize() / 1024, err
}
