package api

import (
	"context"
	"net/http"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
)

type listDeliveriesInput struct {
	FilterInput
	SearchInput
	PagingInput
}

// listedDelivery is a delivery with what a list shows of its message.
type listedDelivery struct {
	DeliveryView
	Subject string        `json:"subject"`
	BatchID postledger.ID `json:"batch_id,omitzero"`
	Ref     *refRequest   `json:"ref,omitempty"`
}

func (s *server) listDeliveriesRoute() {
	read(s, route{
		method: http.MethodGet, path: "/v1/deliveries", id: "list-deliveries", tag: tagDeliveries,
		summary: "List deliveries", text: "One row for each recipient, newest first. Deliveries of a batch or a reference come message by message.",
		app: postledger.ScopeRead, operator: postledger.ScopeAdmin, codes: []Code{codeBadInput, codeFilterTooBroad},
	}, s.listDeliveries)
}

func (s *server) listDeliveries(ctx context.Context, c *call, in *listDeliveriesInput) (pageView[listedDelivery], error) {
	f, err := s.filter(ctx, c, &in.FilterInput)
	if err == nil {
		err = in.add(&f)
	}
	if err != nil {
		return pageView[listedDelivery]{}, err
	}
	p, err := s.Ledger.Deliveries(ctx, f, in.paging())
	if err != nil {
		return pageView[listedDelivery]{}, err
	}
	return viewPage(p, func(d *ledger.ListedDelivery) listedDelivery {
		v := listedDelivery{DeliveryView: viewDelivery(&d.Delivery), Subject: d.Subject, BatchID: d.BatchID}
		if d.RefID != "" {
			v.Ref = &refRequest{d.RefScope, d.RefID}
		}
		return v
	}), nil
}
