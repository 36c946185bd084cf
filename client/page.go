package client

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"net/url"
)

// maxPage is the most items that a page may have.
const maxPage = 1000

// page is one answer of a list.
type page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next"`
}

// pages yields a list item by item and asks for a page when the one before was
// used up. It ends with the first error. A page may be empty and still not be
// the last one: the server bounds what it reads for one.
func pages[T any](ctx context.Context, c *Client, op, path string, query url.Values) iter.Seq2[T, error] {
	return pagesBy[T](ctx, c, "cursor", op, path, query)
}

// pagesBy is pages for a list whose place is named otherwise.
func pagesBy[T any](ctx context.Context, c *Client, place, op, path string, query url.Values) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		q := maps.Clone(query)
		if q == nil {
			q = url.Values{}
		}
		for {
			cl := get(op, path)
			cl.query = q
			p, err := ask[page[T]](ctx, c, cl)
			if err == nil && p.Next != "" && p.Next == q.Get(place) {
				err = fmt.Errorf("%s: the list does not go on: a page names itself as the next one", op)
			}
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range p.Items {
				if !yield(item, nil) {
					return
				}
			}
			if p.Next == "" {
				return
			}
			q.Set(place, p.Next)
		}
	}
}
