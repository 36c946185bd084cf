package sandbox

import (
	"container/list"
	"sync"
	"time"

	"github.com/postledger/postledger"
)

// Message is one envelope that the sandbox accepted.
type Message struct {
	// Seq orders messages as they were accepted and is List's cursor.
	Seq        uint64
	Envelope   postledger.ID
	ReturnPath string
	Recipients []string
	At         time.Time
	Size       int64
	// Bytes is the message as it would have been sent; nil in a list and if
	// Truncated. It must not be changed.
	Bytes []byte
	// Truncated: the message was larger than all that may be kept.
	Truncated bool
}

// store keeps the last messages, bounded in number and in bytes.
type store struct {
	maxCount int
	maxBytes int64

	mu       sync.Mutex
	closed   bool
	seq      uint64
	bytes    int64
	messages *list.List // of Message, oldest first
	newest   map[postledger.ID]*list.Element
}

func newStore(count int, size int64) *store {
	return &store{maxCount: count, maxBytes: size, messages: list.New(), newest: make(map[postledger.ID]*list.Element)}
}

func (s *store) add(m Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	m.Seq = s.seq
	s.bytes += int64(len(m.Bytes))
	s.newest[m.Envelope] = s.messages.PushBack(m)
	for s.messages.Len() > s.maxCount || s.bytes > s.maxBytes {
		el := s.messages.Front()
		old := s.messages.Remove(el).(Message)
		s.bytes -= int64(len(old.Bytes))
		if s.newest[old.Envelope] == el {
			delete(s.newest, old.Envelope)
		}
	}
}

func (s *store) get(id postledger.ID) (Message, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	el, ok := s.newest[id]
	if !ok {
		return Message{}, false
	}
	return el.Value.(Message), true
}

func (s *store) list(before uint64, limit int) (page []Message, next uint64) {
	if limit <= 0 {
		return nil, before
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for el := s.messages.Back(); el != nil; el = el.Prev() {
		m := el.Value.(Message)
		if before != 0 && m.Seq >= before {
			continue
		}
		if len(page) >= limit {
			return page, page[len(page)-1].Seq
		}
		m.Bytes = nil
		page = append(page, m)
	}
	return page, 0
}

func (s *store) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

func (s *store) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// bounded keeps what is written to it, or nothing if that is over max.
type bounded struct {
	max  int64
	b    []byte
	over bool
}

func (w *bounded) Write(p []byte) (int, error) {
	if w.over = w.over || int64(len(w.b)+len(p)) > w.max; w.over {
		w.b = nil
		return len(p), nil
	}
	w.b = append(w.b, p...)
	return len(p), nil
}
