package api

import (
	"context"
	"net/http"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/accept"
)

// call is one request with what is known of its caller. It is the only thing
// this package puts into a context, because huma hands a context and nothing
// else from middleware to handler; handlers get it as an argument.
type call struct {
	requestID string
	w         http.ResponseWriter
	r         *http.Request
	route     *route
	// key and app are the caller's; app is zero for an operator.
	key postledger.APIKey
	app postledger.App
	// types is the server's knowledge of its requests.
	types *members
	// stall is how long the body may stop coming.
	stall time.Duration
	// memory is what the body holds of the server's budget.
	memory *reservation
	// problem is the refusal that was answered, for the access log.
	problem *Problem
}

type callKey struct{}

func withCall(ctx context.Context, c *call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

// callOf is the call of a request that came through the server's handler.
func callOf(ctx context.Context) *call { return ctx.Value(callKey{}).(*call) }

func (c *call) operator() bool { return c.key.AppID.IsZero() }

// only is the app whose rows the caller may see: its own; or, for an operator,
// the one that was asked for, and zero for all.
func (c *call) only(asked postledger.ID) postledger.ID {
	if c.operator() {
		return asked
	}
	return c.key.AppID
}

// foreign reports whether an app's key asks for another app, which answers
// exactly like one that does not exist (invariant 18).
func (c *call) foreign(asked postledger.ID) bool {
	return !asked.IsZero() && !c.operator() && asked != c.key.AppID
}

// caller is who the step that accepts is told of.
func (c *call) caller() accept.Caller {
	return accept.Caller{App: c.key.AppID, APIKey: c.key.ID, RequestID: c.requestID}
}

// actor names the caller in a delivery's history.
func (c *call) actor() string {
	if c.operator() {
		return "operator key " + c.key.ID.String()
	}
	return "app key " + c.key.ID.String()
}

// audit begins a line of the audit trail about this request.
func (c *call) audit(id postledger.ID, action, targetType, target string) postledger.AuditEvent {
	return postledger.AuditEvent{
		ID: id, AppID: c.key.AppID, APIKeyID: c.key.ID, RequestID: c.requestID,
		ActorType: "api_key", ActorID: c.key.ID.String(),
		Action: action, TargetType: targetType, TargetID: target, Result: "done",
	}
}
