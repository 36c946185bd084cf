package api

import (
	"context"
	"net/http"
	"slices"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/accept"
	"github.com/postledger/postledger/internal/settle"
)

// resolveRequest decides about unconfirmed deliveries.
type resolveRequest struct {
	Action string         `json:"action" enum:"sent,resend" doc:"sent: they count as sent. resend: the same deliveries leave again, with the Message-ID and Date they had; a recipient may get a second copy."`
	Filter DecisionFilter `json:"filter" doc:"Which; of those it chooses, only unconfirmed ones are decided about."`
}

type resolvedView struct {
	Resolved  int  `json:"resolved" doc:"Deliveries that were moved."`
	Unchanged int  `json:"unchanged" doc:"Deliveries that may not move: somebody wished to cancel them, or they were decided about meanwhile."`
	More      bool `json:"more" doc:"The request took too long for all that the filter chooses: repeat it."`
}

func (v resolvedView) status() int {
	if v.More {
		return http.StatusAccepted
	}
	return http.StatusOK
}

func (s *server) resolveRoute() {
	write(s, route{
		method: http.MethodPost, path: "/v1/deliveries/resolve", id: "resolve-deliveries", tag: tagDeliveries,
		summary: "Resolve unconfirmed deliveries",
		text: "The final dot of an unconfirmed delivery left and no answer is known: only a person who knows more can say whether it was taken. " +
			"The answer is 202 when there is more to do.",
		operator: postledger.ScopeAdmin, action: "deliveries.resolve",
		responses: map[string]string{"202": "There is more: repeat the request"},
		codes:     []Code{codeBadInput, codeFilterTooBroad},
	}, s.resolve)
}

// doubts are the reasons of unconfirmed deliveries. Another one would choose
// nothing, and is more likely a mistake.
var doubts = []postledger.Reason{postledger.ReasonNoAnswer, postledger.ReasonWorkerLost, postledger.ReasonRestored}

func (s *server) resolve(ctx context.Context, c *call, _ *struct{}, body *resolveRequest) (resolvedView, error) {
	var decide func(context.Context) (settle.Decided, error)
	f, err := body.Filter.filter(ctx, s, c)
	if err == nil && f.Reason != "" && !slices.Contains(doubts, f.Reason) {
		err = field("reason", accept.RuleUnknown, "is not a reason of unconfirmed deliveries: no_answer, worker_lost or restored")
	}
	if err != nil {
		p := problemOf(err)
		for i := range p.Errors {
			p.Errors[i].Field = memberPath("filter", p.Errors[i].Field, true)
		}
		return resolvedView{}, p
	}
	switch body.Action {
	case "sent":
		decide = func(ctx context.Context) (settle.Decided, error) { return s.Operator.ResolveSent(ctx, f, c.actor()) }
	case "resend":
		decide = func(ctx context.Context) (settle.Decided, error) { return s.Operator.Resend(ctx, f, c.actor()) }
	default:
		return resolvedView{}, field("action", accept.RuleUnknown, "is neither sent nor resend")
	}
	var d settle.Decided
	err = s.decide(ctx, c, "deliveries.resolve."+body.Action, "filter", "", func(ctx context.Context) (err error) {
		d, err = decide(ctx)
		return err
	})
	return resolvedView{d.Done, d.Unchanged, d.More}, err
}
