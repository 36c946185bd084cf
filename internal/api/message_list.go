package api

import (
	"context"
	"net/http"

	"github.com/postledger/postledger"
)

type listMessagesInput struct {
	FilterInput
	PagingInput
}

func (s *server) listMessagesRoute() {
	read(s, route{
		method: http.MethodGet, path: "/v1/messages", id: "list-messages", tag: tagMessages,
		summary: "List messages", text: "Newest first, with the state of each.",
		app: postledger.ScopeRead, operator: postledger.ScopeAdmin, codes: []Code{codeBadInput, codeFilterTooBroad},
	}, s.listMessages)
}

func (s *server) listMessages(ctx context.Context, c *call, in *listMessagesInput) (pageView[MessageView], error) {
	var none pageView[MessageView]
	f, err := s.filter(ctx, c, &in.FilterInput)
	if err != nil {
		return none, err
	}
	p, err := s.Ledger.Messages(ctx, f, in.paging())
	if err != nil {
		return none, err
	}
	ids := make([]postledger.ID, len(p.Items))
	for i := range p.Items {
		ids[i] = p.Items[i].ID
	}
	sums, err := s.Ledger.Summaries(ctx, ids)
	if err != nil {
		return none, err
	}
	return viewPage(p, func(m *postledger.Message) MessageView { return viewMessage(m, sums[m.ID]) }), nil
}
