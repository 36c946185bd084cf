package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/postledger/postledger"
)

// WebhookAttempt is what came of one try of one event.
type WebhookAttempt struct {
	ID         postledger.ID
	EndpointID postledger.ID
	EventID    postledger.ID
	DeliveryID postledger.ID
	State      postledger.Status
	// Attempt counts from 1.
	Attempt int
	Verdict string
	// Code is the answer's status; 0 without an answer.
	Code int
	Took time.Duration
	// RetryAt is when it is tried again; zero when it is not.
	RetryAt time.Time
	// Response is the beginning of the answer, or why there is none.
	Response string
	At       time.Time
}

// RecordWebhookAttempts writes what came of tries. One that is there already stays.
func (l *Ledger) RecordWebhookAttempts(ctx context.Context, list []WebhookAttempt) error {
	if len(list) == 0 {
		return nil
	}
	err := l.write(ctx, func(_ context.Context, t *tx) error {
		if t.dialect == postgres {
			t.queueAttemptsPostgres(list)
			return nil
		}
		for i := range list {
			a := &list[i]
			t.queue("insert webhook attempt", nil, `INSERT INTO webhook_attempts (id, endpoint_id, event_id, delivery_id, state, attempt,
					verdict, code, took_us, retry_at, response, at) VALUES (?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING`,
				a.ID, a.EndpointID, a.EventID, a.DeliveryID, string(a.State), a.Attempt,
				a.Verdict, a.Code, a.Took.Microseconds(), nullTime(a.RetryAt), a.Response, micros(a.At))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("record webhook attempts: %w", err)
	}
	return nil
}

func (t *tx) queueAttemptsPostgres(list []WebhookAttempt) {
	n := len(list)
	ids, endpoints, events, deliveries := make([]postledger.ID, n), make([]postledger.ID, n), make([]postledger.ID, n), make([]postledger.ID, n)
	states, verdicts, responses := make([]string, n), make([]string, n), make([]string, n)
	attempts, codes := make([]int32, n), make([]int32, n)
	took, retries, at := make([]int64, n), make([]*int64, n), make([]int64, n)
	for i := range list {
		a := &list[i]
		ids[i], endpoints[i], events[i], deliveries[i] = a.ID, a.EndpointID, a.EventID, a.DeliveryID
		states[i], verdicts[i], responses[i] = string(a.State), a.Verdict, a.Response
		attempts[i], codes[i] = int32(a.Attempt), int32(a.Code)
		took[i], at[i] = a.Took.Microseconds(), micros(a.At)
		if !a.RetryAt.IsZero() {
			us := micros(a.RetryAt)
			retries[i] = &us
		}
	}
	t.queue("insert webhook attempts", nil, `INSERT INTO webhook_attempts (id, endpoint_id, event_id, delivery_id, state, attempt,
			verdict, code, took_us, retry_at, response, at)
		SELECT * FROM unnest((SELECT $1::uuid[]), (SELECT $2::uuid[]), (SELECT $3::uuid[]), (SELECT $4::uuid[]), (SELECT $5::text[]),
			(SELECT $6::int[]), (SELECT $7::text[]), (SELECT $8::int[]), (SELECT $9::bigint[]), (SELECT $10::bigint[]),
			(SELECT $11::text[]), (SELECT $12::bigint[])) ON CONFLICT DO NOTHING`,
		ids, endpoints, events, deliveries, states, attempts, verdicts, codes, took, retries, responses, at)
}

// WebhookAttempts lists an endpoint's tries, newest first, those before an id (zero
// from the newest), of one delivery when it is set.
func (l *Ledger) WebhookAttempts(ctx context.Context, endpoint, delivery, before postledger.ID, limit int) ([]WebhookAttempt, error) {
	where, args := `endpoint_id = ?`, []any{endpoint}
	if !delivery.IsZero() {
		where, args = `delivery_id = ? AND endpoint_id = ?`, []any{delivery, endpoint}
	}
	if !before.IsZero() {
		where, args = where+` AND id < ?`, append(args, before[:])
	}
	var out []WebhookAttempt
	err := l.read().each(ctx, func(rows *sql.Rows) error {
		a := WebhookAttempt{EndpointID: endpoint}
		var took int64
		err := rows.Scan(&a.ID, &a.EventID, &a.DeliveryID, &a.State, &a.Attempt, &a.Verdict, &a.Code, &took,
			timeColumn{&a.RetryAt}, &a.Response, timeColumn{&a.At})
		a.Took = time.Duration(took) * time.Microsecond
		out = append(out, a)
		return err
	}, `SELECT id, event_id, delivery_id, state, attempt, verdict, code, took_us, retry_at, response, at
		FROM webhook_attempts WHERE `+where+` ORDER BY id DESC LIMIT ?`, append(args, limit)...)
	if err != nil {
		return nil, fmt.Errorf("list webhook attempts: %w", err)
	}
	return out, nil
}

// PurgeWebhookAttempts removes up to limit tries that were made before a moment, the
// oldest first, and tells how many.
func (l *Ledger) PurgeWebhookAttempts(ctx context.Context, before time.Time, limit int) (int, error) {
	var n int64
	last := idAt(before)
	err := l.write(ctx, func(ctx context.Context, t *tx) error {
		var err error
		n, err = t.exec(ctx, `DELETE FROM webhook_attempts WHERE id IN
			(SELECT id FROM webhook_attempts WHERE id < ? ORDER BY id LIMIT ?)`, last[:], limit)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("purge webhook attempts: %w", err)
	}
	return int(n), nil
}
