package ledger

import (
	"slices"
	"sync"

	"github.com/postledger/postledger"
)

// bodyCache keeps shared bodies that were read last, so that a batch's body is
// read once and not with each lease. It never shows what was purged: only a
// content that was just read leads to it, and a purge takes contents first.
//
// Its bound is part of what a process needs beside the bodies in flight, which
// charge their whole size to the memory budget, shared or not.
type bodyCache struct {
	mu    sync.Mutex
	kept  []sharedBody // the last used last
	bytes int
}

const (
	cachedBytes  = 8 << 20
	cachedBodies = 64
	// cachedMost is the largest body kept: one that is larger is read for each
	// message alone, when it is sent (see loadBodies), and would push out all
	// that others share.
	cachedMost = cachedBytes / 8
)

func (b *sharedBody) size() int { return len(b.text) + len(b.html) }

func (c *bodyCache) get(id postledger.ID) (sharedBody, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.find(id)
	if i < 0 {
		return sharedBody{}, false
	}
	b := c.kept[i]
	c.kept = append(slices.Delete(c.kept, i, i+1), b)
	return b, true
}

func (c *bodyCache) put(b sharedBody) {
	if b.size() > cachedMost {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.find(b.id) >= 0 {
		return
	}
	c.kept, c.bytes = append(c.kept, b), c.bytes+b.size()
	for c.bytes > cachedBytes || len(c.kept) > cachedBodies {
		c.bytes -= c.kept[0].size()
		c.kept = slices.Delete(c.kept, 0, 1)
	}
}

func (c *bodyCache) find(id postledger.ID) int {
	return slices.IndexFunc(c.kept, func(b sharedBody) bool { return b.id == id })
}
