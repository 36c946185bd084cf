package ledgertest

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
)

// Shared: bodies that messages of one request share are kept once, and nobody
// can tell but by the rows. Statements that an earlier binary runs go by told,
// which need not hit a row of a table.
func Shared(t *testing.T, open Opener, exec, told Exec) {
	// One ledger for all: each leaves as many shared bodies as the next counts from.
	w := NewWorld(t, open)
	for _, c := range []struct {
		name string
		run  func(*World)
	}{
		{"purge", func(w *World) { sharedPurge(w, exec) }},
		{"purges at once", func(w *World) { sharedPurges(w, exec) }},
		{"an earlier binary", func(w *World) { sharedEarlier(w, exec, told) }},
		{"accept", func(w *World) { sharedAccept(w, exec) }},
		{"replays", func(w *World) { sharedReplays(w, exec) }},
		{"books", func(w *World) { sharedBooks(w, exec) }},
		{"read by many", sharedReads},
	} {
		if !t.Run(c.name, func(t *testing.T) {
			defer func(t *testing.T) { w.T = t }(w.T)
			w.T = t
			c.run(w)
		}) {
			return
		}
	}
}

// withBodies gives a message bodies of some size.
func withBodies(text, html string) Option {
	return func(m *ledger.NewMessage) {
		m.Content.Text, m.Content.HTML = text, html
		m.Message.SizeBytes = int64(len(text) + len(html))
	}
}

// body is a text of n bytes that begins with a name.
func body(name string, n int) string { return name + strings.Repeat("é", (n-len(name))/2) }

// batchOf builds a message for each option.
func (w *World) batchOf(opts ...Option) []ledger.NewMessage {
	var ms []ledger.NewMessage
	for i, o := range opts {
		ms = append(ms, w.Message([]string{fmt.Sprintf("r%d@x.example", i)}, o))
	}
	return ms
}

func (w *World) accepted(ms []ledger.NewMessage) []postledger.ID {
	w.T.Helper()
	a, err := w.Accept(w.T.Context(), w.Request(ms...))
	must(w.T, err)
	ids := make([]postledger.ID, len(a.Items))
	for i := range ids {
		ids[i] = a.Items[i].MessageID
	}
	return ids
}

// sharedAre fails unless there are so many shared bodies with so many contents.
func (w *World) sharedAre(exec Exec, bodies, refs int) {
	w.T.Helper()
	exec(w.T, w.Ledger, `UPDATE ledger_state SET one = one WHERE (SELECT count(*) FROM shared_bodies) = CAST(? AS bigint)
		AND (SELECT coalesce(sum(refs), 0) FROM shared_bodies) = CAST(? AS bigint)`, bodies, refs)
}

// reads fails unless every way to read the messages gives what was accepted.
func (w *World) reads(ms []ledger.NewMessage) {
	w.T.Helper()
	ctx := w.T.Context()
	var ids []postledger.ID
	for i := range ms {
		ids = append(ids, ms[i].Message.ID)
	}
	same := func(by string, i int, got *postledger.Content) {
		w.T.Helper()
		if !reflect.DeepEqual(*got, ms[i].Content) {
			w.T.Errorf("message %d by %s: %d and %d bytes, %+v", i, by, len(got.Text), len(got.HTML), got.Headers)
		}
	}
	loaded := func(by string, got map[postledger.ID]*ledger.Loaded, err error) {
		w.T.Helper()
		must(w.T, err)
		for i, id := range ids {
			if m := got[id]; m == nil || m.ContentMissing || m.ContentDeferred {
				w.T.Errorf("message %d by %s: %+v", i, by, m)
			} else {
				same(by, i, &m.Content)
			}
		}
	}
	got, err := w.LoadToSend(ctx, ids, 256<<10)
	loaded("a lease's load", got, err)
	got, err = w.LoadMessages(ctx, ids, math.MaxInt64)
	loaded("a load of any size", got, err)
	for i, id := range ids {
		c, err := w.ReadContent(ctx, w.App.ID, id, w.did("content.read"))
		must(w.T, err)
		same("the API", i, &c)
	}
}

