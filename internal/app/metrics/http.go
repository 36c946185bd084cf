package metrics

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// HTTP counts and times requests by their route, as the OpenAPI document has
// them. What is no route of it, whatever its path, is counted as one.
func (m *Metrics) HTTP(next http.Handler, document []byte) (http.Handler, error) {
	routes, err := routesOf(document)
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		_, route := routes.Handler(r)
		if route == "" {
			route = "none"
		}
		s := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		defer func() {
			m.httpRequests.WithLabelValues(route, strconv.Itoa(s.status)).Inc()
			m.httpSeconds.WithLabelValues(route).Observe(time.Since(began).Seconds())
		}()
		next.ServeHTTP(s, r)
	}), nil
}

// routesOf is a mux that only knows patterns.
func routesOf(document []byte) (*http.ServeMux, error) {
	var doc struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(document, &doc); err != nil {
		return nil, fmt.Errorf("read routes: %w", err)
	}
	mux := http.NewServeMux()
	for path, methods := range doc.Paths {
		for method := range methods {
			switch method = strings.ToUpper(method); method {
			case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
				mux.Handle(method+" "+path, http.NotFoundHandler())
			}
		}
	}
	return mux, nil
}

// statusWriter notes the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
	wrote  bool
}

func (w *statusWriter) WriteHeader(status int) {
	// Informational answers (1xx) come before the one that counts.
	if !w.wrote && status >= 200 {
		w.status, w.wrote = status, true
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(b []byte) (int, error) {
	w.wrote = true
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
