package api

import (
	"context"
	"net/http"

	"github.com/postledger/postledger"
)

type MessageInput struct {
	ID postledger.ID `path:"id" doc:"The message."`
}

// wholeMessageView is a message with all that is known of it but its content.
type wholeMessageView struct {
	MessageView
	Deliveries []deliveryHistory `json:"deliveries"`
}

type deliveryHistory struct {
	DeliveryView
	Events []eventView `json:"events" doc:"Deferrals, refusals, reports and decisions, in order of time. A plain success writes none."`
}

func (s *server) getMessageRoute() {
	read(s, route{
		method: http.MethodGet, path: "/v1/messages/{id}", id: "get-message", tag: tagMessages,
		summary: "See a message", text: "With its deliveries, their attempts and their history.",
		app: postledger.ScopeRead, operator: postledger.ScopeAdmin, codes: []Code{codeMessageUnknown},
	}, s.getMessage)
}

func (s *server) getMessage(ctx context.Context, c *call, in *MessageInput) (wholeMessageView, error) {
	v, err := s.Ledger.MessageByID(ctx, c.key.AppID, in.ID)
	if err != nil {
		return wholeMessageView{}, err
	}
	out := wholeMessageView{MessageView: viewMessage(&v.Message, v.Summary), Deliveries: make([]deliveryHistory, 0, len(v.Deliveries))}
	for i := range v.Deliveries {
		d := &v.Deliveries[i]
		out.Deliveries = append(out.Deliveries, deliveryHistory{viewDelivery(d), viewEvents(v.Events[d.ID])})
	}
	return out, nil
}
