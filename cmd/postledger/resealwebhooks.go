package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/webhook"
)

// resealWebhooks seals the secrets of all webhooks anew that another key sealed, and
// tells how many webhooks that were.
func resealWebhooks(ctx context.Context, l *ledger.Ledger, seal *webhook.Sealer) (int, error) {
	list, err := l.WebhooksOf(ctx, postledger.ID{})
	if err != nil {
		return 0, err
	}
	n := 0
	var faults []error
	for _, h := range list {
		done := false
		_, err := l.ChangeWebhook(ctx, h.ID, audit(l, "webhook.reseal", "webhook", h.ID.String()), func(w *ledger.Webhook, _ time.Time) (bool, error) {
			var err error
			done, err = resealWebhook(seal, w)
			return done, err
		})
		switch {
		case errors.Is(err, ledger.ErrWebhookUnknown): // removed meanwhile
		case err != nil:
			faults = append(faults, fmt.Errorf("webhook %s: %w", h.ID, err))
		case done:
			n++
		}
	}
	return n, errors.Join(faults...)
}

func resealWebhook(seal *webhook.Sealer, w *ledger.Webhook) (bool, error) {
	done := false
	for _, box := range []*[]byte{&w.Secret, &w.PreviousSecret} {
		if len(*box) == 0 || !seal.NeedsReseal(*box) {
			continue
		}
		key, err := seal.Open(*box, w.ID, w.URL)
		if err != nil {
			return false, err
		}
		if *box, err = seal.Seal(key, w.ID, w.URL); err != nil {
			return false, err
		}
		done = true
	}
	return done, nil
}
