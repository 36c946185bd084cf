package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"

	"github.com/postledger/postledger"
)

// Suppression is an address that an app does not send to.
type Suppression struct {
	AppID postledger.ID `json:"app_id"`
	// Address is in its folded form: addresses that differ in spelling only are
	// one.
	Address string `json:"address"`
	Reason  string `json:"reason"`
	// Source is who put it there: app, operator, or a report.
	Source    string    `json:"source"`
	CreatedAt time.Time `json:"created_at"`
}

// Suppressions lists the addresses an app does not send to, in their order. An
// operator names the app; an app's key sees its own and gives the zero id.
// Errors: ErrBadInput, ErrAppUnknown; scope read, or admin for operators.
func (c *Client) Suppressions(ctx context.Context, app postledger.ID) iter.Seq2[Suppression, error] {
	p := parameters{}
	p.id("app", app)
	p.size(maxPage)
	return pagesBy[Suppression](ctx, c, "after", "list suppressions", "/v1/suppressions", url.Values(p))
}

// Suppress puts an address on an app's list: nothing is sent to it any more,
// also of what waits already. The reason is for people, at most 255 bytes. An
// operator names the app; an app's key gives the zero id. Errors: ErrBadInput,
// ErrAppUnknown; scope send, or admin for operators.
func (c *Client) Suppress(ctx context.Context, app postledger.ID, address, reason string) error {
	in := struct {
		App     postledger.ID `json:"app,omitzero"`
		Address string        `json:"address"`
		Reason  string        `json:"reason"`
	}{app, address, reason}
	return c.do(ctx, &call{
		op: "suppress address", method: http.MethodPut, path: "/v1/suppressions", repeatable: true, in: in,
	})
}

// Unsuppress takes an address off an app's list. It is not repeated by itself
// when its answer is lost: ErrSuppressionUnknown would say nothing then. Errors:
// ErrBadInput, ErrAppUnknown, ErrSuppressionUnknown; scope send, or admin for
// operators.
func (c *Client) Unsuppress(ctx context.Context, app postledger.ID, address string) error {
	p := parameters{"address": {address}}
	p.id("app", app)
	return c.do(ctx, &call{
		op: "unsuppress address", method: http.MethodDelete, path: "/v1/suppressions", query: url.Values(p),
	})
}