func sharedAccept(w *World, exec Exec) {
	t := w.T
	a, b, c := body("a", 900), body("b", 3000), body("c", 100_000)
	ms := w.batchOf(
		withBodies(a, b), withBodies(a, b), withBodies(b, a), withBodies(a, b), // three alike, one the other way round
		withBodies(a, ""), withBodies(a, ""), // alike, and too small
		withBodies(c, ""), withBodies("", c), withBodies("", c), withBodies(c, ""), // two pairs
		withBodies("", ""), withBodies(body("d", 5000), ""), // alone
	)
	ms[1].Content.Headers = []postledger.Header{{Name: "X-Own", Value: "1"}}
	ms[3].Content.FromName, ms[3].Content.ReplyTo = "Mira", []postledger.Mailbox{{Address: "m@x.example"}}
	w.accepted(ms)
	w.sharedAre(exec, 3, 7)
	w.reads(ms)
	w.reads(ms) // what the cache holds now
	balanced(t, w)
	// The same bodies in another request are another row.
	more := w.batchOf(withBodies(a, b), withBodies(a, b))
	w.accepted(more)
	w.sharedAre(exec, 4, 9)
	w.reads(append(ms, more...))
	balanced(t, w)
	// A content that is larger than what is asked for comes without bodies.
	got, err := w.LoadToSend(t.Context(), []postledger.ID{ms[6].Message.ID, ms[0].Message.ID}, 50_000)
	must(t, err)
	if m := got[ms[6].Message.ID]; !m.ContentDeferred || m.ContentMissing || m.Content.Text != "" {
		t.Errorf("deferred: %v, missing: %v", m.ContentDeferred, m.ContentMissing)
	}
	if m := got[ms[0].Message.ID]; m.Content.HTML != b {
		t.Errorf("beside it: %d bytes", len(m.Content.HTML))
	}
}

// Only what is written counts: a replayed item has its own content already.
func sharedReplays(w *World, exec Exec) {
	t := w.T
	b := body("b", 3000)
	var keyed []ledger.NewMessage
	for i := range 5 {
		m := w.Message([]string{"r@x.example"}, withBodies(b, b), WithKey(fmt.Sprint("k", i), "f"))
		keyed = append(keyed, m)
	}
	w.accepted(keyed[:1])
	w.sharedAre(exec, 4, 9)
	w.accepted(keyed[:2]) // one of them is new
	w.sharedAre(exec, 4, 9)
	ids := w.accepted(keyed)
	w.sharedAre(exec, 5, 12)
	for i := range ids {
		if ids[i] != keyed[i].Message.ID {
			t.Errorf("item %d is another message", i)
		}
	}
	w.accepted(keyed)
	w.sharedAre(exec, 5, 12)
	w.reads(keyed)
	balanced(t, w)
}

// sendAll leases and settles up to n deliveries.
func (w *World) sendAll(n int) {
	w.T.Helper()
	for _, d := range w.LeaseN(n) {
		w.MustSettle(ledger.Settlement{ID: d.ID, Fence: d.Fence, Mover: postledger.MoverWorker, To: postledger.StatusSent})
	}
}

// A purge of some messages leaves the others their body, and one of the last
// takes it.
func sharedPurge(w *World, exec Exec) {
	t := w.T
	ctx := t.Context()
	b := body("b", 3000)
	ms := w.batchOf(withBodies(b, b), withBodies(b, b), withBodies(b, b), withBodies(b, b))
	w.accepted(ms)
	w.sendAll(2)
	if p := purgeIn(t, ctx, w, w.PurgeContent, 100); p.Messages != 2 {
		t.Fatalf("purged %+v", p)
	}
	w.sharedAre(exec, 1, 2)
	w.reads(ms[2:])
	balanced(t, w)
	for _, m := range ms[:2] {
		_, err := w.ReadContent(ctx, w.App.ID, m.Message.ID, w.did("content.read"))
		wantErr(t, err, ledger.ErrContentPurged)
	}
	// The cache has the body, and shows it of no message whose content is gone.
	got, err := w.LoadToSend(ctx, []postledger.ID{ms[0].Message.ID}, 256<<10)
	must(t, err)
	if m := got[ms[0].Message.ID]; !m.ContentMissing || m.Content.Text != "" {
		t.Fatalf("a purged content: %+v", m)
	}
	w.sendAll(1)
	if p := purgeIn(t, ctx, w, w.PurgeRecords, 100); p.Messages != 3 {
		t.Fatalf("purged %+v", p)
	}
	w.sharedAre(exec, 1, 1)
	w.reads(ms[3:])
	w.sendAll(1)
	if p := purgeIn(t, ctx, w, w.PurgeContent, 100); p.Messages != 1 {
		t.Fatalf("purged %+v", p)
	}
	w.sharedAre(exec, 0, 0)
	balanced(t, w)
}

