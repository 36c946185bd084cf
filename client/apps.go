package client

import (
	"context"
	"net/http"
	"time"

	"github.com/postledger/postledger"
)

// list is one that is short enough to come whole.
type list[T any] struct {
	Items []T `json:"items"`
}

// all carries out a call whose answer is such a list.
func all[T any](ctx context.Context, c *Client, cl *call) ([]T, error) {
	l, err := ask[list[T]](ctx, c, cl)
	if err != nil {
		return nil, err
	}
	return l.Items, nil
}

// App is a client application.
type App struct {
	ID        postledger.ID `json:"id"`
	Name      string        `json:"name"`
	CreatedAt time.Time     `json:"created_at"`
	// RemovedAt is zero while it is there.
	RemovedAt time.Time `json:"removed_at"`
}

// Apps lists the apps by name, with those that were removed. Scope admin.
func (c *Client) Apps(ctx context.Context) ([]App, error) {
	return all[App](ctx, c, get("list apps", "/v1/apps"))
}

// App reads an app. Errors: ErrAppUnknown; scope admin.
func (c *Client) App(ctx context.Context, id postledger.ID) (*App, error) {
	return ask[App](ctx, c, get("read app", at("/v1/apps", id.String())))
}

// CreateApp makes an app. Its name has 1 to 63 of a-z, 0-9, '.', '_' and '-',
// and begins with a letter or digit. It is not repeated by itself when its
// answer is lost: ErrAppExists would say nothing then. Errors: ErrBadInput,
// ErrAppExists; scope admin.
func (c *Client) CreateApp(ctx context.Context, name string) (*App, error) {
	in := struct {
		Name string `json:"name"`
	}{name}
	return ask[App](ctx, c, &call{op: "create app", method: http.MethodPost, path: "/v1/apps", in: in})
}

// RemoveApp removes an app: its keys are refused from now on, and what waits is
// canceled. Its messages stay until retention removes them. Errors:
// ErrAppUnknown; scope admin.
func (c *Client) RemoveApp(ctx context.Context, id postledger.ID) (*App, error) {
	return ask[App](ctx, c, &call{
		op: "remove app", method: http.MethodDelete, path: at("/v1/apps", id.String()), repeatable: true,
	})
}
