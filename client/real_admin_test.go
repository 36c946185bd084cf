package client_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/client"
)

func TestRealAdministration(t *testing.T) {
	s, ctx := start(t), t.Context()
	op := s.operator
	_, err := op.CreateApp(ctx, "shop")
	refused(t, err, client.ErrAppExists)
	other, err := op.CreateApp(ctx, "forum")
	must(t, err)
	apps, err := op.Apps(ctx)
	must(t, err)
	one, err := op.App(ctx, other.ID)
	must(t, err)
	if len(apps) != 2 || one.Name != "forum" || one.CreatedAt.IsZero() {
		t.Errorf("apps %+v, %+v", apps, one)
	}

	k, err := op.CreateAPIKey(ctx, client.NewAPIKey{App: other.ID, Name: "reader", Scopes: []postledger.Scope{postledger.ScopeRead}, ExpiresAt: time.Now().Add(time.Hour)})
	must(t, err)
	keys, err := op.APIKeys(ctx, other.ID)
	must(t, err)
	if len(keys) != 1 || keys[0].ID != k.ID || keys[0].Hint != k.Hint || !strings.HasSuffix(k.Token, k.Hint) {
		t.Errorf("keys %+v, made %+v", keys, k)
	}
	must(t, op.RevokeAPIKey(ctx, k.ID))
	refused(t, op.RevokeAPIKey(ctx, postledger.ID{1}), client.ErrKeyUnknown)
	operators, err := op.APIKeys(ctx, postledger.ID{})
	must(t, err)
	if len(operators) != 1 || operators[0].Name != "first" {
		t.Errorf("operators' keys %+v", operators)
	}

	quota := int64(2)
	g, err := op.PutGrant(ctx, s.app.ID, "main", client.GrantTerms{TrustedHTML: true, Quota: &quota})
	must(t, err)
	if !g.TrustedHTML || *g.Quota != 2 {
		t.Errorf("grant %+v", g)
	}
	_, err = s.client.Send(ctx, &client.Message{To: client.To("a@rcv.test", "b@rcv.test", "c@rcv.test"), Text: "x"})
	if e := refused(t, err, client.ErrQuotaExceeded); e.Usage == nil || e.Usage.Limit != 2 || e.Usage.Requested != 3 {
		t.Errorf("got %+v", e)
	}
	if g, err = op.RevokeGrant(ctx, s.app.ID, "main"); err != nil || g.RevokedAt.IsZero() {
		t.Errorf("revoked grant %+v, %v", g, err)
	}
	_, err = op.RevokeGrant(ctx, other.ID, "main")
	refused(t, err, client.ErrGrantUnknown)
	grants, err := op.Grants(ctx, s.app.ID)
	must(t, err)
	if len(grants) != 1 {
		t.Errorf("grants %+v", grants)
	}

	r, err := op.Retention(ctx)
	must(t, err)
	r.ContentDays = 7
	if r, err = op.PutRetention(ctx, *r); err != nil || r.ContentDays != 7 {
		t.Errorf("retention %+v, %v", r, err)
	}
	r.KeyDays = 1
	_, err = op.PutRetention(ctx, *r)
	refused(t, err, client.ErrBadInput)

	if removed, err := op.RemoveApp(ctx, other.ID); err != nil || removed.RemovedAt.IsZero() {
		t.Errorf("removed %+v, %v", removed, err)
	}
	actions := map[string]int{}
	for e, err := range op.Audit(ctx, client.AuditFilter{PageSize: 3, Since: time.Now().Add(-time.Hour)}) {
		must(t, err)
		actions[e.Action]++
	}
	for _, want := range []string{"app.create", "key.create", "key.revoke", "grant.put", "retention.put", "app.remove", "message.accept"} {
		if actions[want] == 0 {
			t.Errorf("the audit trail has no %s: %v", want, actions)
		}
	}
}

