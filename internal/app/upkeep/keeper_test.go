package upkeep_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/app/upkeep"
	"github.com/postledger/postledger/internal/blob"
	"github.com/postledger/postledger/internal/blob/dir"
	"github.com/postledger/postledger/internal/ledger"
)

const day = 24 * time.Hour

// world is a ledger whose clock is set by hand, and a blob store.
type world struct {
	*ledger.Ledger
	now     time.Time
	blobs   *dir.Store
	blobDir string
	app     postledger.App
	key     postledger.APIKey
	profile postledger.Profile
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), blobDir: filepath.Join(t.TempDir(), "blobs")}
	var err error
	w.Ledger, err = ledger.Open(t.Context(), "sqlite://"+filepath.Join(t.TempDir(), "l.db"), ledger.Options{Now: func() time.Time { return w.now }})
	must(t, err)
	t.Cleanup(func() { must(t, w.Close()) })
	must(t, w.Migrate(t.Context()))
	w.blobs, err = dir.Open(w.blobDir)
	must(t, err)
	t.Cleanup(func() { must(t, w.blobs.Close()) })
	audit := func() postledger.AuditEvent {
		return postledger.AuditEvent{ID: w.NewID(), Action: "test", Result: "done"}
	}
	w.app = postledger.App{ID: w.NewID(), Name: "shop"}
	must(t, w.CreateApp(t.Context(), w.app, audit()))
	w.key = postledger.APIKey{ID: w.NewID(), AppID: w.app.ID, Name: "k", Scopes: []postledger.Scope{postledger.ScopeSend}, Hint: "xxxx"}
	must(t, w.CreateAPIKey(t.Context(), w.key, sha256.Sum256([]byte("k")), audit()))
	w.profile, err = w.PutProfile(t.Context(), postledger.Profile{Name: "main", IsDefault: true, Config: postledger.ProfileConfig{
		From: "a@example.org", Transport: "sandbox", Connections: 2,
	}}, 0, audit())
	must(t, err)
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// accept writes a message with an attachment.
func (w *world) accept(t *testing.T) (message, delivery postledger.ID, key string) {
	t.Helper()
	message, delivery = w.NewID(), w.NewID()
	key = w.put(t, message)
	_, err := w.Accept(t.Context(), &ledger.AcceptRequest{
		AppID: w.app.ID, APIKeyID: w.key.ID, ProfileID: w.profile.ID, Revision: w.profile.Revision,
		Audit: postledger.AuditEvent{ID: w.NewID(), AppID: w.app.ID, Action: "message.accept", Result: "done"},
		Messages: []ledger.NewMessage{{
			Message: postledger.Message{
				ID: message, AppID: w.app.ID, APIKeyID: w.key.ID, ProfileID: w.profile.ID, ProfileName: w.profile.Name,
				Lane: postledger.LaneImmediate, Category: postledger.CategorySystem, Subject: "s", Recipients: 1, SizeBytes: 2,
			},
			Content:     postledger.Content{Text: "t", Attachments: []postledger.Attachment{{Name: "a", Size: 1, Blob: key}}},
			Deliveries:  []postledger.Delivery{{ID: delivery, MessageID: message, EnvelopeID: delivery, AppID: w.app.ID, ProfileID: w.profile.ID, Lane: postledger.LaneImmediate, Kind: postledger.KindTo, Address: "b@example.com", AddressFolded: "b@example.com", Status: postledger.StatusQueued}},
			Key:         "key-" + message.String(),
			Fingerprint: hex.EncodeToString(make([]byte, 32)),
		}},
	})
	must(t, err)
	return message, delivery, key
}

func (w *world) put(t *testing.T, message postledger.ID) string {
	t.Helper()
	key, err := blob.Key(w.app.ID.String(), message.String(), 0)
	must(t, err)
	_, err = w.blobs.Put(t.Context(), key, strings.NewReader("x"), 10)
	must(t, err)
	w.age(t, key, w.now)
	return key
}

// age sets when a blob was made, by the ledger's clock.
func (w *world) age(t *testing.T, key string, at time.Time) {
	t.Helper()
	found := false
	must(t, filepath.WalkDir(w.blobDir, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() && strings.HasPrefix(e.Name(), strings.Split(key, "/")[1]+".") {
			found = true
			return os.Chtimes(path, at, at)
		}
		return err
	}))
	if !found {
		t.Fatalf("no file of %s", key)
	}
}

// cancel settles a delivery.
func (w *world) cancel(t *testing.T, delivery postledger.ID) {
	t.Helper()
	out, err := w.Cancel(t.Context(), []postledger.ID{delivery}, postledger.ReasonCanceledByApp, "test")
	must(t, err)
	if len(out) != 1 || !out[0].Done {
		t.Fatalf("%+v", out)
	}
}

