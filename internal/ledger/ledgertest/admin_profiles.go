package ledgertest

import (
	"sync"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
)

func adminProfiles(t *testing.T, open Opener) {
	w := NewWorld(t, open)
	ctx := t.Context()
	p := w.newProfile("news")
	if p.Revision != 1 || p.IsDefault || p.ID.IsZero() || p.CreatedAt.IsZero() || p.Config.From != w.Profile.Config.From {
		t.Fatalf("created %+v", p)
	}
	_, err := w.PutProfile(ctx, postledger.Profile{Name: "news"}, 0, w.did("profile.put"))
	wantErr(t, err, ledger.ErrProfileExists)

	change := p
	change.Config.PacePerMinute, change.Secrets = 60, []byte{1, 2, 3}
	got, err := w.PutProfile(ctx, change, p.Revision, w.did("profile.put"))
	must(t, err)
	if got.Revision != 2 || got.Config.PacePerMinute != 60 || string(got.Secrets) != "\x01\x02\x03" {
		t.Fatalf("changed %+v", got)
	}
	_, err = w.PutProfile(ctx, change, p.Revision, w.did("profile.put"))
	wantErr(t, err, ledger.ErrRevisionConflict)
	_, err = w.PutProfile(ctx, postledger.Profile{ID: w.NewID(), Name: "x"}, 1, w.did("profile.put"))
	wantErr(t, err, ledger.ErrProfileUnknown)
	change = got
	change.Name = w.Profile.Name
	_, err = w.PutProfile(ctx, change, 2, w.did("profile.put"))
	wantErr(t, err, ledger.ErrProfileExists)

	// Exactly one is the default.
	wantErr(t, w.RemoveProfile(ctx, w.Profile.ID, w.did("profile.remove")), ledger.ErrProfileIsDefault)
	change = w.Profile
	change.IsDefault = false
	_, err = w.PutProfile(ctx, change, w.Profile.Revision, w.did("profile.put"))
	wantErr(t, err, ledger.ErrProfileIsDefault)
	got.IsDefault = true
	got, err = w.PutProfile(ctx, got, 2, w.did("profile.put"))
	must(t, err)
	old, err := w.ProfileByID(ctx, w.Profile.ID)
	must(t, err)
	if !got.IsDefault || old.IsDefault || old.Revision != w.Profile.Revision+1 {
		t.Fatalf("default moved: %+v, from %+v", got, old)
	}
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			p := postledger.Profile{Name: string(rune('a' + i)), IsDefault: true, Config: w.Profile.Config}
			if _, err := w.PutProfile(ctx, p, 0, w.did("profile.put")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	all, err := w.Profiles(ctx)
	must(t, err)
	defaults := 0
	for _, p := range all {
		if p.IsDefault {
			defaults++
		}
	}
	if defaults != 1 || len(all) != 8 {
		t.Fatalf("%d defaults among %d", defaults, len(all))
	}

	must(t, w.RemoveProfile(ctx, w.Profile.ID, w.did("profile.remove")))
	must(t, w.RemoveProfile(ctx, w.Profile.ID, w.did("profile.remove")))
	wantErr(t, w.RemoveProfile(ctx, w.NewID(), w.did("profile.remove")), ledger.ErrProfileUnknown)
	_, err = w.PutProfile(ctx, old, old.Revision+1, w.did("profile.put"))
	wantErr(t, err, ledger.ErrProfileGone)
	if old, err = w.ProfileByName(ctx, w.Profile.Name); err != nil || old.RemovedAt.IsZero() {
		t.Fatalf("removed one by name: %+v, %v", old, err)
	}
	again := w.newProfile(w.Profile.Name)
	if old, err = w.ProfileByName(ctx, w.Profile.Name); err != nil || old.ID != again.ID {
		t.Fatalf("the live one by name: %+v, %v", old, err)
	}
	_, err = w.ProfileByName(ctx, "nobody")
	wantErr(t, err, ledger.ErrProfileUnknown)
}

func adminPause(t *testing.T, open Opener) {
	w := NewWorld(t, open)
	ctx := t.Context()
	read := func() postledger.Profile {
		p, err := w.ProfileByID(ctx, w.Profile.ID)
		must(t, err)
		return p
	}
	must(t, w.ResumeProfile(ctx, w.Profile.ID, w.did("profile.resume")))
	must(t, w.PauseProfile(ctx, w.Profile.ID, "535 5.7.8", "auth_refused", w.did("profile.pause")))
	p := read()
	if p.PausedAt.IsZero() || p.Alarm != "auth_refused" || p.PauseReason != "535 5.7.8" || p.Revision != w.Profile.Revision {
		t.Fatalf("alarm: %+v", p)
	}
	since := p.PausedAt
	must(t, w.PauseProfile(ctx, w.Profile.ID, "again", "auth_refused", w.did("profile.pause")))
	if p = read(); p.PauseReason != "535 5.7.8" {
		t.Fatalf("second alarm: %+v", p)
	}
	must(t, w.PauseProfile(ctx, w.Profile.ID, "new relay", "", w.did("profile.pause")))
	if p = read(); p.Alarm != "" || p.PauseReason != "new relay" || !p.PausedAt.Equal(since) {
		t.Fatalf("operator's pause: %+v", p)
	}
	must(t, w.PauseProfile(ctx, w.Profile.ID, "x", "auth_refused", w.did("profile.pause")))
	if p = read(); p.Alarm != "" || p.PauseReason != "new relay" {
		t.Fatalf("an alarm replaced an operator's pause: %+v", p)
	}
	must(t, w.ResumeProfile(ctx, w.Profile.ID, w.did("profile.resume")))
	if p = read(); !p.PausedAt.IsZero() || p.Alarm != "" || p.PauseReason != "" {
		t.Fatalf("resumed: %+v", p)
	}
	wantErr(t, w.PauseProfile(ctx, w.NewID(), "x", "", w.did("profile.pause")), ledger.ErrProfileUnknown)
	wantErr(t, w.ResumeProfile(ctx, w.NewID(), w.did("profile.resume")), ledger.ErrProfileUnknown)
}

func adminGrants(t *testing.T, open Opener) {
	w := NewWorld(t, open)
	ctx := t.Context()
	news := w.newProfile("news")
	ask := func(name string) (ledger.Effective, error) { return w.EffectivePolicy(ctx, w.App.ID, name) }

	// Without grants: the default only, and by either name.
	for _, name := range []string{"", w.Profile.Name} {
		e, err := ask(name)
		must(t, err)
		if e.Profile.ID != w.Profile.ID || e.TrustedHTML || e.Quota != nil {
			t.Fatalf("%q: %+v", name, e)
		}
	}
	_, err := ask("news")
	wantErr(t, err, ledger.ErrNotGranted)
	_, err = ask("nobody")
	wantErr(t, err, ledger.ErrProfileUnknown)
	_, err = w.EffectivePolicy(ctx, w.NewID(), "")
	wantErr(t, err, ledger.ErrAppUnknown)

	// With grants: what they name, and nothing else.
	quota := int64(7)
	must(t, w.PutGrant(ctx, postledger.Grant{AppID: w.App.ID, ProfileID: news.ID, TrustedHTML: true, Quota: &quota}, w.did("grant.put")))
	e, err := ask("news")
	must(t, err)
	if e.Profile.ID != news.ID || !e.TrustedHTML || e.Quota == nil || *e.Quota != 7 {
		t.Fatalf("granted %+v", e)
	}
	_, err = ask("")
	wantErr(t, err, ledger.ErrProfileRequired)
	_, err = ask(w.Profile.Name)
	wantErr(t, err, ledger.ErrNotGranted)

	// What it says is what Accept checks.
	m := w.Message([]string{"a@x.example"})
	m.Message.ProfileID, m.Deliveries[0].ProfileID = news.ID, news.ID
	r := w.Request(m)
	r.ProfileID, r.Revision, r.Quota, r.TrustedHTML = news.ID, e.Profile.Revision, e.Quota, e.TrustedHTML
	_, err = w.Accept(ctx, r)
	must(t, err)

	// A grant without a quota has the profile's.
	day := int64(9)
	change := news
	change.Config.QuotaPerDay = &day
	_, err = w.PutProfile(ctx, change, news.Revision, w.did("profile.put"))
	must(t, err)
	must(t, w.PutGrant(ctx, postledger.Grant{AppID: w.App.ID, ProfileID: news.ID}, w.did("grant.put")))
	if e, err = ask("news"); err != nil || e.TrustedHTML || *e.Quota != 9 {
		t.Fatalf("profile's quota: %+v, %v", e, err)
	}

	must(t, w.RevokeGrant(ctx, w.App.ID, news.ID, w.did("grant.revoke")))
	must(t, w.RevokeGrant(ctx, w.App.ID, news.ID, w.did("grant.revoke")))
	wantErr(t, w.RevokeGrant(ctx, w.App.ID, w.Profile.ID, w.did("grant.revoke")), ledger.ErrGrantUnknown)
	_, err = ask("news")
	wantErr(t, err, ledger.ErrNotGranted)
	_, err = ask("")
	must(t, err)
	grants, err := w.Grants(ctx, w.App.ID)
	must(t, err)
	if len(grants) != 1 || grants[0].RevokedAt.IsZero() {
		t.Fatalf("listed %+v", grants)
	}

	must(t, w.RemoveProfile(ctx, news.ID, w.did("profile.remove")))
	_, err = ask("news")
	wantErr(t, err, ledger.ErrProfileGone)
	wantErr(t, w.PutGrant(ctx, postledger.Grant{AppID: w.App.ID, ProfileID: news.ID}, w.did("grant.put")), ledger.ErrProfileGone)
	must(t, w.RemoveApp(ctx, w.App.ID, w.did("app.remove")))
	_, err = ask("")
	wantErr(t, err, ledger.ErrAppRemoved)
	wantErr(t, w.PutGrant(ctx, postledger.Grant{AppID: w.App.ID, ProfileID: w.Profile.ID}, w.did("grant.put")), ledger.ErrAppRemoved)
}

func adminSnapshot(t *testing.T, open Opener) {
	w := NewWorld(t, open)
	ctx := t.Context()
	before, err := w.PolicySnapshot(ctx)
	must(t, err)
	if len(before.Profiles) != 1 || len(before.Grants) != 0 || len(before.Removed) != 0 || before.Version == 0 {
		t.Fatalf("first %+v", before)
	}
	same := func() {
		t.Helper()
		if v, err := w.PolicyVersion(ctx); err != nil || v != before.Version {
			t.Fatalf("version %d, %v; want %d", v, err, before.Version)
		}
	}
	newer := func() {
		t.Helper()
		v, err := w.PolicyVersion(ctx)
		must(t, err)
		if v <= before.Version {
			t.Fatalf("version %d after %d", v, before.Version)
		}
		before.Version = v
	}
	w.Send([]string{"a@x.example"})
	must(t, w.ResumeProfile(ctx, w.Profile.ID, w.did("profile.resume"))) // nothing to resume
	same()
	must(t, w.PutGrant(ctx, postledger.Grant{AppID: w.App.ID, ProfileID: w.Profile.ID}, w.did("grant.put")))
	newer()
	must(t, w.PauseProfile(ctx, w.Profile.ID, "x", "", w.did("profile.pause")))
	newer()
	must(t, w.RemoveApp(ctx, w.App.ID, w.did("app.remove")))
	newer()
	after, err := w.PolicySnapshot(ctx)
	must(t, err)
	if after.Version != before.Version || after.Profiles[0].PausedAt.IsZero() || len(after.Grants) != 1 || len(after.Removed) != 1 || after.Removed[0] != w.App.ID {
		t.Fatalf("last %+v", after)
	}
}

func adminBacklog(t *testing.T, open Opener) {
	w := NewWorld(t, open)
	ctx := t.Context()
	if b, err := w.Backlogs(ctx); err != nil || len(b) != 0 {
		t.Fatalf("empty: %v, %v", b, err)
	}
	first := w.Send([]string{"a@x.example", "b@x.example"})
	w.Send([]string{"c@x.example"}, WithLane(postledger.LaneBulk))
	w.Send([]string{"d@x.example"}, WithSendAt(time.Now().Add(time.Hour)))
	b, err := w.Backlogs(ctx)
	must(t, err)
	got := b[w.Profile.ID]
	if got.Waiting != 4 || got.More || !got.OldestDue.Equal(w.Row(first[0]).DueAt) || got.Late <= 0 {
		t.Fatalf("backlog %+v", got)
	}
	w.LeaseN(10)
	if b, err = w.Backlogs(ctx); err != nil || b[w.Profile.ID].Waiting != 2 {
		t.Fatalf("after a lease: %+v, %v", b, err)
	}
}
