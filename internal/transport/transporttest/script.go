package transporttest

import "strings"

// Step is a moment of an SMTP session at which a Rule may act.
type Step string

// The steps. StepBody is after the 354 and before the message is read, StepDot
// after its final dot was read.
const (
	StepGreeting Step = "greeting"
	StepHello    Step = "hello"
	StepStartTLS Step = "starttls"
	StepAuth     Step = "auth"
	StepMail     Step = "mail"
	StepRcpt     Step = "rcpt"
	StepData     Step = "data"
	StepBody     Step = "body"
	StepDot      Step = "dot"
	StepReset    Step = "reset"
	StepQuit     Step = "quit"
)

// Rule says what the hop does at a step in place of what is usual. Of several
// that match, the first acts.
type Rule struct {
	At Step
	// Recipient limits StepRcpt to one address; "" is any.
	Recipient string
	// Contains limits the rule to command lines with this in them.
	Contains string
	// Conn and Message, counted from 1, limit it to a connection and to a
	// message on its connection; 0 is any.
	Conn, Message int
	// When, if set, decides last; it is asked with the hop's lock held.
	When func() bool
	// Times limits how often it acts; 0 is always.
	Times int
	Do    Action
}

// Action is what happens, in the order of the fields.
type Action struct {
	// Hook is called first.
	Hook func()
	// Keep, at StepDot, accepts the message whatever is answered.
	Keep bool
	// Hold is waited for; the end of the hop ends it too.
	Hold <-chan struct{}
	// Drop closes the connection without an answer; Reset sends a RST.
	Drop, Reset bool
	// Reply is the answer, lines separated by "\n"; "" is the usual one.
	Reply string
	// Raw is written as it is, in place of a reply.
	Raw string
	// Close closes the connection after the answer.
	Close bool
}

// Answer is the action that only replies.
func Answer(reply string) Action { return Action{Reply: reply} }

// Goodbye is the action that replies and closes.
func Goodbye(reply string) Action { return Action{Reply: reply, Close: true} }

// happening is what a rule is held against.
type happening struct {
	step          Step
	line          string
	recipient     string
	conn, message int
}

func (r *Rule) matches(h happening) bool {
	return r.At == h.step &&
		(r.Recipient == "" || strings.EqualFold(r.Recipient, h.recipient)) &&
		strings.Contains(h.line, r.Contains) &&
		(r.Conn == 0 || r.Conn == h.conn) &&
		(r.Message == 0 || r.Message == h.message)
}

// script is the rules with what is left of them.
type script struct {
	rules []Rule
	used  []int
}

func (s *script) find(h happening) (Action, bool) {
	for i := range s.rules {
		r := &s.rules[i]
		if r.matches(h) && (r.Times == 0 || s.used[i] < r.Times) && (r.When == nil || r.When()) {
			s.used[i]++
			return r.Do, true
		}
	}
	return Action{}, false
}
