package api

import (
	"context"
	"net/http"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/accept"
)

// testRequest asks for a test message.
type testRequest struct {
	App postledger.ID `json:"app" doc:"The app in whose name it is sent; it must be allowed to use the profile."`
	To  string        `json:"to" doc:"One address." example:"ada@example.org"`
}

// testView is what became of a test message.
type testView struct {
	MessageID postledger.ID `json:"message_id"`
	Settled   bool          `json:"settled" doc:"The outcome is known; else it is still being tried."`
	Delivery  DeliveryView  `json:"delivery"`
	Events    []eventView   `json:"events"`
}

// testWait is how long the answer waits for the wire.
const testWait = 15 * time.Second

func (s *server) testProfileRoute() {
	rt := admin(http.MethodPost, "/v1/profiles/{profile}/test", "test-profile", "Send a test message",
		"A real message, accepted and sent like any other. The answer comes when its outcome is known, or after 15 seconds.")
	rt.unhurried = true
	rt.codes = []Code{codeBadInput, codeProfileUnknown, codeProfileRemoved, Code(accept.CodeNotAllowed), codeQuota}
	write(s, rt, s.testProfile)
}

func (s *server) testProfile(ctx context.Context, c *call, in *profileInput, body *testRequest) (testView, error) {
	p, err := s.profile(ctx, in.Profile)
	if err != nil {
		return testView{}, err
	}
	if body.App.IsZero() {
		return testView{}, field("app", accept.RuleRequired, "is missing")
	}
	if _, err := s.Ledger.AppByID(ctx, body.App); err != nil {
		return testView{}, err
	}
	caller := accept.Caller{App: body.App, RequestID: c.requestID}
	rec, err := s.Acceptor.Accept(ctx, caller, &accept.Request{
		Profile: p.Name, To: []accept.Recipient{{Address: body.To}},
		Subject: "Test of the profile " + p.Name,
		Text:    "This message was sent by Postledger to test the profile " + p.Name + ".\nNothing needs to be done.\n",
		Actor:   postledger.Actor{Type: "operator", ID: c.key.ID.String()},
	})
	if err != nil {
		return testView{}, err
	}
	e := c.profileAudit(s, "profile.test", &p)
	e.AppID, e.Detail = body.App, "message="+rec.MessageID.String()
	s.append(ctx, e)
	waiting, cancel := context.WithTimeout(ctx, testWait)
	defer cancel()
	_ = s.Waiter.Wait(waiting, rec.MessageID) // whatever ended the wait, the row says how far it is
	v, err := s.Ledger.MessageByID(ctx, body.App, rec.MessageID)
	if err != nil {
		return testView{}, err
	}
	d := &v.Deliveries[0]
	return testView{rec.MessageID, settled(v.Summary), viewDelivery(d), viewEvents(v.Events[d.ID])}, nil
}
