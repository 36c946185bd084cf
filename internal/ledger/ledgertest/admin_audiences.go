package ledgertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
)

// audience is one of the world's app that was not saved yet.
func (w *World) audience(name, lens string) postledger.Audience {
	return postledger.Audience{AppID: w.App.ID, Name: name, SavedBy: w.NewID(), AudienceDefinition: postledger.AudienceDefinition{
		Source: "shop", Lens: json.RawMessage(lens), Address: "email", Locale: "language", Category: postledger.CategoryActivity,
	}}
}

func adminAudiences(t *testing.T, open Opener) {
	w := NewWorld(t, open)
	ctx := t.Context()
	const norway, sweden = `{"from":"users","where":{"country":{"eq":"NO"}},"select":["email"]}`, `{"from":"users","where":{"country":{"eq":"SE"}},"select":["email"]}`
	first, err := w.PutAudience(ctx, w.audience("nordic", norway), 0, w.did("audience.put"))
	must(t, err)
	if first.Revision != 1 || first.ID.IsZero() || first.CreatedAt.IsZero() || first.UpdatedAt.IsZero() || string(first.Lens) != norway || first.Locale != "language" {
		t.Fatalf("created %+v", first)
	}
	_, err = w.PutAudience(ctx, w.audience("nordic", norway), 0, w.did("audience.put"))
	wantErr(t, err, ledger.ErrAudienceExists)

	// A save names the version that it was made from, and adds one.
	change := first
	change.Name, change.Lens = "scandinavia", json.RawMessage(sweden)
	second, err := w.PutAudience(ctx, change, 1, w.did("audience.put"))
	must(t, err)
	if second.Revision != 2 || second.Name != "scandinavia" || string(second.Lens) != sweden || !second.CreatedAt.Equal(first.CreatedAt) {
		t.Fatalf("changed %+v", second)
	}
	_, err = w.PutAudience(ctx, change, 1, w.did("audience.put"))
	wantErr(t, err, ledger.ErrRevisionConflict)
	old, err := w.AudienceByID(ctx, w.App.ID, first.ID, 1)
	must(t, err)
	if old.Name != "nordic" || string(old.Lens) != norway || old.SavedBy != first.SavedBy {
		t.Fatalf("the first version became %+v", old)
	}
	_, err = w.AudienceByID(ctx, w.App.ID, first.ID, 3)
	wantErr(t, err, ledger.ErrAudienceUnknown)
	_, err = w.AudienceByName(ctx, w.App.ID, "nordic")
	wantErr(t, err, ledger.ErrAudienceUnknown)

	// Another app's is unknown, to read, change and remove (invariant 18).
	forum := w.newApp("forum")
	_, err = w.AudienceByID(ctx, forum.ID, first.ID, 0)
	wantErr(t, err, ledger.ErrAudienceUnknown)
	_, err = w.AudienceByName(ctx, forum.ID, "scandinavia")
	wantErr(t, err, ledger.ErrAudienceUnknown)
	theirs := change
	theirs.AppID = forum.ID
	_, err = w.PutAudience(ctx, theirs, 2, w.did("audience.put"))
	wantErr(t, err, ledger.ErrAudienceUnknown)
	wantErr(t, w.RemoveAudience(ctx, forum.ID, first.ID, w.did("audience.remove")), ledger.ErrAudienceUnknown)
	if list, _, err := w.AudienceVersions(ctx, forum.ID, first.ID, 0, 10); err != nil || len(list) != 0 {
		t.Fatalf("versions for another app: %d, %v", len(list), err)
	}
	same := w.audience("scandinavia", norway)
	same.AppID = forum.ID
	_, err = w.PutAudience(ctx, same, 0, w.did("audience.put"))
	must(t, err)
	lost := w.audience("lost", norway)
	lost.AppID = w.NewID()
	_, err = w.PutAudience(ctx, lost, 0, w.did("audience.put"))
	wantErr(t, err, ledger.ErrAppUnknown)

	w.audienceRaces(second)
	w.audienceLists()

	// Removed: its name is free, its versions stay.
	must(t, w.RemoveAudience(ctx, w.App.ID, first.ID, w.did("audience.remove")))
	must(t, w.RemoveAudience(ctx, w.App.ID, first.ID, w.did("audience.remove")))
	wantErr(t, w.RemoveAudience(ctx, w.App.ID, w.NewID(), w.did("audience.remove")), ledger.ErrAudienceUnknown)
	gone, err := w.AudienceByID(ctx, w.App.ID, first.ID, 0)
	must(t, err)
	if gone.RemovedAt.IsZero() {
		t.Fatalf("removed: %+v", gone)
	}
	_, err = w.PutAudience(ctx, gone, gone.Revision, w.did("audience.put"))
	wantErr(t, err, ledger.ErrAudienceRemoved)
	again, err := w.PutAudience(ctx, w.audience(gone.Name, norway), 0, w.did("audience.put"))
	must(t, err)
	if again.ID == first.ID || again.Revision != 1 {
		t.Fatalf("made anew: %+v", again)
	}
	must(t, w.RemoveApp(ctx, w.App.ID, w.did("app.remove")))
	_, err = w.PutAudience(ctx, again, 1, w.did("audience.put"))
	wantErr(t, err, ledger.ErrAppRemoved)
	w.audienceAudit(first.ID)
	w.audienceListsAreBounded()
}

