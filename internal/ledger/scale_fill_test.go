package ledger_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postledger/postledger"
)

// fill describes rows that are written past Accept: only so are a million of
// them there in a minute.
type fill struct {
	from, to int
	app      postledger.ID
	profile  postledger.ID
	lane     postledger.Lane
	status   postledger.Status
	// group is how many deliveries a message and its envelope have.
	group int
	// due is when the first is due, in microseconds; the next a microsecond later.
	due int64
	// bare leaves out messages, contents and keys.
	bare bool
}

// deliveryID and messageID number what fill writes; like the ledger's own ids
// they grow with time.
func deliveryID(i int) postledger.ID { return fillID(i, 0xd0) }
func messageID(i int) postledger.ID  { return fillID(i, 0x3e) }

func fillID(i int, kind byte) postledger.ID {
	var id postledger.ID
	ms := int64(1_780_000_000_000) + int64(i/256)
	for b := range 6 {
		id[b] = byte(ms >> (8 * (5 - b)))
	}
	id[6], id[7], id[8], id[9] = 0x70, byte(i), 0x80, kind
	for b := range 4 {
		id[12+b] = byte(i >> (8 * (3 - b)))
	}
	return id
}

// The rows of one statement, as expressions over a, the message's id m, the
// delivery's id d, the envelope's id e and the due time u.
const (
	fillMessages = `INSERT INTO messages (id, app_id, request_id, profile_id, profile_name, lane, category, subject,
			size_bytes, recipients, unsettled, created_at)
		SELECT u.m, $2::uuid, 'r', $3::uuid, 'main', $4::text, 'system', 'Week 12', 600, $5::int, $5::int, $6::bigint FROM unnest($1::uuid[]) AS u(m)`
	fillContents = `INSERT INTO message_contents (message_id, text_body) SELECT u.m, repeat('week 12, ', 60) FROM unnest($1::uuid[]) AS u(m)`
	fillKeys     = `INSERT INTO idempotency_keys (app_id, key, fingerprint, message_id, created_at)
		SELECT $2::uuid, 'key-' || u.m, 'f', u.m, $3::bigint FROM unnest($1::uuid[]) AS u(m)`
	fillRows = `INSERT INTO deliveries (id, message_id, envelope_id, app_id, profile_id, lane, status, kind, position,
			address, address_folded, created_at, due_at, settled_at, lease_worker, resolve_by)
		SELECT u.d, u.m, u.e, $5::uuid, $6::uuid, $7::text, $8::text, 'to', u.n % 50, u.n || '@rcpt.example', u.n || '@rcpt.example', u.u,
			CASE WHEN $8 = 'queued' THEN u.u END, CASE WHEN $8 = 'sent' THEN u.u END,
			CASE WHEN $8 = 'sending' THEN $5::uuid END, CASE WHEN $8 = 'unconfirmed' THEN u.u END
		FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::bigint[], $9::int[]) AS u(d, m, e, u, n)`
)

// fillPostgres writes the rows, 5,000 a statement.
func fillPostgres(t *testing.T, url string, fs ...fill) {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	for _, f := range fs {
		for at := f.from; at < f.to; at += 5000 {
			c := f.chunk(at, min(at+5000, f.to))
			type statement struct {
				sql  string
				args []any
			}
			statements := []statement{
				{fillMessages, []any{c.messages, f.app, f.profile, string(f.lane), f.group, f.due}},
				{fillContents, []any{c.messages}},
				{fillKeys, []any{c.messages, f.app, f.due}},
			}
			if f.bare {
				statements = nil
			}
			statements = append(statements, statement{fillRows, []any{c.ids, c.ofMessage, c.envelopes, c.dues, f.app, f.profile, string(f.lane), string(f.status), c.numbers}})
			for _, s := range statements {
				if _, err := pool.Exec(t.Context(), s.sql, s.args...); err != nil {
					t.Fatalf("%.60s: %v", s.sql, err)
				}
			}
		}
	}
}

type fillChunk struct {
	messages                  []postledger.ID
	ids, ofMessage, envelopes []postledger.ID
	dues                      []int64
	numbers                   []int32
}

func (f fill) chunk(from, to int) fillChunk {
	var c fillChunk
	for i := from; i < to; i++ {
		first := i - i%f.group
		if i == first {
			c.messages = append(c.messages, messageID(i))
		}
		c.ids = append(c.ids, deliveryID(i))
		c.ofMessage = append(c.ofMessage, messageID(first))
		c.envelopes = append(c.envelopes, deliveryID(first))
		c.dues = append(c.dues, f.due+int64(i-f.from))
		c.numbers = append(c.numbers, int32(i))
	}
	return c
}

// fillSQLite writes the rows one by one, in one transaction.
func fillSQLite(t *testing.T, path string, fs ...fill) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	exec := func(query string, args ...any) {
		if _, err := tx.ExecContext(t.Context(), query, args...); err != nil {
			t.Fatalf("%.60s: %v", query, err)
		}
	}
	for _, f := range fs {
		c := f.chunk(f.from, f.to)
		for _, m := range c.messages {
			exec(`INSERT INTO messages (id, app_id, request_id, profile_id, profile_name, lane, category, subject,
				size_bytes, recipients, unsettled, created_at) VALUES (?, ?, 'r', ?, 'main', ?, 'system', 'Week 12', 600, ?, ?, ?)`,
				m, f.app, f.profile, string(f.lane), f.group, f.group, f.due)
			exec(`INSERT INTO idempotency_keys (app_id, key, fingerprint, message_id, created_at) VALUES (?, ?, 'f', ?, ?)`,
				f.app, "key-"+m.String(), m, f.due)
			exec(`INSERT INTO message_contents (message_id, text_body) VALUES (?, ?)`, m, strings.Repeat("week 12, ", 60))
		}
		for i := range c.ids {
			set := func(s postledger.Status, v any) any {
				if f.status == s {
					return v
				}
				return nil
			}
			addr := fmt.Sprintf("%d@rcpt.example", c.numbers[i])
			exec(`INSERT INTO deliveries (id, message_id, envelope_id, app_id, profile_id, lane, status, kind, position,
				address, address_folded, created_at, due_at, settled_at, lease_worker, resolve_by)
				VALUES (?, ?, ?, ?, ?, ?, ?, 'to', ?, ?, ?, ?, ?, ?, ?, ?)`,
				c.ids[i], c.ofMessage[i], c.envelopes[i], f.app, f.profile, string(f.lane), string(f.status), c.numbers[i]%50, addr, addr, c.dues[i],
				set(postledger.StatusQueued, c.dues[i]), set(postledger.StatusSent, c.dues[i]),
				set(postledger.StatusSending, f.app), set(postledger.StatusUnconfirmed, c.dues[i]))
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

// fillDue is when the first of a backlog was due: a minute ago.
func fillDue() int64 { return time.Now().Add(-time.Minute).UnixMicro() }

// admin runs statements on a database of a test's own.
func admin(t *testing.T, driver, dsn string, statements ...string) {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.ExecContext(context.Background(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}
