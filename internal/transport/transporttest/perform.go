package transporttest

import (
	"fmt"
	"net"
	"strings"
)

// act replies as the rules say, or as usual.
func (s *session) act(step Step, line, recipient, usual string) error {
	return s.actThen(step, line, recipient, usual, func() {})
}

// actThen does what the rules say and calls done if the reply was positive.
func (s *session) actThen(step Step, line, recipient, usual string, done func()) error {
	return s.actOn(happening{step, line, recipient, s.id, s.messages}, usual, '2', done)
}

// act3yz is actThen for a command whose good answer is a 3yz.
func (s *session) act3yz(step Step, line, usual string, done func()) error {
	return s.actOn(happening{step, line, "", s.id, s.messages}, usual, '3', done)
}

func (s *session) actOn(h happening, usual string, good byte, done func()) error {
	a, _ := s.hop.find(h)
	reply := a.Reply
	if reply == "" {
		reply = usual
	}
	if reply[0] == good && a.Raw == "" {
		done()
	}
	return s.do(a, usual)
}

// do carries out an action; usual replaces an empty reply.
func (s *session) do(a Action, usual string) error {
	if a.Hook != nil {
		a.Hook()
	}
	if a.Hold != nil {
		// What was answered before must not wait with it.
		if s.w.Flush() != nil {
			return errEnd
		}
		select {
		case <-a.Hold:
		case <-s.hop.done:
			return errEnd
		}
	}
	switch {
	case a.Reset:
		if tcp, ok := s.raw.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		s.raw.Close()
		return errEnd
	case a.Drop:
		s.w.Flush()
		s.raw.Close()
		return errEnd
	case a.Raw != "":
		_, _ = s.w.WriteString(a.Raw)
		if s.w.Flush() != nil {
			return errEnd
		}
	default:
		if a.Reply != "" {
			usual = a.Reply
		}
		if usual != "" {
			if err := s.reply(usual); err != nil {
				return err
			}
		}
	}
	if a.Close {
		s.w.Flush()
		s.raw.Close()
		return errEnd
	}
	return nil
}

func (s *session) reply(text string) error {
	if _, err := s.w.WriteString(strings.ReplaceAll(text, "\n", "\r\n") + "\r\n"); err != nil {
		return errEnd
	}
	return nil
}

func (h *Hop) find(at happening) (Action, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.script.find(at)
}

func (h *Hop) note(conn int, line string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.commands = append(h.commands, fmt.Sprintf("%d: %s", conn, line))
}

func (h *Hop) accept(a Acceptance) {
	if h.cfg.OnAccept != nil {
		h.cfg.OnAccept(a)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.accepted = append(h.accepted, a)
}
