package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
)

// maxAnswer bounds an answer that is kept in memory. The largest is a message's
// content: 10 MiB of text, up to six times as much where JSON escapes it.
const maxAnswer = 64 << 20

// try is one request up to the head of its answer, which is a success.
func (c *Client) try(ctx context.Context, cl *call) (*answer, error) {
	watched, w := watch(ctx, c.stall)
	req, body, err := c.request(watched, cl, w)
	if err != nil {
		w.stop()
		return nil, err
	}
	if body != nil {
		// net/http waits for a read of the body also when the context has ended.
		defer context.AfterFunc(watched, func() { body.Close() })()
	}
	resp, err := c.http.Do(req)
	if err != nil {
		err = w.cause(err)
		w.stop()
		// The connection may read the body still, after Do has returned; and
		// what failed may be the content itself.
		if body != nil {
			if own := body.settle(ctx); own != nil && ctx.Err() == nil {
				return nil, fmt.Errorf("%s: %w", cl.op, own)
			}
		}
		return nil, &brokenError{err}
	}
	a := &answer{resp: resp, w: w, settle: func() {
		if body != nil {
			_ = body.settle(ctx) // there is an answer: what of it was not read does not matter
		}
	}}
	w.pause()
	if resp.StatusCode/100 != 2 {
		defer a.Close()
		text, _ := io.ReadAll(io.LimitReader(a, maxProblem)) // the status alone says enough
		return nil, refusal(cl, resp, text)
	}
	return a, nil
}

// request makes the HTTP request of one try.
func (c *Client) request(ctx context.Context, cl *call, w *watcher) (*http.Request, content, error) {
	target := c.base.Scheme + "://" + c.base.Host + c.base.EscapedPath() + cl.path
	if len(cl.query) > 0 {
		target += "?" + cl.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, cl.method, target, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: make request: %w", cl.op, err)
	}
	for name, values := range cl.header {
		req.Header[name] = values
	}
	accept := "application/json, application/problem+json"
	if cl.accept != "" {
		accept = cl.accept + ", " + accept
	}
	req.Header.Set("Accept", accept)
	req.Header.Set("Authorization", "Bearer "+c.key())
	req.Header.Set("User-Agent", c.agent)
	if cl.body == nil {
		return req, nil, nil
	}
	body, err := cl.body()
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", cl.op, err)
	}
	req.Body, req.ContentLength = &progress{body, w}, body.length()
	req.Header.Set("Content-Type", body.contentType())
	return req, body, nil
}

// answer is the body of a response. Closing it ends the try.
type answer struct {
	resp   *http.Response
	w      *watcher
	settle func()
}

func (a *answer) Read(p []byte) (int, error) {
	a.w.progress()
	n, err := a.resp.Body.Read(p)
	a.w.pause() // how fast the answer is taken is the caller's business
	if err != nil && !errors.Is(err, io.EOF) {
		err = a.w.cause(err)
	}
	return n, err
}

func (a *answer) Close() error {
	err := a.resp.Body.Close()
	a.w.stop()
	a.settle()
	return err
}

// decode reads the answer to its end: one that is cut is none, and one that is
// not ours says nothing of what became of the request.
func (a *answer) decode(cl *call) error {
	text, err := io.ReadAll(io.LimitReader(a, maxAnswer+1))
	if err != nil {
		return &brokenError{fmt.Errorf("read answer: %w", err)}
	}
	if cl.out == nil {
		return nil
	}
	media, _, _ := mime.ParseMediaType(a.resp.Header.Get("Content-Type"))
	ours := media == "application/json" || strings.HasSuffix(media, "+json")
	if len(text) <= maxAnswer && ours && json.Unmarshal(text, cl.out) == nil {
		return nil
	}
	e := &Error{
		Op: cl.op, Key: cl.key, Status: a.resp.StatusCode, Title: "not an answer of Postledger",
		Detail: foreign(text), RequestID: a.resp.Header.Get("X-Request-ID"),
	}
	if len(text) > maxAnswer {
		e.Detail = fmt.Sprintf("larger than %d bytes", maxAnswer)
	}
	return e
}
