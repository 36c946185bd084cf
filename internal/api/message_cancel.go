package api

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/accept"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/settle"
)

// canceledView says what a cancel did.
type canceledView struct {
	Canceled  int  `json:"canceled" doc:"Deliveries that were waiting and are canceled; their quota is given back."`
	OnTheWire int  `json:"on_the_wire" doc:"Deliveries that are being sent, or were and are unconfirmed. The wish is noted: the wire's outcome wins; what nobody accepted is canceled then, and nothing unconfirmed is sent again."`
	Unchanged int  `json:"unchanged" doc:"Deliveries that had settled."`
	More      bool `json:"more" doc:"The request took too long for all that the filter chooses: repeat it."`
}

func (v canceledView) status() int {
	if v.OnTheWire > 0 || v.More {
		return http.StatusAccepted
	}
	return http.StatusOK
}

func (s *server) cancelRoutes() {
	rt := func(path, id, summary, text, action string) route {
		return route{
			method: http.MethodPost, path: path, id: id, tag: tagMessages, summary: summary,
			text: text + "\n\nThe answer is 202 when some of it was on the wire already: `on_the_wire` counts them.",
			app:  postledger.ScopeSend, operator: postledger.ScopeAdmin, action: action,
			responses: map[string]string{"202": "Some deliveries are on the wire"},
		}
	}
	one := rt("/v1/messages/{id}/cancel", "cancel-message", "Cancel a message", "Takes back what has not left yet.", "message.cancel")
	one.codes = []Code{codeMessageUnknown}
	read(s, one, s.cancelMessage)
	batch := rt("/v1/batches/{id}/cancel", "cancel-batch", "Cancel a batch", "Takes back what has not left yet of all its messages.", "batch.cancel")
	batch.codes = []Code{codeMessageUnknown}
	read(s, batch, s.cancelBatch)
	many := rt("/v1/messages/cancel", "cancel-messages", "Cancel by filter",
		"Takes back what has not left yet of all deliveries that the filter chooses. A filter that chooses nothing in particular is refused, unless `all` is true.", "messages.cancel")
	many.codes = []Code{codeBadInput, codeFilterTooBroad}
	write(s, many, s.cancelMany)
}

func (s *server) cancelMessage(ctx context.Context, c *call, in *MessageInput) (canceledView, error) {
	v, err := s.Ledger.MessageByID(ctx, c.key.AppID, in.ID)
	if err != nil {
		return canceledView{}, err
	}
	return s.cancel(ctx, c, ledger.Filter{App: v.AppID, Message: in.ID}, "message.cancel", "message", in.ID.String())
}

type batchInput struct {
	ID postledger.ID `path:"id" doc:"The batch."`
}

func (s *server) cancelBatch(ctx context.Context, c *call, in *batchInput) (canceledView, error) {
	f := ledger.Filter{App: c.key.AppID, Batch: in.ID}
	// A batch exists as long as a message of it does.
	p, err := s.Ledger.Messages(ctx, f, ledger.Paging{Limit: 1})
	if err != nil {
		return canceledView{}, err
	}
	if len(p.Items) == 0 {
		return canceledView{}, problem(codeMessageUnknown, "no message is known of this batch")
	}
	return s.cancel(ctx, c, f, "batch.cancel", "batch", in.ID.String())
}

// DecisionFilter chooses the deliveries of a decision. It fails closed: a
// filter that says nothing chooses nothing (invariant 11).
type DecisionFilter struct {
	All       bool            `json:"all,omitempty" doc:"Needed when nothing else narrows the filter: all that the caller may see."`
	App       postledger.ID   `json:"app,omitzero" doc:"One app; for operators."`
	Profile   string          `json:"profile,omitempty" given:"nonempty" doc:"A profile's name or id."`
	IDs       []postledger.ID `json:"ids,omitempty" given:"nonempty" doc:"Deliveries, at most 1,000."`
	Message   postledger.ID   `json:"message,omitzero"`
	Batch     postledger.ID   `json:"batch,omitzero"`
	RefScope  string          `json:"ref_scope,omitempty" given:"nonempty"`
	RefID     string          `json:"ref_id,omitempty" given:"nonempty"`
	Lane      postledger.Lane `json:"lane,omitempty" given:"nonempty" enum:"immediate,bulk"`
	Since     time.Time       `json:"since,omitzero" doc:"Accepted at this time or later."`
	Until     time.Time       `json:"until,omitzero" doc:"Accepted before this time."`
	Recipient string          `json:"recipient,omitempty" given:"nonempty" doc:"A whole address, in any spelling."`
	// Reason alone narrows: what is in no state for this reason is not chosen.
	Reason postledger.Reason `json:"reason,omitempty" given:"nonempty" doc:"Why the deliveries are in their state, such as restored."`
}

// filter makes the ledger's filter for this caller.
func (d *DecisionFilter) filter(ctx context.Context, s *server, c *call) (ledger.Filter, error) {
	narrow := len(d.IDs) > 0 || d.Profile != "" || !d.Message.IsZero() || !d.Batch.IsZero() || d.RefID != "" ||
		d.Lane != "" || !d.Since.IsZero() || !d.Until.IsZero() || d.Recipient != "" || d.Reason != "" || (c.operator() && !d.App.IsZero())
	if !narrow && !d.All {
		return ledger.Filter{}, field("", ruleEmpty, "the filter chooses nothing in particular: name something, or say all")
	}
	if d.Reason != "" && !slices.Contains(postledger.Reasons(), d.Reason) {
		return ledger.Filter{}, field("reason", accept.RuleUnknown, "is not a reason that a delivery can have")
	}
	in := FilterInput{
		App: d.App, Profile: d.Profile, Batch: d.Batch, Since: d.Since, Until: d.Until,
		RefScope: d.RefScope, RefID: d.RefID, Lane: string(d.Lane), Recipient: d.Recipient,
	}
	f, err := s.filter(ctx, c, &in)
	f.IDs, f.Message, f.Reason = d.IDs, d.Message, d.Reason
	return f, err
}

func (s *server) cancelMany(ctx context.Context, c *call, _ *struct{}, body *DecisionFilter) (canceledView, error) {
	f, err := body.filter(ctx, s, c)
	if err != nil {
		return canceledView{}, err
	}
	return s.cancel(ctx, c, f, "messages.cancel", "filter", "")
}

// cancel writes the decision's line first: what was decided stands in the audit
// trail also when carrying it out is cut short.
func (s *server) cancel(ctx context.Context, c *call, f ledger.Filter, action, targetType, target string) (canceledView, error) {
	reason := postledger.ReasonCanceledByApp
	if c.operator() {
		reason = postledger.ReasonCanceledByOperator
	}
	var d settle.Decided
	err := s.decide(ctx, c, action, targetType, target, func(ctx context.Context) (err error) {
		d, err = s.Operator.Cancel(ctx, f, reason, c.actor())
		return err
	})
	return canceledView{d.Done, d.Wished, d.Unchanged, d.More}, err
}

// decisionTimeout bounds what one request of a decision carries out; the answer
// says that there is more.
const decisionTimeout = 20 * time.Second

func (s *server) decide(ctx context.Context, c *call, action, targetType, target string, carryOut func(context.Context) error) error {
	if err := s.Ledger.AppendAudit(ctx, c.audit(s.Ledger.NewID(), action, targetType, target)); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, decisionTimeout)
	defer cancel()
	return carryOut(ctx)
}
