package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// call is one request, however often it is tried.
type call struct {
	// op says what it is for, in errors.
	op     string
	method string
	// path is escaped already and begins with a slash.
	path  string
	query url.Values
	// header has what this call adds.
	header http.Header
	// accept is a media type that the call prefers to JSON.
	accept string
	// key is the idempotency key of a call that has one.
	key string
	// repeatable: doing it twice does no harm.
	repeatable bool
	// in is the JSON to send. body, if set, makes the body of each try instead.
	in   any
	body func() (content, error)
	// out takes the JSON of the answer; nil ignores it.
	out any
}

// content is the body of one try.
type content interface {
	io.ReadCloser
	contentType() string
	// length is -1 when it is not known.
	length() int64
	// settle closes the content, waits until nobody reads it any more, or ctx
	// has ended, and returns the content's own error, if that is what failed.
	settle(ctx context.Context) error
}

// jsonContent is JSON in memory.
type jsonContent struct{ *bytes.Reader }

func (jsonContent) Close() error                 { return nil }
func (jsonContent) contentType() string          { return "application/json" }
func (j jsonContent) length() int64              { return j.Size() }
func (jsonContent) settle(context.Context) error { return nil }

// get is a call that reads.
func get(op, path string) *call {
	return &call{op: op, method: http.MethodGet, path: path, repeatable: true}
}

// at is the path of one thing: "/v1/messages" and its id.
func at(path, id string) string { return path + "/" + url.PathEscape(id) }

// ask carries out a call whose answer is a T.
func ask[T any](ctx context.Context, c *Client, cl *call) (*T, error) {
	var out T
	cl.out = &out
	if err := c.do(ctx, cl); err != nil {
		return nil, err
	}
	return &out, nil
}

// do carries out a call and reads its answer whole. Repeating covers the
// reading: an answer that breaks off is none.
func (c *Client) do(ctx context.Context, cl *call) error {
	return c.repeat(ctx, cl, func() error {
		a, err := c.try(ctx, cl)
		if err != nil {
			return err
		}
		defer a.Close()
		return a.decode(cl)
	})
}

// stream carries out a call and leaves the answer's body to the caller.
func (c *Client) stream(ctx context.Context, cl *call) (*answer, error) {
	var a *answer
	err := c.repeat(ctx, cl, func() (err error) {
		a, err = c.try(ctx, cl)
		return err
	})
	return a, err
}

// repeat tries as often as the policy says.
func (c *Client) repeat(ctx context.Context, cl *call, try func() error) error {
	if cl.in != nil {
		text, err := encode(cl.in)
		if err != nil {
			return fmt.Errorf("%s: %w", cl.op, err)
		}
		cl.body = func() (content, error) { return jsonContent{bytes.NewReader(text)}, nil }
	}
	var last error
	for tries := 1; ; tries++ {
		err := try()
		if err == nil {
			return nil
		}
		var once *OnceError
		if last != nil && errors.As(err, &once) {
			once.Err = last
			return once
		}
		last = cl.failure(ctx, err, tries)
		asked, ok := passing(err, cl.repeatable)
		if !ok || ctx.Err() != nil {
			return last
		}
		pause, ok := c.retry.pause(tries, asked)
		if !ok || !rest(ctx, pause) {
			return last
		}
	}
}

// failure is what the caller gets to see of a try's error.
func (cl *call) failure(ctx context.Context, err error, tries int) error {
	var broken *brokenError
	if !errors.As(err, &broken) {
		return err
	}
	cause := broken.err
	// A *url.Error repeats the URL, which may hold an address; Op says what was
	// asked for.
	var u *url.Error
	if errors.As(cause, &u) {
		cause = u.Err
	}
	if ctx.Err() != nil {
		cause = context.Cause(ctx)
	}
	return &NoAnswerError{Op: cl.op, Key: cl.key, Tries: tries, Err: cause}
}
