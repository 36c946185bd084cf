package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postledger/postledger"
)

// tellFloor does for N events what cannot be left out, a hundred at a time: it commits
// a row for each, sends a signed request each over connections that are kept, as many
// at once as a server does, and then commits the record of each and the end of its row.
func tellFloor(j *job) (r result, err error) {
	const many, atOnce = 100, 24
	ctx := context.Background()
	c, err := pgx.Connect(ctx, j.URL)
	if err != nil {
		return r, fmt.Errorf("connect: %w", err)
	}
	defer c.Close(ctx)
	httpClient := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: atOnce, MaxConnsPerHost: atOnce}}
	defer httpClient.CloseIdleConnections()
	var source postledger.IDSource
	next := func() [][16]byte {
		ids := make([][16]byte, many)
		for i := range ids {
			ids[i] = source.Next(time.Now())
		}
		return ids
	}
	payload := bytes.Repeat([]byte("x"), 150) // as a job's
	body := bytes.Repeat([]byte("x"), 420)    // as an event's
	round := func() error {
		ids := next()
		if _, err := c.Exec(ctx, `INSERT INTO job_outbox (id, rev, state, lane, grp, handler, kind, bypass, durable,
				payload, run_at, max_attempts, timeout_us, attempts, enqueued_at, refused, reason, epoch, changed_at)
			SELECT id, 1, 2, 1, $3, 'webhook', 0, 0, 1, $2, 0, 10, 0, 0, 1, 0, '', 'floor', 1 FROM unnest($1::uuid[]) AS u (id)`,
			ids, payload, j.Sink); err != nil {
			return fmt.Errorf("write rows: %w", err)
		}
		if err := clients(many, atOnce, func(i int) error {
			mac := hmac.New(sha256.New, payload[:32])
			mac.Write(body)
			q, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+j.Sink+"/in", bytes.NewReader(body))
			if err != nil {
				return err
			}
			q.Header.Set("Webhook-Id", hex.EncodeToString(ids[i][:]))
			q.Header.Set("Webhook-Signature", hex.EncodeToString(mac.Sum(nil)))
			a, err := httpClient.Do(q)
			if err != nil {
				return err
			}
			defer a.Body.Close()
			_, err = io.Copy(io.Discard, a.Body)
			return err
		}); err != nil {
			return err
		}
		var ends pgx.Batch
		ends.Queue(`INSERT INTO webhook_attempts (id, endpoint_id, event_id, delivery_id, state, attempt, verdict, code, took_us, response, at)
			SELECT v, $2, u, v, 'sent', 1, 'delivered', 204, 1, '', 1 FROM unnest($1::uuid[], $3::uuid[]) AS x (u, v)`, ids, ids[0], next())
		ends.Queue(`DELETE FROM job_outbox WHERE id = ANY ($1::uuid[])`, ids)
		if err := c.SendBatch(ctx, &ends).Close(); err != nil {
			return fmt.Errorf("end rows: %w", err)
		}
		return nil
	}
	for range max(1, j.N/10/many) {
		if err := round(); err != nil {
			return r, err
		}
	}
	m, err := startMeter(j.URL)
	if err != nil {
		return r, err
	}
	for range j.N / many {
		if err := round(); err != nil {
			return r, err
		}
	}
	return m.stop()
}
