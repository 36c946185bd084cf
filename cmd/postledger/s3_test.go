package main_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"mime/multipart"
	"net/http"
	"net/mail"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/client"
	"github.com/postledger/postledger/internal/blob/s3"
	"github.com/postledger/postledger/internal/testserver"
	"github.com/postledger/postledger/internal/transport/transporttest"
)

// bucketPlaces are places of one ledger on PostgreSQL and one bucket, each with
// directories of its own, as on machines of their own, and a line to the store
// that can be cut.
type bucketPlaces struct {
	store *testserver.S3Server
	hop   *transporttest.Hop
	env   []string
}

func newBucketPlaces(t *testing.T) *bucketPlaces {
	t.Helper()
	key := command(t, nil, "keys", "encryption", "--out", "-").token(t)
	return &bucketPlaces{
		store: testserver.S3(t), hop: transporttest.NewHop(t, transporttest.HopConfig{}),
		env: []string{"POSTLEDGER_DATABASE=" + testserver.Postgres(t), "POSTLEDGER_ENCRYPTION_KEY=" + key},
	}
}

func (b *bucketPlaces) place(t *testing.T) (place, *testserver.TCPProxy) {
	t.Helper()
	line := testserver.Proxy(t, b.store.Addr())
	secret := writeFile(t, "secret", testserver.S3SecretKey+"\n", 0o600)
	return newPlace(t, append([]string{
		"POSTLEDGER_BLOBS=s3://" + testserver.S3Bucket + "/mail", "POSTLEDGER_S3__ENDPOINT=http://" + line.Addr(),
		"POSTLEDGER_S3__ACCESS_KEY=" + testserver.S3AccessKey, "POSTLEDGER_S3__SECRET_KEY=file:" + secret,
	}, b.env...)...), line
}

func (b *bucketPlaces) relay(t *testing.T, operator []string) {
	t.Helper()
	command(t, operator, "profiles", "put", "relay", "--from", "shop@example.org", "--transport", "smtp",
		"--host", "127.0.0.1", "--port", fmt.Sprint(b.hop.Port()), "--tls", "none", "--connections", "4").expect(t, 0)
}

// impatient is a client that tries once.
func (s *server) impatient(t *testing.T, env []string) *client.Client {
	t.Helper()
	c, err := client.New(s.api, strings.TrimPrefix(env[1], "POSTLEDGER_API_KEY="), client.WithRetry(client.Retry{Tries: 1}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// letter has an attachment of a size, which goes by its recipient.
func letter(to string, size int) (*client.Message, []byte) {
	content := make([]byte, size)
	_, _ = rand.NewChaCha8(sha256.Sum256([]byte(to))).Read(content)
	return &client.Message{
		To: []client.Recipient{{Address: to}}, Subject: "x", Text: "x",
		Attachments: []client.Attachment{{Name: "a.bin", Open: func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(content)), nil
		}}},
	}, content
}

// arrived is the attachment that a recipient got, exactly once.
func (b *bucketPlaces) arrived(t *testing.T, to string) []byte {
	t.Helper()
	var got [][]byte
	for _, a := range b.hop.Accepted() {
		if len(a.Recipients) != 1 || a.Recipients[0] != to {
			continue
		}
		m, err := mail.ReadMessage(bytes.NewReader(a.Data))
		if err != nil {
			t.Fatal(err)
		}
		_, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
		if err != nil {
			t.Fatal(err)
		}
		parts := multipart.NewReader(m.Body, params["boundary"])
		for {
			p, err := parts.NextRawPart()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if p.FileName() != "a.bin" {
				continue
			}
			content, err := io.ReadAll(base64.NewDecoder(base64.StdEncoding, p))
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, content)
		}
	}
	if len(got) != 1 {
		t.Fatalf("%s got %d attachments", to, len(got))
	}
	return got[0]
}

