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
	// renewing: one request looks it up anew, and those beside it need not.
	renewing bool
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
	// worked are tokens that were good when they were last looked up. They are
	// looked up again whatever fails beside them: one caller with an old key
	// must not keep out the others behind its address.
	worked map[[sha256.Size]byte]struct{}
}

const (
	// keyAge is how long a revocation by another process may go unnoticed.
	keyAge = 2 * time.Second
	// keyRenewed is when one request looks a key up anew, while those beside it
	// go on with what is known: else all that come at that moment would.
	keyRenewed = keyAge / 2
	// maxKeys bounds the entries, some 500 bytes each: 2 MiB; and those of
	// worked, which have 32.
	maxKeys = 4096
)

func newKeyCache(now func() time.Time) *keyCache {
	return &keyCache{now: now, m: map[[sha256.Size]byte]identity{}, worked: map[[sha256.Size]byte]struct{}{}}
}

// get also returns the number of clears, to be handed to put.
func (k *keyCache) get(sum [sha256.Size]byte) (id identity, cleared int, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if id, ok = k.m[sum]; !ok {
		return identity{}, k.cleared, false
	}
	now := k.now()
	age := now.Sub(id.at)
	switch {
	case age < 0, age >= keyAge, !id.key.ExpiresAt.IsZero() && !now.Before(id.key.ExpiresAt):
		delete(k.m, sum)
		return identity{}, k.cleared, false
	case age >= keyRenewed && !id.renewing:
		id.renewing = true
		k.m[sum] = id
		return identity{}, k.cleared, false
	}
	return id, k.cleared, true
}

func (k *keyCache) put(sum [sha256.Size]byte, id identity, cleared int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.worked) >= maxKeys {
		clear(k.worked)
	}
	k.worked[sum] = struct{}{}
	if cleared != k.cleared {
		return
	}
	if len(k.m) >= maxKeys {
		clear(k.m) // they are seconds old at most
	}
	id.at, id.renewing = k.now(), false
	k.m[sum] = id
}

// good reports whether a token worked when it was last looked up.
func (k *keyCache) good(sum [sha256.Size]byte) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, ok := k.worked[sum]
	return ok
}

// refused notes that a token does not work, or no longer.
func (k *keyCache) refused(sum [sha256.Size]byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.worked, sum)
	delete(k.m, sum) // others went on with it while it was looked up
}

// clear forgets all: a key was revoked, or an app removed.
func (k *keyCache) clear() {
	k.mu.Lock()
	defer k.mu.Unlock()
	clear(k.m)
	k.cleared++
}
