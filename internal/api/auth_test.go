package api_test

import (
	"context"
	"crypto/sha256"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/api"
)

func TestAuthorizationHeader(t *testing.T) {
	w := sqlite(t, manySources)
	for name, test := range map[string]struct {
		values []string
		ok     bool
	}{
		"as documented":       {[]string{"Bearer " + w.read}, true},
		"another letter case": {[]string{"bearer " + w.read}, true},
		"more spaces":         {[]string{"Bearer   " + w.read}, true},
		"none":                {nil, false},
		"empty":               {[]string{""}, false},
		"no scheme":           {[]string{w.read}, false},
		"another scheme":      {[]string{"Basic " + w.read}, false},
		"no token":            {[]string{"Bearer "}, false},
		"twice":               {[]string{"Bearer " + w.read, "Bearer " + w.read}, false},
		"a cut token":         {[]string{"Bearer " + w.read[:len(w.read)-1]}, false},
		"a longer token":      {[]string{"Bearer " + w.read + "a"}, false},
		"upper case":          {[]string{"Bearer " + strings.ToUpper(w.read)}, false},
		"a very long token":   {[]string{"Bearer pl_" + strings.Repeat("a", 5000)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.http.URL+"/v1/messages", nil)
			must(t, err)
			req.Header["Authorization"] = test.values
			a := w.do(req)
			if test.ok {
				a.want(http.StatusOK)
			} else {
				a.refused("unauthorized")
			}
		})
	}
}

// Failures are counted, cost tries, and are audited once a minute for a source.
func TestFailedLogins(t *testing.T) {
	w := sqlite(t)
	guess := func() *answer { return w.call("GET", "/v1/messages", "pl_app_"+strings.Repeat("b", 52), nil) }
	w.call("GET", "/v1/messages", w.read, nil).want(http.StatusOK)
	for range 20 {
		guess().refused("unauthorized")
	}
	a := guess().refused("rate_exceeded")
	if a.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	// A key that is known goes on; one that is not waits, right or wrong.
	w.call("GET", "/v1/messages", w.read, nil).want(http.StatusOK)
	w.call("GET", "/v1/messages", w.content, nil).refused("rate_exceeded")
	// Also when it is looked up again, and when another key was revoked.
	w.clock.advance(2 * time.Second)
	w.call("GET", "/v1/messages", w.read, nil).want(http.StatusOK)
	lines := func() (n int, detail string) {
		for _, e := range w.audited() {
			if e.Action == "auth.fail" {
				n++
				if detail == "" {
					detail = e.Detail
				}
				if e.Result != "unauthorized" || e.TargetID != "127.0.0.1" {
					t.Errorf("line %+v", e)
				}
			}
		}
		return n, detail
	}
	if n, _ := lines(); n != 1 {
		t.Errorf("%d lines, want 1", n)
	}
	w.clock.advance(61 * time.Second)
	guess().refused("unauthorized")
	if n, detail := lines(); n != 2 || detail != "failures=20" {
		t.Errorf("%d lines, the newest %q, want 2 and failures=20", n, detail)
	}
	w.call("GET", "/v1/messages", w.content, nil).refused("forbidden")
}

// A caller that goes on with a revoked key does not keep out the others behind
// its address, whose keys the revocation made the cache forget.
func TestARevokedKeyKeepsNobodyOut(t *testing.T) {
	w := sqlite(t)
	token, id := w.keyUntil(w.app.ID, time.Time{}, postledger.ScopeRead)
	w.call("GET", "/v1/messages", token, nil).want(http.StatusOK)
	w.call("GET", "/v1/messages", w.read, nil).want(http.StatusOK)
	w.call("DELETE", "/v1/keys/"+id.String(), w.admin, nil).want(http.StatusNoContent)
	for range 20 {
		w.call("GET", "/v1/messages", token, nil).refused("unauthorized")
	}
	w.call("GET", "/v1/messages", token, nil).refused("rate_exceeded")
	w.call("GET", "/v1/messages", w.read, nil).want(http.StatusOK)
	w.call("GET", "/v1/apps", w.admin, nil).want(http.StatusOK)
}

func TestKeyRate(t *testing.T) {
	w := sqlite(t, func(c *api.Config) { c.KeyRate, c.KeyBurst = 1, 3 })
	for range 3 {
		w.call("GET", "/v1/messages", w.read, nil).want(http.StatusOK)
	}
	if a := w.call("GET", "/v1/messages", w.read, nil).refused("rate_exceeded"); a.header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After %q", a.header.Get("Retry-After"))
	}
	w.call("GET", "/v1/messages", w.foreign, nil).want(http.StatusOK)
	w.clock.advance(time.Second)
	w.call("GET", "/v1/messages", w.read, nil).want(http.StatusOK)
}

