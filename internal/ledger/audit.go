package ledger

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/postledger/postledger"
)

// policyVersion is the setting that counts policy writes.
const policyVersion = "policy_version"

// audited runs a write and its line of the audit trail in one transaction:
// neither exists without the other (invariant 14). A write that finds nothing
// to do returns errUnchanged and leaves no line.
func (l *Ledger) audited(ctx context.Context, what string, audit postledger.AuditEvent, fn func(ctx context.Context, t *tx, now int64) error) error {
	err := l.write(ctx, func(ctx context.Context, t *tx) error {
		now, err := t.nowMicros(ctx)
		if err != nil {
			return err
		}
		if err := fn(ctx, t, now); err != nil {
			return err
		}
		return l.appendAudit(ctx, t, audit, now)
	})
	if errors.Is(err, errUnchanged) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// policy is audited for apps, keys, profiles and grants. The version comes
// first: its row's lock makes policy writes take turns, so that each sees the
// one before it, and pollers see every committed write as a new version.
func (l *Ledger) policy(ctx context.Context, what string, audit postledger.AuditEvent, fn func(ctx context.Context, t *tx, now int64) error) error {
	return l.audited(ctx, what, audit, func(ctx context.Context, t *tx, now int64) error {
		if _, err := t.exec(ctx, `INSERT INTO settings (name, value) VALUES (?, '1')
			ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(settings.value AS bigint) + 1 AS text)`, policyVersion); err != nil {
			return fmt.Errorf("count policy write: %w", err)
		}
		return fn(ctx, t, now)
	})
}

func (l *Ledger) appendAudit(ctx context.Context, t *tx, e postledger.AuditEvent, now int64) error {
	if e.ID.IsZero() {
		e.ID = l.NewID()
	}
	return insertAudit(ctx, t, &e, now)
}

// AppendAudit writes one line by itself: denials, whose request wrote nothing.
func (l *Ledger) AppendAudit(ctx context.Context, e postledger.AuditEvent) error {
	return l.audited(ctx, "append audit", e, func(context.Context, *tx, int64) error { return nil })
}

// PolicyVersion counts the committed policy writes. It is one look-up by
// primary key, for a server that asks every second.
func (l *Ledger) PolicyVersion(ctx context.Context) (int64, error) {
	text, err := readSetting(ctx, l.read(), policyVersion)
	if err != nil || text == "" {
		return 0, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read policy version: %w", err)
	}
	return n, nil
}
