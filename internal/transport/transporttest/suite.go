package transporttest

import (
	"testing"

	"github.com/postledger/postledger/internal/transport"
)

// Behaviour is how a next hop treats an envelope, in words that fit SMTP and
// provider APIs alike.
type Behaviour string

// The behaviours. Where one concerns a single recipient it is the second of
// Subject.Recipients; all others are accepted.
const (
	// Accepts takes everything.
	Accepts Behaviour = "accepts"
	// RefusesRecipient and DefersRecipient treat one recipient so.
	RefusesRecipient Behaviour = "refuses one recipient"
	DefersRecipient  Behaviour = "defers one recipient"
	// RefusesMessage, DefersMessage and Throttles answer the complete message so.
	RefusesMessage Behaviour = "refuses the message"
	DefersMessage  Behaviour = "defers the message"
	Throttles      Behaviour = "throttles"
	// RefusesLogin refuses the credentials.
	RefusesLogin Behaviour = "refuses the login"
	// Unreachable cannot be connected to.
	Unreachable Behaviour = "unreachable"
	// BreaksEarly drops the connection before the last byte could be sent.
	BreaksEarly Behaviour = "breaks before the last byte"
	// HoldsEarly stops answering before the last byte could be sent, calls
	// Subject.Held, and goes on when told to.
	HoldsEarly Behaviour = "holds before the last byte"
	// TakesSilently takes the message and drops the connection unanswered;
	// LosesSilently does not take it and drops the connection.
	TakesSilently Behaviour = "takes the message without an answer"
	LosesSilently Behaviour = "loses the message without an answer"
	// AnswersHalf takes the message and breaks inside the answer;
	// AnswersGarbage takes it and answers what means nothing.
	AnswersHalf    Behaviour = "takes the message and answers half"
	AnswersGarbage Behaviour = "takes the message and answers garbage"
	// AnswersLate takes the message, closes Subject.Held, and answers when
	// Subject.Release is called.
	AnswersLate Behaviour = "answers late"
)

// Behaviours lists them all.
func Behaviours() []Behaviour {
	return []Behaviour{
		Accepts, RefusesRecipient, DefersRecipient, RefusesMessage, DefersMessage, Throttles, RefusesLogin,
		Unreachable, BreaksEarly, HoldsEarly, TakesSilently, LosesSilently, AnswersHalf, AnswersGarbage, AnswersLate,
	}
}

// Subject is a transport whose next hop behaves in one way, always.
type Subject struct {
	Transport transport.Transport
	// Recipients are three addresses, or one if the transport takes one.
	Recipients []string
	// Took are the recipients of each message that the hop took
	// responsibility for.
	Took func() [][]string
	// Held is closed when the hop holds; Release lets it go on.
	Held    <-chan struct{}
	Release func()
}

// Factory makes a Subject. It is called for each behaviour but those that
// Run is told the hop does not have.
type Factory func(tb testing.TB, b Behaviour) *Subject

// Run checks that a transport keeps the contract of package transport.
func Run(t *testing.T, factory Factory, lacks ...Behaviour) {
	t.Helper()
	suite := newSuite(factory, lacks)
	for _, b := range Behaviours() {
		if suite.lacks[b] {
			continue
		}
		t.Run(string(b), func(t *testing.T) { suite.behaves(t, b) })
	}
	t.Run("no leave to send the last byte", suite.noLeave)
	t.Run("context ended before", suite.contextEnded)
	t.Run("many at once", suite.manyAtOnce)
	t.Run("probe", suite.probes)
	t.Run("closed", suite.closed)
}
