package transporttest

import (
	"bufio"
	"crypto/tls"
	"errors"
	"net"
	"strings"
)

// errEnd ends a session without being a fault.
var errEnd = errors.New("session ended")

// session is one connection of a Hop.
type session struct {
	hop *Hop
	id  int
	raw net.Conn
	net net.Conn
	r   *bufio.Reader
	w   *bufio.Writer

	hello    bool // EHLO was used: extensions are on
	loggedIn bool
	messages int // MAIL commands so far

	inMail bool
	mail   string
	path   string
	rcpts  []string
	lines  []string
}

func newSession(h *Hop, c net.Conn, id int) *session {
	return &session{hop: h, id: id, raw: c, net: c, r: bufio.NewReader(c), w: bufio.NewWriter(c)}
}

func (s *session) offers(keyword string) bool {
	for _, e := range s.hop.cfg.Extensions {
		if name, _, _ := strings.Cut(e, " "); s.hello && name == keyword {
			return true
		}
	}
	return false
}

func (s *session) serve() {
	if s.hop.cfg.Implicit && !s.secure() {
		return
	}
	if s.act(StepGreeting, "", "", "220 hop.test ESMTP") != nil {
		return
	}
	for {
		if s.r.Buffered() == 0 && s.w.Flush() != nil {
			return
		}
		line, err := s.r.ReadString('\n')
		if err != nil {
			return
		}
		if !strings.HasSuffix(line, "\r\n") || strings.ContainsAny(line[:len(line)-2], "\r\x00") {
			s.hop.fault("command line %q has a bare CR, LF or NUL", line)
		}
		line = strings.TrimRight(line, "\r\n")
		s.hop.note(s.id, line)
		if s.command(line) != nil {
			s.w.Flush()
			return
		}
	}
}

func (s *session) command(line string) error {
	verb, arg, _ := strings.Cut(line, " ")
	verb = strings.ToUpper(verb)
	if s.r.Buffered() > 0 && (!s.offers("PIPELINING") || verb != "MAIL" && verb != "RCPT" && verb != "RSET") {
		s.hop.fault("bytes after %q in the same write", line)
	}
	switch verb {
	case "EHLO":
		s.hello, s.inMail = true, false
		return s.act(StepHello, line, "", s.greetEHLO())
	case "HELO":
		s.hello, s.inMail = false, false
		return s.act(StepHello, line, "", "250 hop.test")
	case "STARTTLS":
		return s.startTLS(line)
	case "AUTH":
		return s.auth(line, arg)
	case "MAIL":
		return s.doMail(line, arg)
	case "RCPT":
		return s.doRcpt(line, arg)
	case "DATA":
		return s.doData(line)
	case "RSET":
		s.inMail = false
		return s.act(StepReset, line, "", "250 2.0.0 reset")
	case "NOOP":
		return s.reply("250 2.0.0 nothing done")
	case "QUIT":
		s.act(StepQuit, line, "", "221 2.0.0 bye")
		return errEnd
	}
	s.hop.fault("unknown command %q", line)
	return s.reply("500 5.5.2 unknown command")
}

func (s *session) greetEHLO() string {
	lines := append([]string{"hop.test greets you"}, s.hop.cfg.Extensions...)
	if s.hop.cfg.TLS != nil && !s.encrypted() {
		lines = append(lines, "STARTTLS")
	}
	if s.hop.cfg.Logins != nil {
		lines = append(lines, "AUTH "+strings.Join(s.hop.cfg.Mechanisms, " "))
	}
	for i := range lines {
		lines[i] = "250-" + lines[i]
	}
	lines[len(lines)-1] = "250 " + lines[len(lines)-1][4:]
	return strings.Join(lines, "\n")
}

func (s *session) encrypted() bool { return s.net != s.raw }

func (s *session) startTLS(line string) error {
	if err := s.act(StepStartTLS, line, "", "220 2.0.0 go ahead"); err != nil {
		return err
	}
	if s.w.Flush() != nil || !s.secure() {
		return errEnd
	}
	s.hello = false
	return nil
}

func (s *session) secure() bool {
	c := tls.Server(s.raw, s.hop.cfg.TLS)
	if c.Handshake() != nil {
		return false
	}
	s.net = c
	s.r.Reset(c)
	s.w.Reset(c)
	return true
}

func (s *session) doMail(line, arg string) error {
	if s.inMail {
		s.hop.fault("nested MAIL: %q", line)
		return s.reply("503 5.5.1 nested MAIL command")
	}
	if s.hop.cfg.Logins != nil && !s.loggedIn {
		return s.reply("530 5.7.0 authentication required")
	}
	s.messages++
	path, ok := between(arg, "FROM:<", ">")
	if !ok {
		return s.reply("501 5.5.4 syntax: MAIL FROM:<path>")
	}
	return s.actThen(StepMail, line, "", "250 2.1.0 sender ok", func() {
		s.inMail, s.mail, s.path = true, line, path
		s.rcpts, s.lines = nil, nil
	})
}

func (s *session) doRcpt(line, arg string) error {
	if !s.inMail {
		return s.reply("503 5.5.1 MAIL first")
	}
	addr, ok := between(arg, "TO:<", ">")
	if !ok {
		return s.reply("501 5.5.4 syntax: RCPT TO:<path>")
	}
	usual := "250 2.1.5 recipient ok"
	if m := s.hop.cfg.MaxRecipients; m > 0 && len(s.rcpts) >= m {
		usual = "452 4.5.3 too many recipients"
	}
	return s.actThen(StepRcpt, line, addr, usual, func() {
		s.rcpts, s.lines = append(s.rcpts, addr), append(s.lines, line)
	})
}

func (s *session) doData(line string) error {
	usual := "354 go ahead"
	switch {
	case !s.inMail:
		return s.reply("503 5.5.1 MAIL first")
	case len(s.rcpts) == 0:
		usual = "554 5.5.1 no valid recipients"
	}
	var begun bool
	err := s.act3yz(StepData, line, usual, func() { begun = true })
	if err != nil || !begun {
		return err
	}
	if s.w.Flush() != nil {
		return errEnd
	}
	if a, ok := s.hop.find(happening{StepBody, line, "", s.id, s.messages}); ok {
		if err := s.do(a, ""); err != nil {
			return err
		}
		if s.w.Flush() != nil {
			return errEnd
		}
	}
	data, err := s.readBody()
	if err != nil {
		return errEnd
	}
	return s.finishBody(line, data)
}

// finishBody answers the final dot.
func (s *session) finishBody(line string, data []byte) error {
	s.inMail = false
	usual := "250 2.0.0 accepted"
	if len(s.rcpts) == 0 {
		usual = "554 5.5.1 no valid recipients"
	}
	a, _ := s.hop.find(happening{StepDot, line, "", s.id, s.messages})
	reply := a.Reply
	if reply == "" {
		reply = usual
	}
	took := reply[0] == '2' && !a.Drop && !a.Reset && a.Raw == ""
	if len(s.rcpts) > 0 && (took || a.Keep) {
		s.hop.accept(Acceptance{s.id, s.encrypted(), s.path, s.rcpts, s.mail, s.lines, data})
	}
	return s.do(a, usual)
}

// between returns what stands between a prefix, in any case, and the first end.
func between(s, prefix, end string) (string, bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return "", false
	}
	inner, _, ok := strings.Cut(s[len(prefix):], end)
	return inner, ok
}