// Two purges at once, of contents and of records, count each content off once.
func sharedPurges(w *World, exec Exec) {
	t := w.T
	ctx := t.Context()
	for i := range 20 {
		b := body(fmt.Sprint(i), 2000)
		w.accepted(w.batchOf(withBodies(b, ""), withBodies(b, ""), withBodies(b, ""), withBodies(b, "")))
	}
	w.sharedAre(exec, 20, 80)
	w.sendAll(78)
	now, err := w.Now(ctx)
	must(t, err)
	var wg sync.WaitGroup
	for _, purge := range []func(time.Time, postledger.ID) (ledger.Purged, error){
		func(before time.Time, after postledger.ID) (ledger.Purged, error) {
			return w.PurgeContent(ctx, before, after, 7)
		},
		func(before time.Time, after postledger.ID) (ledger.Purged, error) {
			return w.PurgeRecords(ctx, before, after, 5)
		},
		func(before time.Time, after postledger.ID) (ledger.Purged, error) {
			return w.PurgeContent(ctx, before, after, 11)
		},
	} {
		wg.Go(func() {
			for after, done := (postledger.ID{}), false; !done; {
				p, err := purge(now, after)
				if err != nil {
					t.Error(err)
					return
				}
				after, done = p.Next, p.Done
			}
		})
	}
	wg.Wait()
	w.sharedAre(exec, 1, 2)
	balanced(t, w)
	w.sendAll(2)
	purgeIn(t, ctx, w, w.PurgeRecords, 100)
	w.sharedAre(exec, 0, 0)
}

// What an earlier binary calls message_contents has the bodies of each content,
// whoever accepted it, and counts off what it purges.
func sharedEarlier(w *World, exec, told Exec) {
	t := w.T
	b := body("b", 3000)
	ms := w.batchOf(withBodies(b, b+"h"), withBodies(b, b+"h"), withBodies("own", "<p>"))
	w.accepted(ms)
	w.sharedAre(exec, 1, 2)
	id := func(i int) any { return ms[i].Message.ID }
	finds := func(message any, text, html, attachments string) {
		t.Helper()
		exec(t, w.Ledger, `UPDATE ledger_state SET one = one WHERE EXISTS (SELECT 1 FROM messages m LEFT JOIN message_contents c
			ON c.message_id = m.id AND m.size_bytes <= 262144 WHERE m.id = ? AND c.text_body = ? AND c.html_body = ?
			AND c.headers <> '' AND c.from_name = '' AND c.reply_to = '' AND c.attachments = ?)`, message, text, html, attachments)
	}
	gone := func(message any) {
		t.Helper()
		exec(t, w.Ledger, `UPDATE ledger_state SET one = one WHERE EXISTS (SELECT 1 FROM messages m LEFT JOIN message_contents c
			ON c.message_id = m.id WHERE m.id = ? AND c.text_body IS NULL)`, message)
	}
	for i := range ms {
		finds(id(i), ms[i].Content.Text, ms[i].Content.HTML, "")
	}
	const purge = `DELETE FROM message_contents WHERE message_id = ? RETURNING attachments`
	told(t, w.Ledger, purge, id(0))
	gone(id(0))
	w.sharedAre(exec, 1, 1)
	w.reads(ms[1:])
	told(t, w.Ledger, purge, id(0)) // and once only
	w.sharedAre(exec, 1, 1)
	told(t, w.Ledger, purge, id(1))
	told(t, w.Ledger, purge, id(2))
	gone(id(1))
	gone(id(2))
	w.sharedAre(exec, 0, 0)
	for i := range ms {
		told(t, w.Ledger, `INSERT INTO message_contents (message_id, text_body, html_body, headers, from_name, reply_to, attachments)
			VALUES (?, ?, ?, '[{"name":"X-Ref","value":"7"}]', '', '', '')`, id(i), ms[i].Content.Text, ms[i].Content.HTML)
	}
	for i := range ms {
		finds(id(i), ms[i].Content.Text, ms[i].Content.HTML, "")
	}
	w.reads(ms)
	w.sharedAre(exec, 0, 0)
	balanced(t, w)
}

