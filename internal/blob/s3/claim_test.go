package s3_test

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/postledger/postledger/internal/blob/s3"
	"github.com/postledger/postledger/internal/testserver"
)

// A place is the first owner's that claims it, for good.
func TestClaim(t *testing.T) {
	t.Parallel()
	server := testserver.S3(t)
	s := open(t, config(server))
	if owner, err := s.Owner(t.Context()); err != nil || owner != "" {
		t.Fatalf("a new place is %q's, %v", owner, err)
	}
	for range 2 {
		if err := s.Claim(t.Context(), "one"); err != nil {
			t.Fatal(err)
		}
	}
	var claimed *s3.ClaimedError
	if err := s.Claim(t.Context(), "two"); !errors.As(err, &claimed) || claimed.Owner != "one" {
		t.Errorf("another claims it: %v", err)
	}
	c := config(server)
	c.Prefix = "mail/two/"
	if err := open(t, c).Claim(t.Context(), "two"); err != nil {
		t.Errorf("below another prefix: %v", err)
	}
	if list, err := s.List(t.Context(), "", "", 10); err != nil || len(list) != 0 {
		t.Errorf("the claim is listed as a blob: %v, %v", list, err)
	}
	server.Put(t, "mail/.ledger", "")
	if err := s.Claim(t.Context(), "one"); err == nil || !strings.Contains(err.Error(), "empty") {
		t.Errorf("an empty claim: %v", err)
	}
}

// Of many owners that come at once one gets it, and the others hear whose it is.
func TestClaimsRace(t *testing.T) {
	t.Parallel()
	server := testserver.S3(t)
	const owners = 8
	errs := make([]error, owners)
	var all sync.WaitGroup
	for i := range errs {
		s := open(t, config(server))
		all.Go(func() { errs[i] = s.Claim(t.Context(), strings.Repeat("x", i+1)) })
	}
	all.Wait()
	won := 0
	for _, err := range errs {
		var claimed *s3.ClaimedError
		switch {
		case err == nil:
			won++
		case !errors.As(err, &claimed):
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("%d owners have it", won)
	}
}

// A store that is not itself says nothing about whose the place is.
func TestClaimOfAStoreInTrouble(t *testing.T) {
	t.Parallel()
	server := testserver.S3(t)
	s := open(t, config(server))
	server.Answer(func(w http.ResponseWriter, r *http.Request, _ http.Handler) { w.WriteHeader(http.StatusForbidden) })
	if err := s.Claim(t.Context(), "one"); err == nil {
		t.Error("it was claimed")
	}
	server.Answer(nil)
	if objects := server.Objects(t); len(objects) != 0 {
		t.Errorf("it left %q", objects)
	}
}
