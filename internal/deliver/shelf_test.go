package deliver_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/blob"
	"github.com/postledger/postledger/internal/blob/s3"
	"github.com/postledger/postledger/internal/deliver"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/ledger/ledgertest"
	"github.com/postledger/postledger/internal/testserver"
	"github.com/postledger/postledger/internal/transport/transporttest"
)

// bucket is a store of attachments that can be made to fail.
type bucket struct {
	*testserver.S3Server
	store *s3.Store
}

// newBucket gives the rig's worker a bucket to read from.
func newBucket(t *testing.T, r *rig) *bucket {
	t.Helper()
	b := &bucket{S3Server: testserver.S3(t)}
	var err error
	b.store, err = s3.Open(s3.Config{
		Endpoint: b.URL, Region: "us-east-1", Bucket: testserver.S3Bucket, Memory: s3.MinMemory,
		AccessKey: testserver.S3AccessKey, SecretKey: testserver.S3SecretKey,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.store.Close() })
	r.tune = func(c *deliver.Config) { c.Open = b.store.Open }
	return b
}

// attached stores a file of a size under the message's key.
func (b *bucket) attached(t *testing.T, size int) ledgertest.Option {
	return func(m *ledger.NewMessage) {
		t.Helper()
		key, err := blob.Key(m.Message.AppID.String(), m.Message.ID.String(), 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.store.Put(t.Context(), key, bytes.NewReader(make([]byte, size)), 1<<30); err != nil {
			t.Fatal(err)
		}
		m.Content.Attachments = []postledger.Attachment{{Name: "a.bin", ContentType: "application/octet-stream", Size: int64(size), Blob: key}}
	}
}

// once checks that each delivery is sent, charged one attempt, and has one copy.
func (r *rig) once(ids ...postledger.ID) {
	r.t.Helper()
	for _, d := range r.settled(ids...) {
		if d.Status != postledger.StatusSent || d.Attempts != 1 {
			r.t.Errorf("row %+v", d)
		}
	}
	for to, n := range r.copies() {
		if n != 1 {
			r.t.Errorf("%s has %d copies", to, n)
		}
	}
}

// held waits until the deliveries wait for the store, uncharged.
func (r *rig) held(ids ...postledger.ID) {
	r.t.Helper()
	r.until("they wait for the store", func() bool {
		for _, id := range ids {
			d := r.Row(id)
			if d.Status.Settled() || d.Attempts != 0 {
				r.t.Fatalf("row %+v", d)
			}
			if d.Status != postledger.StatusQueued || d.Reason != postledger.ReasonStorageUnavailable {
				return false
			}
		}
		return true
	})
}

func gone(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	testserver.S3Fault(w, http.StatusServiceUnavailable, "SlowDown")
}

// A store that is gone holds back mail with attachments and nothing else: no
// attempt is charged, the profile stays up, and the hop is not bothered.
func TestMailWaitsForItsAttachments(t *testing.T) {
	onBoth(t, func(t *testing.T, open ledgertest.Opener) {
		r := newRig(t, open, transporttest.HopConfig{}, nil)
		b := newBucket(t, r)
		var ids []postledger.ID
		for i := range 12 {
			ids = append(ids, r.Send([]string{fmt.Sprintf("a%d@x.example", i)}, b.attached(t, 1000))...)
		}
		b.Answer(gone)
		r.start()
		r.held(ids...)
		// Once it is known, nobody asks but the probe.
		plain := r.Send([]string{"plain@x.example"})
		r.once(plain...)
		if p, err := r.ProfileByID(t.Context(), r.Profile.ID); err != nil || !p.PausedAt.IsZero() {
			t.Errorf("profile %+v, %v", p, err)
		}
		b.Answer(nil)
		r.once(append(ids, plain...)...)
	})
}

// A store that fails in the middle of the body: the recipients that the hop has
// refused are settled, the others wait, and nobody gets half a message.
func TestStoreLostInTheBody(t *testing.T) {
	onBoth(t, func(t *testing.T, open ledgertest.Opener) {
		r := newRig(t, open, transporttest.HopConfig{Rules: []transporttest.Rule{
			{At: transporttest.StepRcpt, Recipient: "gone@x.example", Do: transporttest.Answer("550 5.1.1 unknown")},
		}}, nil)
		b := newBucket(t, r)
		ids := r.Send([]string{"a@x.example", "gone@x.example", "b@x.example"}, b.attached(t, 2<<20))
		b.Answer(func(w http.ResponseWriter, q *http.Request, store http.Handler) {
			if q.Method != http.MethodGet {
				store.ServeHTTP(w, q)
				return
			}
			// All that is asked for is promised, and half of it is sent.
			whole := httptest.NewRecorder()
			store.ServeHTTP(whole, q)
			for name, values := range whole.Header() {
				w.Header()[name] = values
			}
			w.WriteHeader(whole.Code)
			_, _ = w.Write(whole.Body.Bytes()[:whole.Body.Len()/2])
			panic(http.ErrAbortHandler)
		})
		r.start()
		r.held(ids[0], ids[2])
		if d := r.settled(ids[1])[0]; d.Status != postledger.StatusFailed || d.Reason != postledger.ReasonRejectedRecipient {
			t.Errorf("refused row %+v", d)
		}
		b.Answer(nil)
		r.once(ids[0], ids[2])
	})
}

// A file that is not there is tried again and charged; one that is another by
// now is lost for good.
func TestLostAttachments(t *testing.T) {
	onBoth(t, func(t *testing.T, open ledgertest.Opener) {
		r := newRig(t, open, transporttest.HopConfig{}, nil)
		b := newBucket(t, r)
		var keys []string
		remember := func(m *ledger.NewMessage) { keys = append(keys, m.Content.Attachments[0].Blob) }
		missing := r.Send([]string{"a@x.example"}, b.attached(t, 100), remember)[0]
		changed := r.Send([]string{"b@x.example"}, b.attached(t, 100), remember)[0]
		whole := r.Send([]string{"c@x.example"}, b.attached(t, 100))[0]
		if err := b.store.Delete(t.Context(), keys[0]); err != nil {
			t.Fatal(err)
		}
		b.Put(t, keys[1], strings.Repeat("x", 99))
		r.start()
		if d := r.settled(changed)[0]; d.Status != postledger.StatusFailed || d.Reason != postledger.ReasonContentLost {
			t.Errorf("changed: %+v", d)
		}
		r.once(whole)
		r.until("it waits for its retry", func() bool { return r.Row(missing).Attempts == 1 })
		if d := r.Row(missing); d.Status != postledger.StatusQueued || d.Reason != postledger.ReasonDeferred || !strings.Contains(d.Response, "not in the store") {
			t.Errorf("missing: %+v", d)
		}
	})
}
