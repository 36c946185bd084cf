package main

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/mime"
)

// The floor's tables: what a claim, a load and a settle cannot do without.
const floorTables = `
CREATE TABLE floor_messages (id uuid PRIMARY KEY, subject text NOT NULL, text_body text NOT NULL, html_body text NOT NULL);
CREATE TABLE floor_deliveries (id uuid PRIMARY KEY, message_id uuid NOT NULL, profile int NOT NULL, address text NOT NULL,
	state text NOT NULL, fence bigint NOT NULL DEFAULT 0, due_at bigint, lease int, sent_at bigint, response text NOT NULL DEFAULT '');
CREATE INDEX floor_due ON floor_deliveries (profile, due_at, id) WHERE due_at IS NOT NULL;
DO $$ BEGIN
	ALTER TABLE floor_messages ALTER COLUMN text_body SET COMPRESSION lz4, ALTER COLUMN html_body SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN NULL;
END $$;
CREATE TABLE bare (id uuid PRIMARY KEY, body text NOT NULL)`

func floorPrepare(j *job) (result, error) {
	ctx := context.Background()
	c, err := pgx.Connect(ctx, j.URL)
	if err != nil {
		return result{}, err
	}
	defer c.Close(ctx)
	_, err = c.Exec(ctx, floorTables)
	return result{}, err
}

// floorLoad writes N messages for floorBulk.
func floorLoad(j *job) (result, error) {
	ctx := context.Background()
	c, err := pgx.Connect(ctx, j.URL)
	if err != nil {
		return result{}, err
	}
	defer c.Close(ctx)
	var source postledger.IDSource
	now := time.Now()
	for i := 0; i < j.N; {
		var ids, of, messages []postledger.ID
		var to, texts, htmls []string
		for ; i < j.N && len(ids) < 500; i++ {
			if len(messages) == 0 || !j.Shared {
				text, html := j.bodies(i)
				messages, texts, htmls = append(messages, source.Next(now)), append(texts, text), append(htmls, html)
			}
			ids, of, to = append(ids, source.Next(now)), append(of, messages[len(messages)-1]), append(to, recipient(j.Run, i))
		}
		if _, err := c.Exec(ctx, `WITH m AS (INSERT INTO floor_messages SELECT u.id, $7, u.t, u.h
				FROM unnest($4::uuid[], $5::text[], $6::text[]) AS u(id, t, h))
			INSERT INTO floor_deliveries (id, message_id, profile, address, state, due_at)
			SELECT u.id, u.m, 1, u.a, 'queued', $8 FROM unnest($1::uuid[], $2::uuid[], $3::text[]) AS u(id, m, a)`,
			ids, of, to, messages, texts, htmls, subject, now.UnixMicro()); err != nil {
			return result{}, err
		}
	}
	return result{}, nil
}

// floorPrefetch: one delivery ready behind each one on the wire.
const floorPrefetch = 1

type floorMail struct {
	id, message postledger.ID
	due, fence  int64
	to          string
	*floorContent
}

type floorContent struct{ subject, text, html string }

// floorBulk delivers N messages: one goroutine claims and loads, 32 build and
// write, one settles.
func floorBulk(j *job) (r result, err error) {
	ctx := context.Background()
	lease, err := pgx.Connect(ctx, j.URL)
	if err != nil {
		return r, err
	}
	defer lease.Close(ctx)
	settle, err := pgx.Connect(ctx, j.URL)
	if err != nil {
		return r, err
	}
	defer settle.Close(ctx)
	m, err := startMeter(j.URL)
	if err != nil {
		return r, err
	}
	const most = bulkConnections * (1 + floorPrefetch)
	free := make(chan int, most) // how many leases a settle has freed
	ready := make(chan *floorMail, most)
	sent := make(chan *floorMail, most)
	var composer mime.Composer
	var wires, settler sync.WaitGroup
	for range bulkConnections {
		wires.Go(func() {
			w := dialFloor(j.Sink)
			for f := range ready {
				msg, err := composer.Compose(input(f.id[:], f.to, f.subject, f.text, f.html, m.Began))
				must(err)
				w.send(f.to, msg)
				msg.Release()
				sent <- f
			}
			w.close()
		})
	}
	settles := 0
	settler.Go(func() { settles = floorSettle(ctx, settle, sent, free, j.N) })
	leases := floorLease(ctx, lease, ready, free, j.N, most)
	close(ready)
	wires.Wait()
	close(sent)
	settler.Wait()
	r, err = m.stop()
	r.Lease, r.Settle = float64(j.N)/float64(leases), float64(j.N)/float64(settles)
	return r, err
}