// audienceRaces: of saves made from one version, one is kept; of creations of one
// name, too.
func (w *World) audienceRaces(a postledger.Audience) {
	w.T.Helper()
	var saved, made atomic.Int64
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			_, err := w.PutAudience(w.T.Context(), a, a.Revision, w.did("audience.put"))
			switch {
			case err == nil:
				saved.Add(1)
			case !errors.Is(err, ledger.ErrRevisionConflict):
				w.T.Errorf("save: %v", err)
			}
		})
		wg.Go(func() {
			_, err := w.PutAudience(w.T.Context(), w.audience("raced", `{}`), 0, w.did("audience.put"))
			switch {
			case err == nil:
				made.Add(1)
			case !errors.Is(err, ledger.ErrAudienceExists):
				w.T.Errorf("create: %v", err)
			}
		})
	}
	wg.Wait()
	if saved.Load() != 1 || made.Load() != 1 {
		w.T.Fatalf("%d saves and %d creations were kept, of six each", saved.Load(), made.Load())
	}
}

// audienceLists expects raced and scandinavia, the latter with three versions.
func (w *World) audienceLists() {
	w.T.Helper()
	ctx := w.T.Context()
	names := func(list []postledger.Audience, _ bool, err error) string {
		w.T.Helper()
		must(w.T, err)
		var out []string
		for _, a := range list {
			out = append(out, a.Name)
		}
		return strings.Join(out, " ")
	}
	if got := names(w.Audiences(ctx, w.App.ID, "", 10)); got != "raced scandinavia" {
		w.T.Fatalf("listed %q", got)
	}
	if got := names(w.Audiences(ctx, w.App.ID, "", 1)); got != "raced" {
		w.T.Fatalf("first page %q", got)
	}
	if got := names(w.Audiences(ctx, w.App.ID, "raced", 1)); got != "scandinavia" {
		w.T.Fatalf("second page %q", got)
	}
	a, err := w.AudienceByName(ctx, w.App.ID, "scandinavia")
	must(w.T, err)
	if got := names(w.AudienceVersions(ctx, w.App.ID, a.ID, 0, 10)); got != "scandinavia scandinavia nordic" {
		w.T.Fatalf("versions %q", got)
	}
	older, more, err := w.AudienceVersions(ctx, w.App.ID, a.ID, 3, 1)
	must(w.T, err)
	if len(older) != 1 || older[0].Revision != 2 || !more {
		w.T.Fatalf("before the third: %+v", older)
	}
}

// audienceListsAreBounded: large lenses end a page early, and none is left out.
func (w *World) audienceListsAreBounded() {
	w.T.Helper()
	ctx := w.T.Context()
	app := w.newApp("large")
	const all = 30
	large := `{"from": "` + strings.Repeat("x", 200<<10) + `"}`
	for i := range all {
		a := w.audience(fmt.Sprintf("large%02d", i), large)
		a.AppID = app.ID
		_, err := w.PutAudience(ctx, a, 0, w.did("audience.put"))
		must(w.T, err)
	}
	seen, pages, after := 0, 0, ""
	for more := true; more; pages++ {
		var list []postledger.Audience
		var err error
		list, more, err = w.Audiences(ctx, app.ID, after, 1000)
		must(w.T, err)
		if len(list) == 0 || len(list) > 11 {
			w.T.Fatalf("a page of %d audiences of 200 KiB", len(list))
		}
		for _, a := range list {
			if a.Name != fmt.Sprintf("large%02d", seen) {
				w.T.Fatalf("%s where %d should be", a.Name, seen)
			}
			seen++
		}
		after = list[len(list)-1].Name
	}
	if seen != all || pages != 3 {
		w.T.Fatalf("%d of %d audiences in %d pages", seen, all, pages)
	}
}

// audienceAudit: every kept change is a line, every refused one is none.
func (w *World) audienceAudit(id postledger.ID) {
	w.T.Helper()
	page, err := w.Audit(w.T.Context(), ledger.AuditFilter{}, ledger.Paging{Limit: 1000})
	must(w.T, err)
	n := map[string]int{}
	for _, e := range page.Items {
		n[e.Action]++
	}
	// nordic, its change, forum's, the race's save and creation, and the one made anew.
	if n["audience.put"] != 6 || n["audience.remove"] != 1 {
		w.T.Fatalf("the trail has %d saves and %d removals (of %s)", n["audience.put"], n["audience.remove"], id)
	}
}
