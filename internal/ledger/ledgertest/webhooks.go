package ledgertest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
)

// Webhooks: endpoints, the record of tries, and what events say.
func Webhooks(t *testing.T, open Opener) {
	t.Run("endpoints", func(t *testing.T) { webhookEndpoints(t, open) })
	t.Run("failing and working", func(t *testing.T) { webhookHealth(t, open) })
	t.Run("attempts", func(t *testing.T) { webhookAttempts(t, open) })
	t.Run("facts", func(t *testing.T) { webhookFacts(t, open) })
}

// webhook makes an endpoint of an app.
func (w *World) webhook(app postledger.ID, states ...postledger.Status) ledger.Webhook {
	w.T.Helper()
	h := ledger.Webhook{
		ID: w.NewID(), AppID: app, URL: "https://hooks.shop.example/in", Description: "orders",
		States: states, WithAddress: true, Secret: []byte("sealed"),
	}
	must(w.T, w.CreateWebhook(w.T.Context(), h, w.did("webhook.create")))
	h, err := w.Webhook(w.T.Context(), h.ID)
	must(w.T, err)
	return h
}

func webhookEndpoints(t *testing.T, open Opener) {
	w := NewWorld(t, open)
	ctx := t.Context()
	other := w.newApp("billing")
	version := func() string {
		v, err := w.WebhooksVersion(ctx)
		must(t, err)
		return v
	}
	before := version()
	h := w.webhook(w.App.ID, postledger.StatusSent, postledger.StatusFailed)
	foreign := w.webhook(other.ID, postledger.StatusSent)
	if h.Revision != 1 || h.CreatedAt.IsZero() || !h.DisabledAt.IsZero() || !h.WithAddress || string(h.Secret) != "sealed" ||
		!slices.Equal(h.States, []postledger.Status{postledger.StatusSent, postledger.StatusFailed}) || h.Description != "orders" {
		t.Fatalf("read %+v", h)
	}
	if version() == before {
		t.Error("nobody sees the new endpoint")
	}
	ids := func(list []ledger.Webhook, err error) []postledger.ID {
		t.Helper()
		must(t, err)
		var out []postledger.ID
		for _, h := range list {
			out = append(out, h.ID)
		}
		return out
	}
	if got := ids(w.WebhooksOf(ctx, w.App.ID)); !slices.Equal(got, []postledger.ID{h.ID}) {
		t.Errorf("the app has %v", got)
	}
	if got := ids(w.WebhooksOf(ctx, postledger.ID{})); len(got) != 2 {
		t.Errorf("all apps have %v", got)
	}

	before = version()
	until := time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
	changed, err := w.ChangeWebhook(ctx, h.ID, w.did("webhook.change"), func(c *ledger.Webhook, now time.Time) (bool, error) {
		c.URL, c.Description, c.States, c.WithAddress = "https://b.example/", "", []postledger.Status{postledger.StatusCanceled}, false
		c.Secret, c.PreviousSecret, c.PreviousUntil = []byte("new"), []byte("old"), until
		c.DisabledAt, c.DisabledReason = now, "by hand"
		return true, nil
	})
	must(t, err)
	read, err := w.Webhook(ctx, h.ID)
	must(t, err)
	if fmt.Sprint(read) != fmt.Sprint(changed) || read.Revision != 2 || read.URL != "https://b.example/" || !read.PreviousUntil.Equal(until) ||
		string(read.PreviousSecret) != "old" || read.DisabledReason != "by hand" || read.DisabledAt.IsZero() || read.WithAddress {
		t.Errorf("changed to %+v, read %+v", changed, read)
	}
	if version() == before {
		t.Error("nobody sees the change")
	}
	if got := ids(w.EnabledWebhooks(ctx)); !slices.Equal(got, []postledger.ID{foreign.ID}) {
		t.Errorf("enabled are %v", got)
	}

	// A change that alters nothing, or fails, writes nothing.
	lines := func() int {
		p, err := w.Ledger.Audit(ctx, ledger.AuditFilter{}, ledger.Paging{Limit: 100})
		must(t, err)
		return len(p.Items)
	}
	before, n, refused := version(), lines(), errors.New("refused")
	_, err = w.ChangeWebhook(ctx, h.ID, w.did("webhook.change"), func(c *ledger.Webhook, _ time.Time) (bool, error) {
		c.URL = "https://c.example/"
		return false, nil
	})
	must(t, err)
	for _, altered := range []bool{true, false} {
		_, err = w.ChangeWebhook(ctx, h.ID, w.did("webhook.change"), func(*ledger.Webhook, time.Time) (bool, error) { return altered, refused })
		wantErr(t, err, refused)
	}
	_, err = w.ChangeWebhook(ctx, w.NewID(), w.did("webhook.change"), func(*ledger.Webhook, time.Time) (bool, error) { return true, nil })
	wantErr(t, err, ledger.ErrWebhookUnknown)
	if again, err := w.Webhook(ctx, h.ID); err != nil || again.URL != read.URL || version() != before || lines() != n {
		t.Errorf("nothing was to change: %+v, %v", again, err)
	}

	// A removed app's endpoints are told nothing.
	before = version()
	must(t, w.RemoveApp(ctx, other.ID, w.did("app.remove")))
	if got := ids(w.EnabledWebhooks(ctx)); len(got) != 0 || version() == before {
		t.Errorf("of a removed app %v are enabled", got)
	}
	wantErr(t, w.CreateWebhook(ctx, ledger.Webhook{ID: w.NewID(), AppID: other.ID, URL: "x", Secret: []byte("s")}, w.did("webhook.create")), ledger.ErrAppRemoved)
	must(t, w.RemoveWebhook(ctx, h.ID, w.did("webhook.remove")))
	wantErr(t, w.RemoveWebhook(ctx, h.ID, w.did("webhook.remove")), ledger.ErrWebhookUnknown)
	_, err = w.Webhook(ctx, h.ID)
	wantErr(t, err, ledger.ErrWebhookUnknown)
	for range ledger.MaxWebhooks {
		w.webhook(w.App.ID, postledger.StatusSent)
	}
	wantErr(t, w.CreateWebhook(ctx, ledger.Webhook{ID: w.NewID(), AppID: w.App.ID, URL: "x", Secret: []byte("s")}, w.did("webhook.create")), ledger.ErrWebhooksTooMany)
}

