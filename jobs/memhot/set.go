package memhot

import (
	"crypto/rand"
	"encoding/hex"
	"sync"
	"time"

	"github.com/postledger/postledger/jobs"
)

// Set is a jobs.Hot. It is safe for concurrent use.
type Set struct {
	limits jobs.Limits
	epoch  string

	mu      sync.Mutex
	closed  bool
	items   map[jobs.ID]*item
	waiting map[jobs.Lane]*queue
	delayed timeline // by when they are due
	active  timeline // by when their leases end
	keys    map[key]*keyed
	groups  map[string]int
	held    map[string]time.Time
	flags   map[jobs.Scope]*flag
	pending map[jobs.SpillID]*pending
	jobs    int
	bytes   int64
	lanes   map[jobs.Lane]*jobs.LaneDepth
	tokens  int64
	numbers int64

	// changed is closed and replaced when something can be taken, or when there
	// is room again.
	changed chan struct{}
}

var _ jobs.Hot = (*Set)(nil)

// item is a job in the set. The places of items that replace each other under a
// dedupe key are one slot.
type item struct {
	jobs.Entry
	cost       int64
	state      state
	slot       *slot
	when       time.Time // due, or the lease's end
	index      int       // in its timeline
	token      int64
	superseded bool
}

type state uint8

const (
	waiting state = iota
	delayed
	active
)

type key struct{ handler, dedupe string }

// keyed are the jobs of one dedupe key: at most one that waits, unless it was
// superseded.
type keyed struct {
	waits *item
	runs  map[*item]struct{}
}

// New makes an empty set.
func New(limits jobs.Limits) (*Set, error) {
	limits = limits.WithDefaults()
	if err := limits.Validate(); err != nil {
		return nil, err
	}
	var epoch [8]byte
	rand.Read(epoch[:])
	return &Set{
		limits:  limits,
		epoch:   hex.EncodeToString(epoch[:]),
		items:   map[jobs.ID]*item{},
		waiting: map[jobs.Lane]*queue{jobs.Fast: {}, jobs.Slow: {}},
		keys:    map[key]*keyed{},
		groups:  map[string]int{},
		held:    map[string]time.Time{},
		flags:   map[jobs.Scope]*flag{},
		pending: map[jobs.SpillID]*pending{},
		lanes:   map[jobs.Lane]*jobs.LaneDepth{jobs.Fast: {}, jobs.Slow: {}},
		changed: make(chan struct{}),
	}, nil
}

// Close makes every later call fail with jobs.ErrClosed.
func (s *Set) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		s.wake()
	}
	return nil
}

// wake lets everybody look again who waits for jobs or for room.
func (s *Set) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// insert counts a job in.
func (s *Set) insert(i *item) {
	s.items[i.ID] = i
	s.jobs++
	s.bytes += i.cost
	lane := s.lanes[i.Lane]
	lane.Jobs++
	lane.Bytes += i.cost
	if i.Group != "" {
		s.groups[i.Group]++
	}
}

// remove counts a job out, whose line it has left already.
func (s *Set) remove(i *item) {
	delete(s.items, i.ID)
	s.jobs--
	s.bytes -= i.cost
	lane := s.lanes[i.Lane]
	lane.Jobs--
	lane.Bytes -= i.cost
	if i.Group != "" {
		if s.groups[i.Group]--; s.groups[i.Group] == 0 {
			delete(s.groups, i.Group)
		}
	}
}

// below tells whether a lane is below its low water.
func (s *Set) below(lane jobs.Lane) bool {
	return s.limits.Below(lane, s.jobs, s.bytes, *s.lanes[jobs.Slow])
}
