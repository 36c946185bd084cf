package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"

	"github.com/postledger/postledger"
)

// readSetting is a setting's value, "" when it was never set.
func readSetting(ctx context.Context, t *tx, name string) (string, error) {
	var v string
	err := t.row(ctx, []any{&v}, `SELECT value FROM settings WHERE name = ?`, name)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read setting %s: %w", name, err)
	}
	return v, nil
}

func writeSetting(ctx context.Context, t *tx, name, value string) error {
	if _, err := t.exec(ctx, `INSERT INTO settings (name, value) VALUES (?, ?)
		ON CONFLICT (name) DO UPDATE SET value = excluded.value`, name, value); err != nil {
		return fmt.Errorf("write setting %s: %w", name, err)
	}
	return nil
}

// RetentionSettings say how many days things are kept after they are settled.
type RetentionSettings struct {
	// ContentDays is for bodies, headers and attachments.
	ContentDays int `json:"content_days"`
	// RecordDays is for messages, deliveries and their history.
	RecordDays int `json:"record_days"`
	// KeyDays is for idempotency keys, which outlive their messages.
	KeyDays int `json:"key_days"`
	// AuditDays is for the audit trail.
	AuditDays int `json:"audit_days"`
}

// DefaultRetention holds until an operator sets another.
func DefaultRetention() RetentionSettings {
	return RetentionSettings{ContentDays: 30, RecordDays: 90, KeyDays: 90, AuditDays: 400}
}

// SettingError names the field of a setting that breaks a rule.
type SettingError struct{ Field, Rule string }

func (e *SettingError) Error() string { return e.Field + " " + e.Rule }

const maxRetentionDays = 3650

// Check says which rule the settings break.
func (r RetentionSettings) Check() error {
	for _, f := range r.fields() {
		if *f.days < 1 || *f.days > maxRetentionDays {
			return &SettingError{f.name, fmt.Sprintf("must be between 1 and %d", maxRetentionDays)}
		}
	}
	switch {
	case r.ContentDays > r.RecordDays:
		return &SettingError{"content_days", "must not be more than record_days"}
	case r.KeyDays < r.RecordDays:
		return &SettingError{"key_days", "must not be less than record_days"}
	}
	return nil
}

type retentionField struct {
	name string
	days *int
}

func (r *RetentionSettings) fields() []retentionField {
	return []retentionField{
		{"content_days", &r.ContentDays},
		{"record_days", &r.RecordDays},
		{"key_days", &r.KeyDays},
		{"audit_days", &r.AuditDays},
	}
}

// Retention reads the retention settings.
func (l *Ledger) Retention(ctx context.Context) (RetentionSettings, error) {
	r := DefaultRetention()
	t := l.read()
	for _, f := range r.fields() {
		text, err := readSetting(ctx, t, "retention."+f.name)
		if err != nil {
			return r, err
		}
		if text == "" {
			continue
		}
		if *f.days, err = strconv.Atoi(text); err != nil {
			return r, fmt.Errorf("read setting %s: %w", f.name, err)
		}
	}
	return r, nil
}

// PutRetention writes the retention settings.
func (l *Ledger) PutRetention(ctx context.Context, r RetentionSettings, audit postledger.AuditEvent) error {
	if err := r.Check(); err != nil {
		return fmt.Errorf("put retention: %w", err)
	}
	return l.audited(ctx, "put retention", audit, func(ctx context.Context, t *tx, _ int64) error {
		for _, f := range r.fields() {
			if err := writeSetting(ctx, t, "retention."+f.name, strconv.Itoa(*f.days)); err != nil {
				return err
			}
		}
		return nil
	})
}