// floorLease claims as many as are free, loads their content, unless the claim
// before had the same, and hands them on.
func floorLease(ctx context.Context, c *pgx.Conn, ready chan<- *floorMail, free <-chan int, n, room int) (leases int) {
	var due int64
	var last postledger.ID
	var kept map[postledger.ID]*floorContent
	for claimed := 0; claimed < n; {
		if room == 0 {
			room = <-free
		}
		for more := true; more; {
			select {
			case k := <-free:
				room += k
			default:
				more = false
			}
		}
		rows, err := c.Query(ctx, `WITH c AS (
				SELECT id, due_at FROM floor_deliveries
				WHERE profile = 1 AND due_at IS NOT NULL AND due_at <= $1 AND (due_at, id) > ($2, $3)
				ORDER BY due_at, id LIMIT $4 FOR UPDATE SKIP LOCKED)
			UPDATE floor_deliveries d SET state = 'sending', due_at = NULL, lease = 1, fence = d.fence + 1
			FROM c WHERE d.id = c.id RETURNING d.id, d.message_id, c.due_at, d.fence, d.address`,
			time.Now().UnixMicro(), due, last, room)
		must(err)
		var mails []*floorMail
		next := map[postledger.ID]*floorContent{}
		var ids []postledger.ID
		for rows.Next() {
			f := new(floorMail)
			must(rows.Scan(&f.id, &f.message, &f.due, &f.fence, &f.to))
			mails = append(mails, f)
			if next[f.message] == nil {
				if next[f.message] = kept[f.message]; next[f.message] == nil {
					next[f.message] = new(floorContent)
					ids = append(ids, f.message)
				}
			}
			f.floorContent = next[f.message]
			if f.due > due || f.due == due && string(f.id[:]) > string(last[:]) {
				due, last = f.due, f.id
			}
		}
		must(rows.Err())
		if len(ids) > 0 {
			rows, err = c.Query(ctx, `SELECT id, subject, text_body, html_body FROM floor_messages WHERE id = ANY($1)`, ids)
			must(err)
			for rows.Next() {
				var id postledger.ID
				var is floorContent
				must(rows.Scan(&id, &is.subject, &is.text, &is.html))
				*next[id] = is
			}
			must(rows.Err())
		}
		kept = next
		for _, f := range mails {
			ready <- f
		}
		claimed += len(mails)
		room -= len(mails)
		leases++
	}
	return leases
}

// floorSettle writes what was sent, at most 500 or what 2 ms brought.
func floorSettle(ctx context.Context, c *pgx.Conn, sent <-chan *floorMail, free chan<- int, n int) (settles int) {
	for done := 0; done < n; {
		var ids []postledger.ID
		var fences []int64
		add := func(f *floorMail) { ids, fences = append(ids, f.id), append(fences, f.fence) }
		add(<-sent)
		timer := time.NewTimer(2 * time.Millisecond)
		for more := true; more && len(ids) < 500 && done+len(ids) < n; {
			select {
			case f := <-sent:
				add(f)
			case <-timer.C:
				more = false
			}
		}
		timer.Stop()
		_, err := c.Exec(ctx, `UPDATE floor_deliveries d SET state = 'sent', lease = NULL, sent_at = $3, response = '250 2.0.0 ok'
			FROM unnest($1::uuid[], $2::bigint[]) AS u(id, fence) WHERE d.id = u.id AND d.fence = u.fence`,
			ids, fences, time.Now().UnixMicro())
		must(err)
		done += len(ids)
		free <- len(ids)
		settles++
	}
	return settles
}

// must ends the floor at its first error.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
