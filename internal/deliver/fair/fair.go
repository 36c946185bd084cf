// Package fair hands out turns between keys that have work, by deficit round
// robin (Shreedhar and Varghese, 1995), so that a key with ten items waits for
// one round and not for the hundred thousand of another.
//
// The worker keeps one Turns a lane and asks the immediate lane first, with the
// slots that lane may use; a key is what claims are made for (profile, app).
// It is arithmetic only: not safe for concurrent use, and without a clock.
//
// The contract:
//
//   - In any stretch in which two keys both have work and neither is held back
//     by its own limit, what they are granted differs by at most one quantum.
//   - Keys that share a limit, such as the apps of one profile, are granted what
//     it has room for in turns too, however little that is at a time: a turn that
//     its limit cuts short goes on when there is room again.
//   - A key that is added waits until each of the others has had at most one
//     turn.
//   - What a key could not use is lost to it: nobody saves up more than the rest
//     of one turn. What a key used beyond its grant (an envelope is leased whole)
//     is a debt, and it is passed over until its turns have paid it.
//   - Only keys that have work are known: Remove forgets a key and its debt.
package fair

import "fmt"

// Turns is the round of the keys that have work.
type Turns[K comparable] struct {
	quantum int
	keys    map[K]*seat[K]
	// next is whose turn it is, nil when there is no key. The ring begins there:
	// who was served longest ago stands first.
	next *seat[K]
	call uint64 // counts the calls of Next
}

// seat is a key's place in the ring.
type seat[K comparable] struct {
	key        K
	prev, next *seat[K]
	// left is what remains of the running turn; negative is a debt.
	left int
	// grant is the index of the key's grant in the call of Next numbered seen;
	// full says that its limit was met in that call.
	seen  uint64
	grant int
	full  bool
}

// Grant is how much of its work a key may do now.
type Grant[K comparable] struct {
	Key K
	N   int
}

// New makes a round with turns of quantum items.
func New[K comparable](quantum int) (*Turns[K], error) {
	if quantum < 1 {
		return nil, fmt.Errorf("fair: quantum %d (want at least 1)", quantum)
	}
	return &Turns[K]{quantum: quantum, keys: make(map[K]*seat[K])}, nil
}

// Add says that a key has work. A key that is known keeps its place.
func (t *Turns[K]) Add(key K) {
	if t.keys[key] != nil {
		return
	}
	s := &seat[K]{key: key}
	t.keys[key] = s
	if t.next == nil {
		s.prev, s.next = s, s
		t.next = s
		return
	}
	t.append(s)
}

// append puts a seat at the end of the round, right before whose turn it is.
func (t *Turns[K]) append(s *seat[K]) {
	s.prev, s.next = t.next.prev, t.next
	s.prev.next, s.next.prev = s, s
}

// served moves a seat whose turn has ended to the end of the round. A key whose
// limit had no room keeps its place: or the same one of those that share a limit
// would always be the first to find room.
func (t *Turns[K]) served(s *seat[K]) {
	if t.next == s {
		t.next = s.next
		return
	}
	s.prev.next, s.next.prev = s.next, s.prev
	t.append(s)
}

// Remove says that a key has no work any more.
func (t *Turns[K]) Remove(key K) {
	s := t.keys[key]
	if s == nil {
		return
	}
	delete(t.keys, key)
	if s.next == s {
		t.next = nil
		return
	}
	s.prev.next, s.next.prev = s.next, s.prev
	if t.next == s {
		t.next = s.next
	}
}

// Len is the number of keys that have work.
func (t *Turns[K]) Len() int { return len(t.keys) }

// Charge says that a key used n more than it was granted.
func (t *Turns[K]) Charge(key K, n int) {
	s := t.keys[key]
	if s == nil || n <= 0 {
		return
	}
	inTurn := s.left > 0
	s.left -= n
	if inTurn && s.left <= 0 {
		t.served(s) // its turn is used up
	}
}

// Next hands out at most total, one grant a key. Before each turn it asks the
// caller to set aside up to n for the key, and the caller says how many it
// could: fewer when the profile's pace, health or connections, which other keys
// may share, allow no more. It returns when total is handed out, or when every
// key met its limit; a turn that total cuts short goes on in the next call.
func (t *Turns[K]) Next(total int, reserve func(key K, n int) int) []Grant[K] {
	t.call++
	var grants []Grant[K]
	// limited counts the keys that met their limit one after the other.
	at := t.next
	for limited := 0; total > 0 && limited < len(t.keys); {
		s := at
		at = s.next
		if s.seen != t.call {
			s.seen, s.grant, s.full = t.call, -1, false
		}
		if s.full {
			limited++
			continue
		}
		if s.left <= 0 {
			s.left += t.quantum
		}
		if s.left <= 0 {
			// Still in debt: passed over, and by that nearer to the end of it.
			limited = 0
			t.served(s)
			continue
		}
		want := min(s.left, total)
		got := min(max(reserve(s.key, want), 0), want)
		if got > 0 {
			limited = 0
			if s.grant < 0 {
				s.grant = len(grants)
				grants = append(grants, Grant[K]{Key: s.key})
			}
			grants[s.grant].N += got
			s.left -= got
			total -= got
		}
		if got < want {
			s.full = true
		}
		if got == 0 {
			limited++
		}
		if s.left == 0 {
			t.served(s)
		}
	}
	return grants
}
