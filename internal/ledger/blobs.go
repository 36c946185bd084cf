package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/postledger/postledger"
)

// OrphanAge is how old a blob must be before it may count as an orphan: an
// upload whose message is not committed yet, or whose COMMIT's fate is not
// known, is much younger.
const OrphanAge = 48 * time.Hour

// blobChunk bounds one look-up of references.
const blobChunk = 500

// TrashBlobs notes blobs that may be deleted from the store once due. A blob
// that is noted already keeps its time.
func (l *Ledger) TrashBlobs(ctx context.Context, keys []string, due time.Time) error {
	err := l.write(ctx, func(ctx context.Context, t *tx) error { return trashBlobs(ctx, t, keys, micros(due)) })
	if err != nil {
		return fmt.Errorf("note blobs to delete: %w", err)
	}
	return nil
}

func trashBlobs(ctx context.Context, t *tx, keys []string, due int64) error {
	for _, k := range slices.Sorted(slices.Values(keys)) {
		if _, err := t.exec(ctx, `INSERT INTO blob_trash (key, due_at) VALUES (?, ?) ON CONFLICT (key) DO NOTHING`, k, due); err != nil {
			return err
		}
	}
	return nil
}

// TrashDue lists blobs that are due to be deleted. It never lists one that a
// message still refers to, however it came to be noted.
func (l *Ledger) TrashDue(ctx context.Context, limit int) ([]string, error) {
	t := l.read()
	now, err := t.nowMicros(ctx)
	if err != nil {
		return nil, err
	}
	var keys []string
	if err := t.each(ctx, func(rows *sql.Rows) error {
		var k string
		err := rows.Scan(&k)
		keys = append(keys, k)
		return err
	}, `SELECT key FROM blob_trash WHERE due_at <= ? ORDER BY key LIMIT ?`, now, limit); err != nil {
		return nil, fmt.Errorf("list blobs to delete: %w", err)
	}
	kept, err := l.ReferencedBlobs(ctx, keys)
	if err != nil {
		return nil, err
	}
	var stale []string
	due := keys[:0]
	for _, k := range keys {
		if kept[k] {
			stale = append(stale, k)
		} else {
			due = append(due, k)
		}
	}
	return due, l.ForgetTrash(ctx, stale)
}

// ForgetTrash takes blobs off the list: their deletion is done. Deleting one
// twice does no harm, so a crash in between is a repetition.
func (l *Ledger) ForgetTrash(ctx context.Context, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	err := l.write(ctx, func(ctx context.Context, t *tx) error {
		for _, k := range slices.Sorted(slices.Values(keys)) {
			if _, err := t.exec(ctx, `DELETE FROM blob_trash WHERE key = ?`, k); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("forget deleted blobs: %w", err)
	}
	return nil
}

// ReferencedBlobs says which of the keys a message's content refers to. The
// message's id is part of the key, so each is one look-up by primary key.
func (l *Ledger) ReferencedBlobs(ctx context.Context, keys []string) (map[string]bool, error) {
	out := map[string]bool{}
	t := l.read()
	for chunk := range slices.Chunk(keys, blobChunk) {
		if err := t.referenced(ctx, chunk, out); err != nil {
			return nil, fmt.Errorf("look up blobs: %w", err)
		}
	}
	return out, nil
}

func (t *tx) referenced(ctx context.Context, keys []string, out map[string]bool) error {
	var ids []postledger.ID
	for _, k := range keys {
		if id, ok := blobMessage(k); ok {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	have := map[string]bool{}
	where, args := t.anyOf("message_id", ids)
	if err := t.each(ctx, func(rows *sql.Rows) error {
		var text string
		if err := rows.Scan(&text); err != nil {
			return err
		}
		blobs, err := blobKeys(text)
		for _, b := range blobs {
			have[b] = true
		}
		return err
	}, `SELECT attachments FROM contents WHERE attachments <> '' AND `+where, args...); err != nil {
		return err
	}
	for _, k := range keys {
		if have[k] {
			out[k] = true
		}
	}
	return nil
}

// blobMessage is the message in a key: app/message/number.
func blobMessage(key string) (postledger.ID, bool) {
	parts := strings.Split(key, "/")
	if len(parts) != 3 {
		return postledger.ID{}, false
	}
	id, err := postledger.ParseID(parts[1])
	return id, err == nil
}

// blobKeys are the blobs a content refers to.
func blobKeys(attachments string) ([]string, error) {
	if attachments == "" {
		return nil, nil
	}
	var as []postledger.Attachment
	if err := json.Unmarshal([]byte(attachments), &as); err != nil {
		return nil, fmt.Errorf("decode attachments: %w", err)
	}
	keys := make([]string, 0, len(as))
	for _, a := range as {
		if a.Blob != "" {
			keys = append(keys, a.Blob)
		}
	}
	return keys, nil
}
