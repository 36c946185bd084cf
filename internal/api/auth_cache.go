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
	// version is what the policy's version was known to be before the caller
	// was looked up; 0 when it was not known.
	version int64
	// renewing: one request looks it up anew, and those beside it need not.
	renewing bool
}

// keyCache keeps the keys that were found. It saves a query for most requests;
// the transaction of an accept looks at the key again. It is keyed by the
// token's SHA-256, so a look-up's time tells nothing of a token.
//
// A key is looked up again when it may have changed: one request a second asks
// for the policy's version, which every change of a key or an app raises, and
// that answers for all keys. A server with hundreds of them would else look
// hundreds up each second.
type keyCache struct {
	now func() time.Time

	mu sync.Mutex
	m  map[[sha256.Size]byte]identity
	// cleared counts clears: what was looked up before one is not kept.
	cleared int
	// version is the policy's, as it was when asked for at the moment confirmed.
	version   int64
	confirmed time.Time
	asking    bool
	// worked are tokens that were good when they were last looked up. They are
	// looked up again whatever fails beside them: one caller with an old key
	// must not keep out the others behind its address.
	worked map[[sha256.Size]byte]struct{}
}

const (
	// keyAge is how long a revocation by another process may go unnoticed.
	keyAge = 2 * time.Second
	// keyRenewed is when one request asks anew, while those beside it go on with
	// what is known: else all that come at that moment would.
	keyRenewed = keyAge / 2
	// keyMost is when a key is looked up whatever the version says.
	keyMost = time.Minute
	// maxKeys bounds the entries, some 500 bytes each: 2 MiB; and those of
	// worked, which have 32.
	maxKeys = 4096
)

func newKeyCache(now func() time.Time) *keyCache {
	return &keyCache{now: now, m: map[[sha256.Size]byte]identity{}, worked: map[[sha256.Size]byte]struct{}{}}
}

// known is what the cache says of a token.
type known int

const (
	// keyMissing: it must be looked up.
	keyMissing known = iota
	// keyGood: the identity holds.
	keyGood
	// keyDoubtful: the identity holds if the policy's version is still its own,
	// which the caller has to ask for and confirm.
	keyDoubtful
)

// get also returns the number of clears, to be handed to put. What is missing
// is stamped with the version that is known before it is looked up.
func (k *keyCache) get(sum [sha256.Size]byte) (id identity, cleared int, is known) {
	k.mu.Lock()
	defer k.mu.Unlock()
	missing := identity{version: k.version}
	id, ok := k.m[sum]
	if !ok {
		return missing, k.cleared, keyMissing
	}
	now := k.now()
	if now.Before(id.at) || !id.key.ExpiresAt.IsZero() && !now.Before(id.key.ExpiresAt) {
		delete(k.m, sum)
		return missing, k.cleared, keyMissing
	}
	held, seen := id.version != 0 && id.version == k.version && now.Sub(id.at) < keyMost, id.at
	if held && k.confirmed.After(seen) {
		seen = k.confirmed
	}
	age := now.Sub(seen)
	switch {
	case age < keyRenewed, age < keyAge && (id.renewing || held && k.asking):
		return id, k.cleared, keyGood
	case held:
		k.asking = true
		return id, k.cleared, keyDoubtful
	default:
		id.renewing = true
		k.m[sum] = id
		return missing, k.cleared, keyMissing
	}
}

// confirm notes the policy's version, which was asked for at a moment, and
// reports whether it is that of id. With an error it is not known.
func (k *keyCache) confirm(id identity, version int64, at time.Time, err error) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asking = false
	if err != nil {
		return false
	}
	if at.After(k.confirmed) {
		k.version, k.confirmed = version, at
	}
	return id.version != 0 && id.version == version
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
		clear(k.m) // each costs one look-up
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
