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
	p.mu.Lock()
	c, ok := p.m[policyKey{app, profile}]
	p.mu.Unlock()
	if age := p.now().Sub(c.at); ok && age >= 0 && age < policyAge {
		return c.e, nil
	}
	return p.fresh(ctx, app, profile)
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
		clear(p.m) // they are a second old at most
	}
	p.m[k] = cached{e, p.now()}
	return e, nil
}
