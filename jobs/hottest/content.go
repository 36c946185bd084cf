package hottest

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	"github.com/postledger/postledger/jobs"
)

func testContent(t *testing.T, open Open) {
	t.Run("everything comes back", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{})
		at := time.Date(2025, 11, 30, 12, 0, 0, 123456000, time.UTC)
		id := jobs.ID(bytes.Repeat([]byte{0}, 16)) // no id is special to a driver
		want := jobs.Entry{
			Job: jobs.Job{
				ID: id, Handler: "mail.send", Payload: []byte("a\x00\r\n\xff"), Kind: jobs.Trigger, Lane: jobs.Slow,
				DedupeKey: "k: ключ", Group: "ü", RunAt: at, MaxAttempts: 3, Timeout: time.Second, Bypass: true,
			},
			Rev: 1 << 40, Durable: true, Attempts: 2, EnqueuedAt: at,
		}
		s.expect(jobs.Added, want)
		got := s.taken()
		if !reflect.DeepEqual(got.Entry, want) {
			t.Fatalf("got  %+v\nwant %+v", got.Entry, want)
		}
	})
	t.Run("the payload is the set's own", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{})
		e := s.entry(func(e *jobs.Entry) { e.Payload = []byte("first") })
		s.expect(jobs.Added, e)
		copy(e.Payload, "XXXXX")
		held := s.taken()
		if string(held.Payload) != "first" {
			t.Fatalf("the payload is %q", held.Payload)
		}
		copy(held.Payload, "YYYYY")
		s.giveBack(true, jobs.Return{Held: held})
		if again := s.taken(); string(again.Payload) != "first" {
			t.Fatalf("the payload of the next run is %q", again.Payload)
		}
	})
	t.Run("large payloads", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{})
		payload := bytes.Repeat([]byte{0, 1, 0xfe, 0xff}, jobs.MaxPayload/4)
		s.expect(jobs.Added, s.entries(60, func(e *jobs.Entry) { e.Payload = payload })...)
		n := 0
		for held := s.take(50, 50); len(held) > 0; held = s.take(50, 50) {
			for _, h := range held {
				if !bytes.Equal(h.Payload, payload) {
					t.Fatalf("payload %d differs", n)
				}
				n++
			}
			s.ack(true, held...)
		}
		if n != 60 {
			t.Fatalf("took %d jobs", n)
		}
		s.holds(0)
	})
}
