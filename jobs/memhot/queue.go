package memhot

// slot is a place in a line. Its item is replaced when a newer job with the same
// dedupe key takes the place.
type slot struct{ item *item }

// queue is a line that can be joined at both ends: a ring that grows.
type queue struct {
	ring  []*slot
	first int
	n     int
	empty int // slots without an item
}

// len counts the slots that have an item.
func (q *queue) len() int { return q.n - q.empty }

// vacate empties a slot of this line. Empty slots are passed over, and closed up
// before they are the most.
func (q *queue) vacate(s *slot) {
	s.item = nil
	q.empty++
	if q.empty > 16 && q.empty > q.n/2 {
		kept := queue{}
		for q.len() > 0 {
			kept.pushBack(q.popFront())
		}
		*q = kept
	}
}

func (q *queue) pushBack(s *slot) {
	q.grow()
	q.ring[(q.first+q.n)%len(q.ring)] = s
	q.n++
}

func (q *queue) pushFront(s *slot) {
	q.grow()
	q.first = (q.first + len(q.ring) - 1) % len(q.ring)
	q.ring[q.first] = s
	q.n++
}

// popFront removes the first slot that has an item; there must be one.
func (q *queue) popFront() *slot {
	for {
		s := q.ring[q.first]
		q.ring[q.first] = nil
		q.first = (q.first + 1) % len(q.ring)
		q.n--
		if s.item != nil {
			return s
		}
		q.empty--
	}
}

func (q *queue) grow() {
	if q.n < len(q.ring) {
		return
	}
	ring := make([]*slot, max(16, 2*len(q.ring)))
	for i := range q.n {
		ring[i] = q.ring[(q.first+i)%len(q.ring)]
	}
	q.ring, q.first = ring, 0
}
