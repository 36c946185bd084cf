package api

import (
	"crypto/sha256"
	"sync"
	"time"

	"github.com/postledger/postledger"
)

// identity is a caller that was found.
type identity struct {
	key postledger.APIKey
	app postledger.App
	at  time.Time
}

// keyCache keeps the keys that were found for a moment. It saves a query for
// most requests; the transaction of an accept looks at the key again. It is
// keyed by the token's SHA-256, so a look-up's time tells nothing of a token.
type keyCache struct {
	now func() time.Time

	mu sync.Mutex
	m  map[[sha256.Size]byte]identity
	// cleared counts clears: what was looked up before one is not kept.
	cleared int
}

const (
	// keyAge is how long a revocation by another process may go unnoticed.
	keyAge = 2 * time.Second
	// maxKeys bounds the entries, some 500 bytes each: 2 MiB.
	maxKeys = 4096
)

func newKeyCache(now func() time.Time) *keyCache {
	return &keyCache{now: now, m: map[[sha256.Size]byte]identity{}}
}

// get also returns the number of clears, to be handed to put.
func (k *keyCache) get(sum [sha256.Size]byte) (id identity, cleared int, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if id, ok = k.m[sum]; !ok {
		return identity{}, k.cleared, false
	}
	now := k.now()
	if age := now.Sub(id.at); age < 0 || age >= keyAge || (!id.key.ExpiresAt.IsZero() && !now.Before(id.key.ExpiresAt)) {
		delete(k.m, sum)
		return identity{}, k.cleared, false
	}
	return id, k.cleared, true
}

func (k *keyCache) put(sum [sha256.Size]byte, id identity, cleared int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if cleared != k.cleared {
		return
	}
	if len(k.m) >= maxKeys {
		clear(k.m) // they are seconds old at most
	}
	id.at = k.now()
	k.m[sum] = id
}

// clear forgets all: a key was revoked, or an app removed.
func (k *keyCache) clear() {
	k.mu.Lock()
	defer k.mu.Unlock()
	clear(k.m)
	k.cleared++
}