// sharedBooks: each kind of damage is found.
func sharedBooks(w *World, exec Exec) {
	t := w.T
	ctx := t.Context()
	b := body("b", 3000)
	ms := w.batchOf(withBodies(b, b), withBodies(b, b), withBodies(b, b))
	w.accepted(ms)
	balanced(t, w)
	id := ms[0].Message.ID
	for _, c := range []struct{ name, query, undo string }{
		{"one counted too many", `UPDATE shared_bodies SET refs = refs + 1 WHERE id = ?`, `UPDATE shared_bodies SET refs = refs - 1 WHERE id = ?`},
		{"one counted too few", `UPDATE shared_bodies SET refs = refs - 1 WHERE id = ?`, `UPDATE shared_bodies SET refs = refs + 1 WHERE id = ?`},
		{"none counted", `UPDATE shared_bodies SET refs = 0 WHERE id = ?`, `UPDATE shared_bodies SET refs = 3 WHERE id = ?`},
		{
			"a body that nothing has", `INSERT INTO shared_bodies (id, text_body, html_body, refs) SELECT app_id, '', '', 1 FROM messages WHERE id = ?`,
			`DELETE FROM shared_bodies WHERE text_body = '' AND html_body = '' AND id <> ?`,
		},
		{
			"one that nothing has and that counts nothing", `INSERT INTO shared_bodies (id, text_body, html_body, refs) SELECT app_id, '', '', 0 FROM messages WHERE id = ?`,
			`DELETE FROM shared_bodies WHERE text_body = '' AND html_body = '' AND id <> ?`,
		},
		// The last: what it breaks is not put back.
		{"a body lost", `DELETE FROM shared_bodies WHERE id = ?`, ""},
	} {
		exec(t, w.Ledger, c.query, id)
		r, err := w.Books(ctx, nil)
		must(t, err)
		if len(r.Differences) != 1 || r.Differences[0].Kind != ledger.DiffShared || r.Differences[0].Count != 1 {
			t.Errorf("%s: found %+v", c.name, r.Differences)
		}
		if c.undo != "" {
			exec(t, w.Ledger, c.undo, id)
			balanced(t, w)
		}
	}
	// What cannot be read is not taken for empty.
	unread := ms[1].Message.ID
	if c, err := w.ReadContent(ctx, w.App.ID, unread, w.did("content.read")); err == nil {
		t.Errorf("read %+v", c)
	}
	got, err := w.LoadToSend(ctx, []postledger.ID{unread}, 256<<10)
	must(t, err)
	if !got[unread].ContentMissing {
		t.Errorf("loaded %+v", got[unread])
	}
}

// sharedReads: more bodies than the cache has room for, read by several at once.
func sharedReads(w *World) {
	t := w.T
	var ms []ledger.NewMessage
	for i := range 10 { // of a megabyte each: more than is kept
		b := body(fmt.Sprint(i), 1_000_000)
		pair := w.batchOf(withBodies(b, ""), withBodies(b, ""))
		w.accepted(pair)
		ms = append(ms, pair...)
	}
	b := body("larger than the cache keeps", 3_000_000)
	pair := w.batchOf(withBodies("", b), withBodies("", b))
	w.accepted(pair)
	ms = append(ms, pair...)
	var wg sync.WaitGroup
	for k := range 2 {
		wg.Go(func() {
			for i := range ms {
				m := &ms[(i+k*15)%len(ms)]
				got, err := w.LoadToSend(t.Context(), []postledger.ID{m.Message.ID}, []int64{1 << 20, 1 << 40}[k%2])
				switch {
				case err != nil:
					t.Error(err)
				case got[m.Message.ID].ContentDeferred:
				case got[m.Message.ID].Content.Text != m.Content.Text || got[m.Message.ID].Content.HTML != m.Content.HTML:
					t.Errorf("%d has another's content", i)
				}
			}
		})
	}
	wg.Wait()
}