func (w *world) keeper() (*upkeep.Keeper, *time.Duration) {
	lag := new(time.Duration)
	return &upkeep.Keeper{Ledger: w.Ledger, Blobs: w.blobs, Log: slog.New(slog.DiscardHandler), Lag: func(d time.Duration) { *lag = d }}, lag
}

func (w *world) has(t *testing.T, key string) bool {
	t.Helper()
	r, err := w.blobs.Open(t.Context(), key)
	if errors.Is(err, blob.ErrNotFound) {
		return false
	}
	must(t, err)
	must(t, r.Close())
	return true
}

func (w *world) pass(t *testing.T) upkeep.Summary {
	t.Helper()
	k, lag := w.keeper()
	s, err := k.Pass(t.Context())
	must(t, err)
	if *lag != 0 {
		t.Errorf("after a pass retention is %s behind", *lag)
	}
	report, err := w.Books(t.Context(), nil)
	must(t, err)
	if len(report.Differences) > 0 {
		t.Errorf("the books do not balance: %+v", report.Differences)
	}
	return s
}

func TestThingsGoWhenTheirTimeHasCome(t *testing.T) {
	w := newWorld(t)
	message, delivery, key := w.accept(t)
	_, _, openKey := w.accept(t) // stays queued
	w.cancel(t, delivery)

	w.now = w.now.Add(29 * day)
	if s := w.pass(t); s.Contents != 0 || s.Blobs != 0 || !w.has(t, key) {
		t.Errorf("too early: %+v", s)
	}
	w.now = w.now.Add(2 * day)
	if s := w.pass(t); s.Contents != 1 || s.Blobs != 1 || w.has(t, key) {
		t.Errorf("content: %+v", s)
	}
	if s := w.pass(t); s.Contents != 0 || s.Blobs != 0 {
		t.Errorf("twice: %+v", s)
	}
	w.now = w.now.Add(60 * day)
	if s := w.pass(t); s.Messages != 1 || s.Deliveries != 1 || s.Keys != 1 || s.KeptOpen != 1 {
		t.Errorf("records: %+v", s)
	}
	if _, err := w.MessageByID(t.Context(), w.app.ID, message); !errors.Is(err, ledger.ErrMessageUnknown) {
		t.Errorf("the message: %v", err)
	}
	w.now = w.now.Add(400 * day)
	if s := w.pass(t); s.Audit == 0 || s.KeptOpen != 1 || !w.has(t, openKey) {
		t.Errorf("audit: %+v, and what is not settled has its content: %v", s, w.has(t, openKey))
	}
}

func TestOrphansAreLeftAloneForTwoDays(t *testing.T) {
	w := newWorld(t)
	_, _, referenced := w.accept(t)
	orphan := w.put(t, w.NewID())
	w.now = w.now.Add(47 * time.Hour)
	if s := w.pass(t); s.Orphans != 0 || !w.has(t, orphan) {
		t.Errorf("too early: %+v", s)
	}
	w.now = w.now.Add(2 * time.Hour)
	if s := w.pass(t); s.Orphans != 1 || s.Blobs != 1 || w.has(t, orphan) || !w.has(t, referenced) {
		t.Errorf("%+v", s)
	}
}

// failing deletes nothing, once.
type failing struct {
	blob.Store
	fails bool
}

var errStore = errors.New("store down")

func (f *failing) Delete(ctx context.Context, key string) error {
	if f.fails {
		return errStore
	}
	return f.Store.Delete(ctx, key)
}

func TestAPassThatFailsIsMadeGoodByTheNext(t *testing.T) {
	w := newWorld(t)
	_, delivery, key := w.accept(t)
	w.cancel(t, delivery)
	w.now = w.now.Add(31 * day)
	k, _ := w.keeper()
	store := &failing{w.blobs, true}
	k.Blobs = store
	if _, err := k.Pass(t.Context()); !errors.Is(err, errStore) {
		t.Fatalf("%v", err)
	}
	store.fails = false
	s, err := k.Pass(t.Context())
	must(t, err)
	if s.Blobs != 1 || w.has(t, key) {
		t.Errorf("%+v", s)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	w := newWorld(t)
	k, _ := w.keeper()
	var log bytes.Buffer
	k.Log = slog.New(slog.NewTextHandler(&log, nil))
	ctx, cancel := context.WithCancel(t.Context())
	passed := make(chan struct{}, 1)
	k.Lag = func(time.Duration) { passed <- struct{}{} }
	done := make(chan struct{})
	go func() { k.Run(ctx); close(done) }()
	<-passed
	cancel()
	<-done
	if strings.Contains(log.String(), "failed") {
		t.Error(log.String())
	}
}
