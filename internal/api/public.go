package api

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// Version is that of the HTTP API: minor versions add, major ones may take away.
const Version = "1.0.0"

const (
	tagMessages       = "Messages"
	tagDeliveries     = "Deliveries"
	tagAudiences      = "Audiences"
	tagWebhooks       = "Webhooks"
	tagAdministration = "Administration"
	tagJobs           = "Background jobs"
	tagServer         = "Server"
)

func tags() []*huma.Tag {
	return []*huma.Tag{
		{Name: tagMessages, Description: "Send messages and see what became of them."},
		{Name: tagDeliveries, Description: "One row for each recipient: find, cancel, resolve, count."},
		{Name: tagAudiences, Description: "Saved lenses that yield recipients: check, count and see whom one would reach."},
		{Name: tagWebhooks, Description: "Endpoints that apps are told of their deliveries at."},
		{Name: tagAdministration, Description: "Apps, API keys, profiles, grants, suppressions, settings and the audit trail."},
		{Name: tagJobs, Description: "Work that follows from mail and the clock, for operators. No mail waits for it."},
		{Name: tagServer, Description: "This document, and whether the server works. No key is needed."},
	}
}

const introduction = `Postledger sends the mail of a team's own applications and can account for every recipient.

Requests carry ` + "`Authorization: Bearer pl_…`" + `. Every refusal is a problem document (RFC 9457) with a stable ` + "`code`" + `.
A request is understood whole or refused: unknown or repeated members and parameters, empty parameters and nulls are errors that name the field.
Lists are newest first; a page's ` + "`next`" + ` is the ` + "`cursor`" + ` of the page after it.
Every answer has the header X-Request-Id, the caller's own if one was sent; it stands in the log and in the audit trail.`

type healthView struct {
	Status string `json:"status" enum:"ok,unavailable"`
}

func (s *server) publicRoutes() {
	read(s, route{
		method: http.MethodGet, path: "/healthz", id: "health", tag: tagServer,
		summary: "Whether the process lives", text: "It asks nobody else.",
	}, func(context.Context, *call, *struct{}) (healthView, error) { return healthView{"ok"}, nil })
	read(s, route{
		method: http.MethodGet, path: "/readyz", id: "ready", tag: tagServer,
		summary: "Whether the process can take and send mail", text: "The reason, if it cannot, is shown on the administration listener only.",
		codes: []Code{codeUnavailable},
	}, s.ready)
	s.mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		s.static(w, "application/json", s.document)
	})
	s.mux.HandleFunc("GET /docs", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Security-Policy", docsPolicy())
		s.static(w, "text/html; charset=utf-8", s.page)
	})
}

// readyTimeout bounds a look at readiness.
const readyTimeout = 5 * time.Second

func (s *server) ready(ctx context.Context, c *call, _ *struct{}) (healthView, error) {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if err := s.Readiness.Ready(ctx); err != nil {
		s.Log.WarnContext(ctx, "not ready", slog.String("request_id", c.requestID), slog.Any("error", err))
		return healthView{}, problem(codeUnavailable, "this process is not ready")
	}
	return healthView{"ok"}, nil
}

func (s *server) static(w http.ResponseWriter, media string, content []byte) {
	w.Header().Set("Content-Type", media)
	w.Header().Set("Cache-Control", "public, max-age=300")
	_, _ = w.Write(content) // the connection is gone: there is nobody to tell
}

// OpenAPI is the document of the API, rendered without a server.
func OpenAPI() ([]byte, error) { return build(Config{}).render() }

// render writes the document in a form that is the same for the same routes.
func (s *server) render() ([]byte, error) {
	text, err := s.api.OpenAPI().MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("render OpenAPI document: %w", err)
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		return nil, fmt.Errorf("render OpenAPI document: %w", err)
	}
	out, err := json.MarshalIndent(tree, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("render OpenAPI document: %w", err)
	}
	return append(out, '\n'), nil
}