// A revocation is obeyed at once where it is made, and within the cache's age elsewhere.
func TestRevocationIsObeyed(t *testing.T) {
	w := sqlite(t)
	token, id := w.keyUntil(w.app.ID, time.Time{}, postledger.ScopeRead)
	w.call("GET", "/v1/messages", token, nil).want(http.StatusOK)
	w.call("DELETE", "/v1/keys/"+id.String(), w.admin, nil).want(http.StatusNoContent)
	w.call("GET", "/v1/messages", token, nil).refused("unauthorized")

	token, id = w.keyUntil(w.app.ID, time.Time{}, postledger.ScopeRead)
	w.call("GET", "/v1/messages", token, nil).want(http.StatusOK)
	must(t, w.ledger.RevokeAPIKey(t.Context(), id, w.did("key.revoke")))
	w.clock.advance(61 * time.Second)
	w.call("GET", "/v1/messages", token, nil).refused("unauthorized")
	if e, _ := w.lastAudit("auth.fail"); e.APIKeyID != id {
		t.Errorf("the line does not name the revoked key: %+v", e)
	}
}

// A key in use is looked up every second by one request, and is not good for
// those beside it once that one has found it revoked.
func TestAKeyInUseIsLookedUpAgain(t *testing.T) {
	w := sqlite(t)
	token, id := w.keyUntil(w.app.ID, time.Time{}, postledger.ScopeRead)
	w.call("GET", "/v1/messages", token, nil).want(http.StatusOK)
	must(t, w.ledger.RevokeAPIKey(t.Context(), id, w.did("key.revoke")))
	w.clock.advance(time.Second)
	w.call("GET", "/v1/messages", token, nil).refused("unauthorized")
	w.call("GET", "/v1/messages", token, nil).refused("unauthorized")
}

// asked counts what the cache of keys asks of the ledger.
type asked struct {
	api.Ledger
	keys, versions int
}

func (a *asked) APIKeyBySum(ctx context.Context, sum [sha256.Size]byte) (postledger.APIKey, postledger.App, error) {
	a.keys++
	return a.Ledger.APIKeyBySum(ctx, sum)
}

func (a *asked) PolicyVersion(ctx context.Context) (int64, error) {
	a.versions++
	return a.Ledger.PolicyVersion(ctx)
}

// Keys are not looked up again while nothing of the policy changes, but for once
// a minute: one question a second answers for all of them.
func TestKeysAreKeptWhileThePolicyIsTheSame(t *testing.T) {
	count := &asked{}
	w := sqlite(t, func(c *api.Config) { count.Ledger, c.Ledger = c.Ledger, count })
	second, _ := w.keyUntil(w.app.ID, time.Time{}, postledger.ScopeRead)
	tokens := []string{w.read, second}
	use := func() {
		for _, token := range tokens {
			w.call("GET", "/v1/messages", token, nil).want(http.StatusOK)
		}
	}
	want := func(when string, keys, versions int) {
		t.Helper()
		if count.keys != keys || count.versions != versions {
			t.Errorf("%s: %d keys were looked up and the version was asked for %d times, want %d and %d",
				when, count.keys, count.versions, keys, versions)
		}
		count.keys, count.versions = 0, 0
	}
	use()
	want("at first", 2, 1)
	use()
	want("in the same second", 0, 0)
	for range 5 {
		w.clock.advance(time.Second)
		use()
	}
	want("in five seconds", 0, 5)
	w.clock.advance(10 * time.Second)
	use()
	want("after a rest", 0, 1)
	w.keyUntil(w.app.ID, time.Time{}, postledger.ScopeRead)
	w.clock.advance(time.Second)
	use()
	want("after a change", 2, 1)
	w.clock.advance(time.Minute)
	use()
	want("after a minute", 2, 0)
}

// A refused scope is audited under the key, whatever the route.
func TestDeniedScopeIsAudited(t *testing.T) {
	w := sqlite(t)
	w.call("GET", "/v1/apps", w.read, nil).refused("forbidden")
	e, ok := w.lastAudit("list-apps")
	if !ok || e.Result != "forbidden" || e.AppID != w.app.ID || e.APIKeyID.IsZero() || e.RequestID == "" {
		t.Errorf("line %+v", e)
	}
}

// A key that was revoked after the look is refused by the accept itself.
func TestRevokedBetweenLookAndAccept(t *testing.T) {
	w := sqlite(t)
	token, id := w.keyUntil(w.app.ID, time.Time{}, postledger.ScopeSend)
	w.call("POST", "/v1/messages", token, letter()).want(http.StatusAccepted)
	must(t, w.ledger.RevokeAPIKey(t.Context(), id, w.did("key.revoke")))
	w.call("POST", "/v1/messages", token, letter()).refused("unauthorized")
}
