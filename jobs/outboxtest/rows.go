package outboxtest

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/postledger/postledger/jobs"
)

func rowsKeepEverything(t *testing.T, s Store) {
	full := job(func(e *jobs.Entry) {
		e.Payload, e.Kind, e.Lane, e.Bypass, e.Durable = []byte("\x00\xff{}"), jobs.Trigger, jobs.Slow, true, true
		e.DedupeKey, e.Group, e.MaxAttempts, e.Timeout, e.Attempts = "ключ ", "käse'\"\\ ", 7, 90*time.Second, 3
		e.RunAt = now().Add(-time.Minute)
	})
	least := job(func(e *jobs.Entry) { e.Payload = []byte{} })
	for _, want := range []jobs.Entry{full, least} {
		answer := insert(t, s, want)[0]
		if !answer.Fresh || answer.Ref != want.Ref() {
			t.Errorf("answer %+v, want a fresh row %v", answer, want.Ref())
		}
		got := get(t, s, want.ID)
		if !reflect.DeepEqual(got.Entry, want) {
			t.Errorf("got %+v\nwant %+v", got.Entry, want)
		}
		if got.State != jobs.Buffered || got.Epoch != "" || got.Refused != 0 || got.Reason != "" {
			t.Errorf("a new row is %+v", got)
		}
		if age := time.Since(got.ChangedAt); age < -time.Minute || age > time.Minute {
			t.Errorf("it changed %v ago", age)
		}
	}
	if _, err := s.Get(context.Background(), job().ID); !errors.Is(err, jobs.ErrUnknownJob) {
		t.Errorf("an id without a row: %v", err)
	}
}

func order(t *testing.T, s Store) {
	// More than a statement has, in the order given.
	all := several(2300)
	insert(t, s, all[:1200]...)
	insert(t, s, all[1200:]...)
	wantIDs(t, waiting(t, s, fastPlain), all...)
}

func anIDIsOneJob(t *testing.T, s Store) {
	first := job()
	insert(t, s, first)
	again := first
	again.Payload = []byte("other")
	answers := insert(t, s, job(), again, job())
	if answers[1].Fresh || answers[1].Ref != first.Ref() {
		t.Errorf("the second of an id is %+v, want the first one's", answers[1])
	}
	if !answers[0].Fresh || !answers[2].Fresh {
		t.Errorf("rows beside it are %+v", answers)
	}
	if got := get(t, s, first.ID); !bytes.Equal(got.Payload, first.Payload) {
		t.Errorf("its payload is %q now", got.Payload)
	}

	// In any state, twice in one call, and with a key.
	admitted := job()
	answers, err := s.Insert(context.Background(), []jobs.Insertion{{Entry: admitted, Epoch: "e1"}, {Entry: admitted}})
	if err != nil || !answers[0].Fresh || answers[1].Fresh {
		t.Fatalf("twice in one call: %+v, %v", answers, err)
	}
	if got := get(t, s, admitted.ID); got.State != jobs.Admitted || got.Epoch != "e1" {
		t.Errorf("a row for the hot set is %s under %q", got.State, got.Epoch)
	}
	keyedAgain := admitted
	keyedAgain.DedupeKey = "k"
	if answer := insert(t, s, keyedAgain)[0]; answer.Fresh || answer.Ref != admitted.Ref() {
		t.Errorf("an admitted id with a key is %+v", answer)
	}
	if got := get(t, s, admitted.ID); got.State != jobs.Admitted || got.DedupeKey != "" {
		t.Errorf("its row is %+v now", got)
	}
	two := job(keyed("k2"))
	insert(t, s, two)
	if answer := insert(t, s, two)[0]; answer.Fresh || answer.Ref != two.Ref() {
		t.Errorf("a buffered id with its own key is %+v", answer)
	}
}

func theTransactionDecides(t *testing.T, s Store) {
	plain, key := job(), job(keyed("k"))
	tx := s.Begin(t)
	if err := s.InsertTx(context.Background(), tx, []jobs.Entry{plain, key}); err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	wantIDs(t, waiting(t, s, fastPlain))

	tx = s.Begin(t)
	if err := s.InsertTx(context.Background(), tx, []jobs.Entry{plain, key}); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	rows := waiting(t, s, fastPlain)
	wantIDs(t, rows, plain, key)
	for _, row := range rows {
		if !row.Durable {
			t.Errorf("%v is not durable", row.ID)
		}
	}

	tx = s.Begin(t)
	newer := job(keyed("k"))
	if err := s.InsertTx(context.Background(), tx, []jobs.Entry{newer, plain}); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	wantIDs(t, waiting(t, s, fastPlain), plain, newer)
}

func pages(t *testing.T, s Store) {
	all := several(10, func(e *jobs.Entry) { e.Payload = make([]byte, 1000) })
	insert(t, s, all...)
	insert(t, s, job(slow), job(grouped("g")))
	ctx := context.Background()
	page := jobs.Page{Scope: fastPlain, Limit: 4}
	first, err := s.Waiting(ctx, page)
	if err != nil {
		t.Fatal(err)
	}
	wantIDs(t, first, all[:4]...)
	page.After, page.Limit = first[3].Place, 100
	rest, err := s.Waiting(ctx, page)
	if err != nil {
		t.Fatal(err)
	}
	wantIDs(t, rest, all[4:]...)
	for bytes, want := range map[int64]int{1: 1, 2999: 2, 3000: 3, 0: 10} {
		rows, err := s.Waiting(ctx, jobs.Page{Scope: fastPlain, Limit: 100, Bytes: bytes})
		if err != nil || len(rows) != want {
			t.Errorf("%d rows (%v) in %d bytes, want %d", len(rows), err, bytes, want)
		}
	}
}

func largePayloads(t *testing.T, s Store) {
	all := several(300, func(e *jobs.Entry) { e.Payload = bytes.Repeat([]byte{0xff}, jobs.MaxPayload) })
	insert(t, s, all...)
	var after int64
	for i := 0; i < len(all); {
		rows, err := s.Waiting(context.Background(), jobs.Page{Scope: fastPlain, After: after, Limit: 1000, Bytes: 4 << 20})
		if err != nil || len(rows) == 0 || len(rows) > 64 {
			t.Fatalf("%d rows (%v) in 4 MiB", len(rows), err)
		}
		for _, row := range rows {
			if row.ID != all[i].ID || !bytes.Equal(row.Payload, all[i].Payload) {
				t.Fatalf("row %d is not what was written", i)
			}
			i, after = i+1, row.Place
		}
	}
}

func groups(t *testing.T, s Store) {
	ctx := context.Background()
	insert(t, s, append(several(30, grouped("b")), job(grouped("a")), job(grouped("B")), job(grouped("ä")), job(), job(slow, grouped("c")), job(grouped("later"), in(time.Hour)))...)
	for _, c := range []struct {
		after string
		limit int
		want  []string
	}{
		{"", 10, []string{"B", "a", "b", "ä"}},
		{"", 2, []string{"B", "a"}},
		{"a", 2, []string{"b", "ä"}},
		{"ä", 2, nil},
	} {
		got, err := s.WaitingGroups(ctx, jobs.Fast, c.after, c.limit)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%d groups after %q: %q (%v), want %q", c.limit, c.after, got, err, c.want)
		}
	}
	if rows := waiting(t, s, jobs.Scope{Lane: jobs.Fast, Group: "b"}); len(rows) != 30 {
		t.Errorf("%d rows of a group, want 30", len(rows))
	}
}
