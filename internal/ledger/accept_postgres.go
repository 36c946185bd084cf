package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// xactFate finds out what became of a transaction whose COMMIT got no answer:
// the server knows by its id (pg_xact_status), asked on another connection.
func (l *Ledger) xactFate(xid uint64, cause error) error {
	if xid == 0 {
		return nil // the transaction had no id yet: nothing was written
	}
	ctx, cancel := context.WithTimeout(context.Background(), l.timeout)
	defer cancel()
	for {
		var status *string
		err := l.read().row(ctx, []any{&status}, `SELECT pg_xact_status(CAST(? AS text)::xid8)`, fmt.Sprint(xid))
		switch {
		case err == nil && status != nil && *status == "committed":
			return nil
		case err == nil && status != nil && *status == "aborted":
			return fmt.Errorf("commit was undone: %w", cause)
		}
		// Still in progress, or the server does not answer yet: a second look
		// is cheap and 503 with an unknown fate is dear for the caller.
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ErrFateUnknown, cause)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// jsonText stores a list as JSON, and an empty one as "".
func jsonText[T any](v []T) (string, error) {
	if len(v) == 0 {
		return "", nil
	}
	b, err := json.Marshal(v)
	return string(b), err
}

// queueMoment asks for the transaction's moment and its id, by which its fate is
// known when its COMMIT gets no answer. What is written goes together with the
// COMMIT, when it is too late to ask.
func queueMoment(t *tx, xid *uint64) {
	t.queueRead("read the database's clock", func(r row) error {
		var text string
		if err := r.Scan(&t.us, &text); err != nil {
			return err
		}
		var err error
		*xid, err = strconv.ParseUint(text, 10, 64)
		return err
	}, `SELECT now_us(), pg_current_xact_id()::text`)
}
