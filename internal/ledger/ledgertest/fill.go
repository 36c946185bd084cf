package ledgertest

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postledger/postledger"
)

// Fill describes rows that are written past Accept: only so are a million of
// them there in a minute. Nothing counts them, so that the books do not balance.
type Fill struct {
	From, To int
	App      postledger.ID
	Profile  postledger.ID
	Lane     postledger.Lane
	Status   postledger.Status
	// Group is how many deliveries a message and its envelope have.
	Group int
	// Due is when the first is due, in microseconds; the next a microsecond
	// later. They were accepted, and settled if they are, at that time.
	Due int64
	// Bare leaves out messages, contents and keys.
	Bare bool
	// Since, if set, is when the ids began, instead of in May 2026.
	Since time.Time
}

// DeliveryID and MessageID number what a Fill writes; like the ledger's own ids
// they grow with time, which for them began in May 2026.
func DeliveryID(i int) postledger.ID { return fillID(mayOf2026, i, 0xd0) }

// MessageID is DeliveryID for messages.
func MessageID(i int) postledger.ID { return fillID(mayOf2026, i, 0x3e) }

const mayOf2026 = 1_780_000_000_000

func fillID(since int64, i int, kind byte) postledger.ID {
	var id postledger.ID
	ms := since + int64(i/256)
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
			size_bytes, recipients, unsettled, created_at, settled_at)
		SELECT u.m, $2::uuid, 'r', $3::uuid, 'main', $4::text, 'system', 'Week 12', 600, $5::int,
			CASE WHEN $7 = 'sent' THEN 0 ELSE $5::int END, $6::bigint, CASE WHEN $7 = 'sent' THEN $6::bigint END FROM unnest($1::uuid[]) AS u(m)`
	fillContents = `INSERT INTO contents (message_id, text_body) SELECT u.m, repeat('week 12, ', 60) FROM unnest($1::uuid[]) AS u(m)`
	fillKeys     = `INSERT INTO idempotency_keys (app_id, key, fingerprint, message_id, created_at)
		SELECT $2::uuid, 'key-' || u.m, 'f', u.m, $3::bigint FROM unnest($1::uuid[]) AS u(m)`
	fillRows = `INSERT INTO deliveries (id, message_id, envelope_id, app_id, profile_id, lane, status, kind, position,
			address, address_folded, created_at, due_at, settled_at, lease_worker, resolve_by)
		SELECT u.d, u.m, u.e, $5::uuid, $6::uuid, $7::text, $8::text, 'to', u.n % 50, u.n || '@rcpt.example', u.n || '@rcpt.example', u.u,
			CASE WHEN $8 = 'queued' THEN u.u END, CASE WHEN $8 = 'sent' THEN u.u END,
			CASE WHEN $8 = 'sending' THEN $5::uuid END, CASE WHEN $8 = 'unconfirmed' THEN u.u END
		FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::bigint[], $9::int[]) AS u(d, m, e, u, n)`
)

// FillPostgres writes the rows, 5,000 a statement.
func FillPostgres(t testing.TB, url string, fs ...Fill) {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	for _, f := range fs {
		for at := f.From; at < f.To; at += 5000 {
			c := f.chunk(at, min(at+5000, f.To))
			type statement struct {
				sql  string
				args []any
			}
			statements := []statement{
				{fillMessages, []any{c.messages, f.App, f.Profile, string(f.Lane), f.Group, f.Due, string(f.Status)}},
				{fillContents, []any{c.messages}},
				{fillKeys, []any{c.messages, f.App, f.Due}},
			}
			if f.Bare {
				statements = nil
			}
			statements = append(statements, statement{fillRows, []any{c.ids, c.ofMessage, c.envelopes, c.dues, f.App, f.Profile, string(f.Lane), string(f.Status), c.numbers}})
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

func (f Fill) chunk(from, to int) fillChunk {
	var c fillChunk
	since := int64(mayOf2026)
	if !f.Since.IsZero() {
		since = f.Since.UnixMilli()
	}
	delivery := func(i int) postledger.ID { return fillID(since, i, 0xd0) }
	message := func(i int) postledger.ID { return fillID(since, i, 0x3e) }
	for i := from; i < to; i++ {
		first := i - i%f.Group
		if i == first {
			c.messages = append(c.messages, message(i))
		}
		c.ids = append(c.ids, delivery(i))
		c.ofMessage = append(c.ofMessage, message(first))
		c.envelopes = append(c.envelopes, delivery(first))
		c.dues = append(c.dues, f.Due+int64(i-f.From))
		c.numbers = append(c.numbers, int32(i))
	}
	return c
}

// FillSQLite writes the rows one by one, in one transaction.
func FillSQLite(t testing.TB, path string, fs ...Fill) {
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
		c := f.chunk(f.From, f.To)
		unsettled, settledAt := f.Group, any(nil)
		if f.Status == postledger.StatusSent {
			unsettled, settledAt = 0, f.Due
		}
		for _, m := range c.messages {
			exec(`INSERT INTO messages (id, app_id, request_id, profile_id, profile_name, lane, category, subject,
				size_bytes, recipients, unsettled, created_at, settled_at) VALUES (?, ?, 'r', ?, 'main', ?, 'system', 'Week 12', 600, ?, ?, ?, ?)`,
				m, f.App, f.Profile, string(f.Lane), f.Group, unsettled, f.Due, settledAt)
			exec(`INSERT INTO idempotency_keys (app_id, key, fingerprint, message_id, created_at) VALUES (?, ?, 'f', ?, ?)`,
				f.App, "key-"+m.String(), m, f.Due)
			exec(`INSERT INTO contents (message_id, text_body) VALUES (?, ?)`, m, strings.Repeat("week 12, ", 60))
		}
		for i := range c.ids {
			set := func(s postledger.Status, v any) any {
				if f.Status == s {
					return v
				}
				return nil
			}
			addr := fmt.Sprintf("%d@rcpt.example", c.numbers[i])
			exec(`INSERT INTO deliveries (id, message_id, envelope_id, app_id, profile_id, lane, status, kind, position,
				address, address_folded, created_at, due_at, settled_at, lease_worker, resolve_by)
				VALUES (?, ?, ?, ?, ?, ?, ?, 'to', ?, ?, ?, ?, ?, ?, ?, ?)`,
				c.ids[i], c.ofMessage[i], c.envelopes[i], f.App, f.Profile, string(f.Lane), string(f.Status), c.numbers[i]%50, addr, addr, c.dues[i],
				set(postledger.StatusQueued, c.dues[i]), set(postledger.StatusSent, c.dues[i]),
				set(postledger.StatusSending, f.App), set(postledger.StatusUnconfirmed, c.dues[i]))
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}
