package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
)

// lineMedia asks for an answer in lines of JSON.
const lineMedia = "application/x-ndjson"

// previewLine is one line of such an answer.
type previewLine struct {
	Progress *CountProgress  `json:"progress"`
	Result   *Preview        `json:"result"`
	Problem  json.RawMessage `json:"problem"`
}

var errNoResult = errors.New("the answer ended without a result")

// preview reads an answer in lines to its last one.
func (a *answer) preview(ctx context.Context, cl *call, progress func(CountProgress)) (*Preview, error) {
	media, _, _ := mime.ParseMediaType(a.resp.Header.Get("Content-Type"))
	if media != lineMedia {
		var p Preview
		cl.out = &p
		return &p, cl.lost(ctx, a.decode(cl))
	}
	lines := json.NewDecoder(io.LimitReader(a, maxAnswer))
	for {
		var line previewLine
		if err := lines.Decode(&line); err != nil {
			if errors.Is(err, io.EOF) {
				err = errNoResult
			}
			return nil, cl.lost(ctx, &brokenError{fmt.Errorf("read answer: %w", err)})
		}
		switch {
		case line.Result != nil:
			return line.Result, nil
		case line.Problem != nil:
			return nil, lateRefusal(cl, a.resp, line.Problem)
		case line.Progress != nil && progress != nil:
			progress(*line.Progress)
		}
	}
}

// lost is the error of an answer that broke off.
func (cl *call) lost(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	return cl.failure(ctx, err, 1)
}

// lateRefusal is a refusal that came after the answer had begun: its status stands
// in its document.
func lateRefusal(cl *call, resp *http.Response, document []byte) error {
	var status struct {
		Status int `json:"status"`
	}
	_ = json.Unmarshal(document, &status) // it is JSON, and 0 says that there was none
	late := *resp
	late.StatusCode = status.Status
	late.Header = resp.Header.Clone()
	late.Header.Set("Content-Type", "application/problem+json")
	return refusal(cl, &late, document)
}