func webhookHealth(t *testing.T, open Opener) {
	w := NewWorld(t, open)
	ctx := t.Context()
	h := w.webhook(w.App.ID, postledger.StatusSent)
	version, err := w.WebhooksVersion(ctx)
	must(t, err)
	must(t, w.WebhookWorks(ctx, h.ID)) // it did not fail
	since, err := w.WebhookFails(ctx, h.ID, time.Hour)
	must(t, err)
	if ago := time.Since(since); ago < 59*time.Minute || ago > 61*time.Minute {
		t.Errorf("fails since %s", since)
	}
	again, err := w.WebhookFails(ctx, h.ID, 0)
	must(t, err)
	read, err := w.Webhook(ctx, h.ID)
	must(t, err)
	if !again.Equal(since) || !read.FailingSince.Equal(since) || read.Revision != h.Revision {
		t.Errorf("fails since %s, then %s: %+v", since, again, read)
	}
	failing, err := w.WebhooksVersion(ctx)
	must(t, err)
	if failing == version {
		t.Error("nobody sees that it fails")
	}
	must(t, w.WebhookWorks(ctx, h.ID))
	if read, err = w.Webhook(ctx, h.ID); err != nil || !read.FailingSince.IsZero() {
		t.Errorf("works: %+v, %v", read, err)
	}
	_, err = w.WebhookFails(ctx, w.NewID(), 0)
	wantErr(t, err, ledger.ErrWebhookUnknown)
}

func webhookAttempts(t *testing.T, open Opener) {
	w := NewWorld(t, open)
	ctx := t.Context()
	endpoint, other, delivery := w.NewID(), w.NewID(), w.NewID()
	at := time.Now().UTC().Truncate(time.Microsecond)
	make := func(to, of postledger.ID, n int) ledger.WebhookAttempt {
		return ledger.WebhookAttempt{
			ID: w.NewID(), EndpointID: to, EventID: w.NewID(), DeliveryID: of, State: postledger.StatusSent, Attempt: n,
			Verdict: "refused", Code: 500, Took: 1234 * time.Microsecond, RetryAt: at.Add(time.Minute), Response: "no\nå", At: at,
		}
	}
	list := []ledger.WebhookAttempt{make(endpoint, delivery, 1), make(other, delivery, 1), make(endpoint, w.NewID(), 1), make(endpoint, delivery, 2), make(endpoint, postledger.ID{}, 1)}
	list[4].RetryAt, list[4].State = time.Time{}, ""
	must(t, w.RecordWebhookAttempts(ctx, nil))
	must(t, w.RecordWebhookAttempts(ctx, list))
	must(t, w.RecordWebhookAttempts(ctx, list[:2])) // as after a lost answer
	check := func(what string, want []ledger.WebhookAttempt, endpoint, delivery, before postledger.ID, limit int) {
		t.Helper()
		got, err := w.WebhookAttempts(ctx, endpoint, delivery, before, limit)
		must(t, err)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s:\n%v\nwant\n%v", what, got, want)
		}
	}
	pick := func(at ...int) (out []ledger.WebhookAttempt) {
		for _, i := range at {
			out = append(out, list[i])
		}
		return out
	}
	check("all", pick(4, 3, 2, 0), endpoint, postledger.ID{}, postledger.ID{}, 10)
	check("a page", pick(4, 3), endpoint, postledger.ID{}, postledger.ID{}, 2)
	check("the next", pick(2, 0), endpoint, postledger.ID{}, list[3].ID, 2)
	check("of a delivery", pick(3, 0), endpoint, delivery, postledger.ID{}, 10)
	check("of another endpoint", pick(1), other, delivery, postledger.ID{}, 10)

	purge := func(before time.Time, want int) {
		t.Helper()
		n, err := w.PurgeWebhookAttempts(ctx, before, 2)
		must(t, err)
		if n != want {
			t.Errorf("removed %d, want %d", n, want)
		}
	}
	purge(at.Add(-time.Hour), 0)
	later := time.Now().Add(time.Hour)
	purge(later, 2)
	check("what is left", pick(4, 3, 2), endpoint, postledger.ID{}, postledger.ID{}, 10)
	purge(later, 2)
	purge(later, 1)
	purge(later, 0)
}