// One process accepts and is killed; the other sends what it has never seen.
func TestAttachmentsAreShared(t *testing.T) {
	t.Parallel()
	b := newBucketPlaces(t)
	pa, _ := b.place(t)
	pb, _ := b.place(t)
	a := pa.start(t, "--migrate")
	operator := a.operator(t)
	b.relay(t, operator)
	app := a.appKey(t, "shop")
	other := pb.start(t)
	command(t, operator, "profiles", "pause", "relay", "--reason", "test").expect(t, 0)
	contents := map[string][]byte{}
	ids := map[string]postledger.ID{}
	for to, size := range map[string]int{"small@example.com": 1000, "large@example.com": 11 << 20} {
		m, content := letter(to, size)
		accepted, err := a.client(t, app).Send(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		contents[to], ids[to] = content, accepted.ID
	}
	a.signal(t, syscall.SIGKILL)
	c := other.client(t, app)
	command(t, []string{"POSTLEDGER_SERVER=" + other.api, operator[1]}, "profiles", "resume", "relay").expect(t, 0)
	until(t, c, "all is sent", func(n map[postledger.Status]int) bool { return n[postledger.StatusSent] == 2 })
	for to, content := range contents {
		if !bytes.Equal(b.arrived(t, to), content) {
			t.Errorf("the attachment of %s changed", to)
		}
		read, err := c.MessageContent(t.Context(), ids[to])
		sum := sha256.Sum256(content)
		if err != nil || len(read.Attachments) != 1 || read.Attachments[0].Size != int64(len(content)) || read.Attachments[0].SHA256 != hex.EncodeToString(sum[:]) {
			t.Errorf("content %+v, %v", read, err)
		}
	}
	// A resend reads the blob and stores a copy of its own.
	d := ids["small@example.com"]
	deliveries, err := c.Message(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.ResendMessage(t.Context(), d, client.Resending{Deliveries: []postledger.ID{deliveries.Deliveries[0].ID}}); err != nil {
		t.Fatal(err)
	}
	// The fourth says whose the place is.
	if objects := b.store.Objects(t); len(objects) != 4 {
		t.Errorf("objects %q", objects)
	}
	books(t, pb)
	pb.run(t, "retention", "run").expect(t, 0, "interrupted uploads")
	pb.run(t, "doctor", "--no-login", "--no-dns").expect(t, 0, "attachments s3://attachments/mail", "written once, read, listed and deleted", "is this ledger")
	shown := pb.run(t, "check-config").expect(t, 0, "blobs: s3://attachments/mail", "secret_key: file:")
	for _, text := range []string{shown.stdout, a.logged(), other.logged()} {
		if strings.Contains(text, testserver.S3SecretKey) || strings.Contains(text, testserver.S3AccessKey) {
			t.Errorf("a secret is shown: %s", text)
		}
	}
}

// A store that is gone, full or slow, and senders that break off: accept says
// so and keeps nothing, and all works again by itself.
func TestAcceptWithoutAStore(t *testing.T) {
	t.Parallel()
	b := newBucketPlaces(t)
	p, line := b.place(t)
	s := p.start(t, "--migrate")
	b.relay(t, s.operator(t))
	app := s.appKey(t, "shop")
	c := s.impatient(t, app)
	send := func(what string, size int, want error) {
		t.Helper()
		m, _ := letter(fmt.Sprintf("%x@example.com", what), size)
		if _, err := c.Send(t.Context(), m); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	ready := func(want int) {
		t.Helper()
		eventually(t, fmt.Sprintf("readyz says %d", want), func() bool {
			r, err := http.Get(s.admin + "/readyz")
			if err != nil {
				t.Fatal(err)
			}
			defer r.Body.Close()
			return r.StatusCode == want
		})
	}
	line.Refuse(true)
	line.Cut()
	send("gone", 1000, client.ErrMailUnavailable)
	ready(http.StatusServiceUnavailable)
	if _, err := c.Send(t.Context(), &client.Message{To: []client.Recipient{{Address: "plain@example.com"}}, Subject: "x", Text: "x"}); err != nil {
		t.Errorf("mail without attachments: %v", err)
	}
	line.Refuse(false)
	ready(http.StatusOK)
	send("back", 1000, nil)

	// Cut in the middle of an upload: the part is sent again.
	line.CutAfterBytes(testserver.ToTarget, 7<<20)
	send("cut", 11<<20, nil)

	// Gone in the middle of an upload.
	b.store.Answer(func(w http.ResponseWriter, r *http.Request, store http.Handler) {
		if r.URL.Query().Get("partNumber") == "2" {
			line.Refuse(true)
			line.Cut()
		}
		store.ServeHTTP(w, r)
	})
	send("gone in the middle", 11<<20, client.ErrMailUnavailable)
	b.store.Answer(nil)
	line.Refuse(false)

	b.store.Answer(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		testserver.S3Fault(w, http.StatusInsufficientStorage, "XMinioStorageFull")
	})
	send("full", 1000, client.ErrAttachmentStorageFull)
	b.store.Answer(nil)
	ready(http.StatusOK)

	line.Delay(200 * time.Millisecond)
	send("slow", 6<<20, nil)
	line.Delay(0)

	// The sender breaks off after whole parts have been stored.
	kept := len(b.store.Objects(t))
	m, _ := letter("broken@example.com", 1)
	m.Attachments[0].Open = func() (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(bytes.NewReader(make([]byte, 8<<20)), iotest.ErrReader(errors.New("broken off")))), nil
	}
	if _, err := c.Send(t.Context(), m); err == nil {
		t.Error("half a file was accepted")
	}
	until(t, c, "all is sent", func(n map[postledger.Status]int) bool { return n[postledger.StatusSent] == 4 && settled(n) })
	direct, err := s3.Open(s3.Config{
		Endpoint: b.store.URL, Region: "us-east-1", Bucket: testserver.S3Bucket, Prefix: "mail/",
		AccessKey: testserver.S3AccessKey, SecretKey: testserver.S3SecretKey,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer direct.Close()
	// A server hears of a broken request after its client, and aborts the
	// upload then. The one that lost the store could not be aborted.
	eventually(t, "nothing of the broken ones is stored", func() bool {
		return len(b.store.Objects(t)) == kept && kept == 4 && b.store.Uploads(t) <= 1
	})
	left := b.store.Uploads(t)
	if n, err := direct.Sweep(t.Context(), time.Now().Add(time.Hour)); err != nil || n != left {
		t.Errorf("swept %d of %d interrupted uploads, %v", n, left, err)
	}
	if n := b.store.Uploads(t); n != 0 {
		t.Errorf("%d interrupted uploads are left", n)
	}
	books(t, p)
}

// What waits for a store is not failed, and leaves by itself when it is back.
func TestDeliveryWithoutAStore(t *testing.T) {
	t.Parallel()
	b := newBucketPlaces(t)
	p, line := b.place(t)
	s := p.start(t, "--migrate")
	operator := s.operator(t)
	b.relay(t, operator)
	c := s.client(t, s.appKey(t, "shop"))
	command(t, operator, "profiles", "pause", "relay", "--reason", "test").expect(t, 0)
	contents := map[string][]byte{}
	for i := range 6 {
		m, content := letter(fmt.Sprintf("a%d@example.com", i), 300<<10)
		if _, err := c.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		contents[m.To[0].Address] = content
	}
	if _, err := c.Send(t.Context(), &client.Message{To: []client.Recipient{{Address: "plain@example.com"}}, Subject: "x", Text: "x"}); err != nil {
		t.Fatal(err)
	}
	line.Refuse(true)
	line.Cut()
	command(t, operator, "profiles", "resume", "relay").expect(t, 0)
	eventually(t, "mail with attachments waits, and other mail is sent", func() bool {
		waiting, sent := 0, 0
		for d, err := range c.Deliveries(t.Context(), client.DeliveryFilter{}) {
			switch {
			case err != nil:
				t.Fatal(err)
			case d.Attempts > 0 && d.Status != postledger.StatusSent:
				t.Fatalf("charged: %+v", d)
			case d.Reason == postledger.ReasonStorageUnavailable:
				waiting++
			case d.Status == postledger.StatusSent:
				sent++
			}
		}
		return waiting == 6 && sent == 1
	})
	line.Refuse(false)
	until(t, c, "all is sent", func(n map[postledger.Status]int) bool { return n[postledger.StatusSent] == 7 })
	for to, content := range contents {
		if !bytes.Equal(b.arrived(t, to), content) {
			t.Errorf("the attachment of %s changed", to)
		}
	}
	books(t, p)
}
