package sink

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
)

// take counts a message and records it.
func (ss *session) take(msg []byte) bool {
	s := ss.s
	if s.record != nil {
		sum := sum(msg)
		id := ss.envid
		if len(id) == 0 {
			id = messageID(msg)
		}
		ss.lines = ss.lines[:0]
		for _, addr := range ss.rcpts {
			ss.lines = append(append(ss.lines, id...), ' ')
			ss.lines = append(append(ss.lines, addr...), ' ')
			ss.lines = append(hex.AppendEncode(ss.lines, sum[:]), '\n')
		}
		if s.record.add(ss.lines, ss.done) != nil {
			return false
		}
	}
	if s.cfg.Taken != nil {
		s.cfg.Taken(ss.rcpts)
	}
	s.messages.Add(1)
	s.recipients.Add(int64(len(ss.rcpts)))
	s.bytes.Add(int64(len(msg)))
	return true
}

// sum hashes the message without its stuffed dots.
func sum(msg []byte) (out [sha256.Size]byte) {
	h := sha256.New()
	if bytes.HasPrefix(msg, []byte{'.'}) {
		msg = msg[1:]
	}
	for {
		i := bytes.Index(msg, []byte("\n."))
		if i < 0 {
			h.Write(msg)
			h.Sum(out[:0])
			return out
		}
		h.Write(msg[:i+1])
		msg = msg[i+2:]
	}
}

// messageID returns the left side of the Message-ID, or "-".
func messageID(msg []byte) []byte {
	const name = "message-id:"
	for len(msg) > 0 {
		l, rest, _ := bytes.Cut(msg, []byte{'\n'})
		if len(bytes.TrimSpace(l)) == 0 {
			break
		}
		if len(l) > len(name) && bytes.EqualFold(l[:len(name)], []byte(name)) {
			_, id, _ := bytes.Cut(l, []byte{'<'})
			id, _, ok := bytes.Cut(id, []byte{'@'})
			if ok {
				return id
			}
		}
		msg = rest
	}
	return []byte{'-'}
}