func webhookFacts(t *testing.T, open Opener) {
	w := NewWorld(t, open)
	ctx := t.Context()
	sent, fence := w.in(postledger.StatusSent)
	failed, _ := w.in(postledger.StatusFailed)
	w.in(postledger.StatusQueued)
	got, err := w.DeliveryFactsOf(ctx, []postledger.ID{sent, w.NewID()})
	must(t, err)
	row := w.Row(sent)
	want := ledger.DeliveryFacts{
		ID: sent, MessageID: row.MessageID, AppID: w.App.ID, Status: row.Status, Reason: row.Reason, Fence: fence, Attempts: row.Attempts,
		Kind: row.Kind, Address: row.Address, Response: row.Response, SettledAt: row.SettledAt, Profile: w.Profile.Name, Lane: row.Lane,
		Category: postledger.CategorySystem,
	}
	if len(got) != 1 || got[sent] != want {
		t.Errorf("read %+v, want %+v", got, want)
	}
	if none, err := w.DeliveryFactsOf(ctx, nil); err != nil || len(none) != 0 {
		t.Errorf("of none: %v, %v", none, err)
	}

	walk := func(f ledger.Filter) (out []postledger.ID) {
		t.Helper()
		var mark ledger.Mark
		for {
			s, err := w.SelectSettled(ctx, f, mark, 1)
			must(t, err)
			out = append(out, s.IDs...)
			if s.Done {
				return out
			}
			text, err := s.Next.MarshalText()
			must(t, err)
			mark = ledger.Mark{}
			must(t, mark.UnmarshalText(text))
		}
	}
	doubtful, _ := w.in(postledger.StatusUnconfirmed)
	w.MustSettle(ledger.Settlement{ID: doubtful, Fence: ledger.AnyFence, Mover: postledger.MoverOperator, To: postledger.StatusQueued, Reason: postledger.ReasonResend})
	if got, err := w.DeliveryFactsOf(ctx, []postledger.ID{doubtful, sent}); err != nil || !got[doubtful].Resent || got[sent].Resent {
		t.Errorf("one that is sent again in doubt: %+v, %v", got, err)
	}
	all := []postledger.Status{postledger.StatusSent, postledger.StatusFailed}
	if got := walk(ledger.Filter{App: w.App.ID, Statuses: all}); !slices.Equal(got, []postledger.ID{sent, failed}) {
		t.Errorf("settled are %v", got)
	}
	if got := walk(ledger.Filter{App: w.App.ID, Statuses: all, Until: time.Now().Add(-time.Hour)}); len(got) != 0 {
		t.Errorf("settled an hour ago are %v", got)
	}
	for _, bad := range [][]postledger.Status{nil, {postledger.StatusQueued}} {
		var rule *ledger.FilterError
		if _, err := w.SelectSettled(ctx, ledger.Filter{App: w.App.ID, Statuses: bad}, ledger.Mark{}, 1); !errors.As(err, &rule) {
			t.Errorf("states %v: %v", bad, err)
		}
	}
	var mark ledger.Mark
	for _, bad := range []string{"", "x", sent.String(), sent.String() + "-" + sent.String(), sent.String() + "." + sent.String()[:35] + "x"} {
		if err := mark.UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q is taken for a mark", bad)
		}
	}
}