func TestRealProfiles(t *testing.T) {
	s, ctx := start(t), t.Context()
	op := s.operator
	password := "hunter2-secret"
	smtp := postledger.ProfileConfig{
		From: "news@send.test", Transport: "smtp", Connections: 3, PacePerMinute: 60,
		Settings: []byte(`{"host":"127.0.0.1","port":9,"tls":"none"}`),
	}
	p, err := op.PutProfile(ctx, "news", client.ProfileChange{ProfileConfig: smtp})
	must(t, err)
	if p.Revision == 0 || p.From != "news@send.test" || p.IsDefault || p.HasPassword {
		t.Errorf("profile %+v", p)
	}
	_, err = op.PutProfile(ctx, "news", client.ProfileChange{ProfileConfig: smtp})
	refused(t, err, client.ErrProfileExists)
	_, err = op.PutProfile(ctx, "news", client.ProfileChange{Revision: p.Revision + 5, ProfileConfig: smtp})
	refused(t, err, client.ErrRevisionConflict)
	_, err = op.PutProfile(ctx, "bad", client.ProfileChange{ProfileConfig: postledger.ProfileConfig{Transport: "pigeon"}, Password: &password})
	e := refused(t, err, client.ErrInvalidProfile)
	if len(e.Fields) == 0 || strings.Contains(err.Error(), password) {
		t.Errorf("got %v", err)
	}
	if p, err = op.PauseProfile(ctx, "news", "the relay is moved"); err != nil || p.Paused == nil || p.Paused.Reason != "the relay is moved" {
		t.Fatalf("paused %+v, %v", p, err)
	}
	if p, err = op.ResumeProfile(ctx, p.ID.String()); err != nil || p.Paused != nil {
		t.Errorf("resumed %+v, %v", p, err)
	}
	tested, err := op.TestProfile(ctx, "main", s.app.ID, "mira@rcv.test")
	must(t, err)
	if !tested.Settled || tested.Delivery.Status != postledger.StatusSent || tested.MessageID.IsZero() {
		t.Errorf("tested %+v", tested)
	}
	_, err = op.RemoveProfile(ctx, "main")
	refused(t, err, client.ErrProfileIsDefault)
	_, err = op.PutProfile(ctx, "third", client.ProfileChange{ProfileConfig: sandboxed()})
	must(t, err)
	third, err := op.MakeDefaultProfile(ctx, "third")
	if err != nil || !third.IsDefault {
		t.Fatalf("default %+v, %v", third, err)
	}
	if p, err = op.RemoveProfile(ctx, "main"); err != nil || p.RemovedAt.IsZero() {
		t.Errorf("removed %+v, %v", p, err)
	}
	list, err := op.Profiles(ctx)
	must(t, err)
	got, err := op.Profile(ctx, "third")
	must(t, err)
	if len(list) != 3 || got.ID != third.ID {
		t.Errorf("profiles %+v, %+v", list, got)
	}
}

func TestRealSuppressions(t *testing.T) {
	s, ctx := start(t), t.Context()
	for i := range 5 {
		must(t, s.client.Suppress(ctx, postledger.ID{}, fmt.Sprintf("No%d+x@RCV.test", i), "asked by phone"))
	}
	var got []string
	for a, err := range s.operator.Suppressions(ctx, s.app.ID) {
		must(t, err)
		got = append(got, a.Address)
	}
	if strings.Join(got, " ") != "no0+x@rcv.test no1+x@rcv.test no2+x@rcv.test no3+x@rcv.test no4+x@rcv.test" {
		t.Errorf("got %v", got)
	}
	a, err := s.client.Send(ctx, &client.Message{To: client.To("no0+x@rcv.test"), Text: "x"}, client.Wait(20*time.Second))
	must(t, err)
	if a.Status != postledger.StatusSuppressed || len(a.Failures) != 1 || a.Failures[0].Reason != postledger.ReasonSuppressionList {
		t.Errorf("sent %+v", a)
	}
	must(t, s.operator.Unsuppress(ctx, s.app.ID, "NO0+x@rcv.test"))
	refused(t, s.client.Unsuppress(ctx, postledger.ID{}, "no0+x@rcv.test"), client.ErrSuppressionUnknown)
	for _, err := range s.operator.Suppressions(ctx, postledger.ID{}) {
		refused(t, err, client.ErrBadInput)
	}
}

// One app's things do not exist for another (invariant 18).
func TestRealStrangers(t *testing.T) {
	s, ctx := start(t), t.Context()
	a, err := s.client.Send(ctx, message())
	must(t, err)
	other, err := s.operator.CreateApp(ctx, "forum")
	must(t, err)
	k, err := s.operator.CreateAPIKey(ctx, client.NewAPIKey{App: other.ID, Name: "f", Scopes: []postledger.Scope{postledger.ScopeSend, postledger.ScopeRead}})
	must(t, err)
	stranger := dial(t, s.url, k.Token)
	_, err = stranger.Message(ctx, a.ID)
	refused(t, err, client.ErrMessageUnknown)
	_, err = stranger.CancelMessage(ctx, a.ID)
	refused(t, err, client.ErrMessageUnknown)
	for range stranger.Deliveries(ctx, client.DeliveryFilter{App: s.app.ID}) {
		t.Error("a stranger sees deliveries")
	}
}
