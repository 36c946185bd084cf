package accept

import (
	"context"
	"sync"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
)

// policies keeps what was read of apps and profiles for a moment. It only
// saves queries: the transaction checks revision, grant and key again, and what
// turns out to be old is read anew.
type policies struct {
	ledger Ledger
	now    func() time.Time

	mu sync.Mutex
	m  map[policyKey]cached
}

type policyKey struct {
	app     postledger.ID
	profile string
}

type cached struct {
	e  ledger.Effective
	at time.Time
	// renewing: one request reads it anew, and the others need not.
	renewing bool
}

const (
	policyAge = time.Second
	// policyMax bounds the entries, each some 2 KiB: 2 MiB.
	policyMax = 1024
)

func newPolicies(l Ledger, now func() time.Time) *policies {
	return &policies{ledger: l, now: now, m: map[policyKey]cached{}}
}

func (p *policies) get(ctx context.Context, app postledger.ID, profile string) (ledger.Effective, error) {
	if e, ok := p.kept(policyKey{app, profile}); ok {
		return e, nil
	}
	return p.fresh(ctx, app, profile)
}

// kept is what was read a moment ago. When that becomes old, one request gets
// nothing and reads it anew; those beside it do without for as long again.
func (p *policies) kept(k policyKey) (ledger.Effective, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, ok := p.m[k]
	age := p.now().Sub(c.at)
	switch {
	case !ok || age < 0 || age >= 2*policyAge:
		return ledger.Effective{}, false
	case age < policyAge || c.renewing:
		return c.e, true
	}
	c.renewing = true
	p.m[k] = c
	return ledger.Effective{}, false
}

// fresh reads the policy. Errors are not kept: a grant given a moment ago must
// not be answered by the refusal before it.
func (p *policies) fresh(ctx context.Context, app postledger.ID, profile string) (ledger.Effective, error) {
	k := policyKey{app, profile}
	e, err := p.ledger.EffectivePolicy(ctx, app, profile)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		delete(p.m, k)
		return e, err
	}
	if _, ok := p.m[k]; !ok && len(p.m) >= policyMax {
		clear(p.m) // they are two seconds old at most
	}
	p.m[k] = cached{e: e, at: p.now()}
	return e, nil
}
