package smtp_test

import (
	"sync"
	"testing"
	"time"

	"github.com/postledger/postledger/internal/transport/smtp"
	"github.com/postledger/postledger/internal/transport/transporttest"
)

// TestContract runs the suite of all transports, in plain text and under TLS.
func TestContract(t *testing.T) {
	for _, mode := range []smtp.TLSMode{smtp.TLSNone, smtp.TLSRequired} {
		t.Run(string(mode), func(t *testing.T) {
			var lacks []transporttest.Behaviour
			if mode == smtp.TLSNone {
				lacks = append(lacks, transporttest.RefusesLogin)
			}
			transporttest.Run(t, func(tb testing.TB, b transporttest.Behaviour) *transporttest.Subject {
				return subject(tb, b, mode)
			}, lacks...)
		})
	}
}

func subject(tb testing.TB, b transporttest.Behaviour, mode smtp.TLSMode) *transporttest.Subject {
	held, release := make(chan struct{}), make(chan struct{})
	hold := transporttest.Action{Hook: sync.OnceFunc(func() { close(held) }), Hold: release}
	s := &transporttest.Subject{
		Recipients: []string{"a@rcv.test", "b@rcv.test", "c@rcv.test"},
		Held:       held, Release: func() { close(release) },
	}
	rule := transporttest.Rule{At: transporttest.StepDot}
	switch b {
	case transporttest.Accepts, transporttest.Unreachable, transporttest.RefusesLogin:
	case transporttest.RefusesRecipient:
		rule = transporttest.Rule{At: transporttest.StepRcpt, Recipient: s.Recipients[1], Do: transporttest.Answer("550 5.1.1 <b@rcv.test> is unknown")}
	case transporttest.DefersRecipient:
		rule = transporttest.Rule{At: transporttest.StepRcpt, Recipient: s.Recipients[1], Do: transporttest.Answer("451 4.2.0 later")}
	case transporttest.RefusesMessage:
		rule.Do = transporttest.Answer("550 5.7.1 no")
	case transporttest.DefersMessage:
		rule.Do = transporttest.Answer("451 4.3.0 later")
	case transporttest.Throttles:
		rule.Do = transporttest.Answer("454 4.7.0 slow down")
	case transporttest.BreaksEarly:
		rule = transporttest.Rule{At: transporttest.StepData, Do: transporttest.Action{Drop: true}}
	case transporttest.HoldsEarly:
		rule = transporttest.Rule{At: transporttest.StepData, Do: hold}
	case transporttest.TakesSilently:
		rule.Do = transporttest.Action{Keep: true, Drop: true}
	case transporttest.LosesSilently:
		rule = transporttest.Rule{At: transporttest.StepBody, Do: transporttest.Action{Drop: true}}
	case transporttest.AnswersHalf:
		rule.Do = transporttest.Action{Keep: true, Raw: "250 2.0", Close: true}
	case transporttest.AnswersGarbage:
		rule.Do = transporttest.Action{Keep: true, Raw: "fine by me\r\n"}
	case transporttest.AnswersLate:
		rule.Do = hold
	default:
		tb.Fatalf("unknown behaviour %q", b)
	}
	cfg := transporttest.HopConfig{Rules: []transporttest.Rule{rule}}
	var change []func(*smtp.Config)
	if mode == smtp.TLSRequired {
		ca := transporttest.NewAuthority(tb)
		cfg.TLS = ca.Server(transporttest.HopName, time.Now().Add(year))
		cfg.Logins = map[string]string{"desk": "secret"}
		change = append(change, func(c *smtp.Config) {
			c.TLS, c.RootCAs, c.Username, c.Password = mode, ca.Pool(), "desk", "secret"
			if b == transporttest.RefusesLogin {
				c.Password = "wrong"
			}
		})
	}
	hop := transporttest.NewHop(tb, cfg)
	if b == transporttest.Unreachable {
		hop.Close()
	}
	s.Transport = dial(tb, hop, change...)
	s.Took = func() [][]string {
		var took [][]string
		for _, a := range hop.Accepted() {
			took = append(took, a.Recipients)
		}
		return took
	}
	return s
}
