package ledger_test

import (
	"encoding/base64"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/ledger/ledgertest"
)

func TestList(t *testing.T) { bothDatabases(t, ledgertest.List) }

func TestMessageStatus(t *testing.T) {
	type counts = map[postledger.Status]int
	for _, c := range []struct {
		want postledger.Status
		of   counts
	}{
		{"", counts{}},
		{postledger.StatusSending, counts{postledger.StatusSending: 1, postledger.StatusQueued: 4, postledger.StatusUnconfirmed: 1}},
		{postledger.StatusQueued, counts{postledger.StatusQueued: 1, postledger.StatusSent: 9, postledger.StatusUnconfirmed: 1}},
		{postledger.StatusUnconfirmed, counts{postledger.StatusUnconfirmed: 1, postledger.StatusSent: 9}},
		{postledger.StatusSent, counts{postledger.StatusSent: 1, postledger.StatusFailed: 9}},
		{postledger.StatusCanceled, counts{postledger.StatusCanceled: 2, postledger.StatusSent: 0}},
		{postledger.StatusSuppressed, counts{postledger.StatusSuppressed: 1}},
		{postledger.StatusFailed, counts{postledger.StatusFailed: 3}},
		{postledger.StatusFailed, counts{postledger.StatusCanceled: 1, postledger.StatusSuppressed: 1}},
	} {
		if got := ledger.MessageStatus(c.of); got != c.want {
			t.Errorf("%v: %s, want %s", c.of, got, c.want)
		}
	}
}

// A message is in a settled state exactly when all its deliveries are.
func TestMessageStatusIsSettledWithItsDeliveries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		statuses := rapid.SliceOfN(rapid.SampledFrom(postledger.Statuses()), 1, 200).Draw(t, "statuses")
		ds := make([]postledger.Delivery, len(statuses))
		settled := true
		for i, s := range statuses {
			ds[i].Status = s
			settled = settled && s.Settled()
		}
		s := ledger.Summarize(ds)
		if s.Status.Settled() != settled {
			t.Fatalf("%v: %s", statuses, s.Status)
		}
		sum := 0
		for _, n := range s.Counts {
			sum += n
		}
		if sum != len(ds) || len(s.Failures) > ledger.MaxFailures {
			t.Fatalf("%v: counts %v, %d failures", statuses, s.Counts, len(s.Failures))
		}
	})
}

// Every text is a cursor that reads back as itself, or ErrBadCursor.
func FuzzCursor(f *testing.F) {
	cursor := make([]byte, 43)
	cursor[0], cursor[1] = 1, 'd'
	f.Add(base64.RawURLEncoding.EncodeToString(cursor))
	cursor[2] = 1
	f.Add(base64.RawURLEncoding.EncodeToString(cursor))
	f.Add("\n" + base64.RawURLEncoding.EncodeToString(cursor))
	f.Add("x")
	f.Add("AWQA=")
	if _, err := ledger.DecodeCursor(base64.RawURLEncoding.EncodeToString(cursor)); err != nil {
		f.Fatalf("the seed is no cursor: %v", err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		again, err := ledger.DecodeCursor(text)
		switch {
		case errors.Is(err, ledger.ErrBadCursor):
		case err != nil:
			t.Fatal(err)
		case text != "" && again != text:
			t.Fatalf("%q reads as %q", text, again)
		}
	})
}
