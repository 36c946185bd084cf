package app

import (
	"encoding/json"
	"net/http"
	"net/http/pprof"
)

// adminHandler is what the administration listener answers, without login:
// metrics, what readiness consists of, and profiles of the process.
func (a *App) adminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", a.metrics.Handler())
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("ok\n"))
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		results, stopping := a.ready.detail(r.Context())
		answer := struct {
			Ready    bool     `json:"ready"`
			Stopping bool     `json:"stopping"`
			Worker   string   `json:"worker"`
			Checks   []Result `json:"checks"`
		}{!stopping, stopping, a.worker.ID().String(), results}
		for _, res := range results {
			answer.Ready = answer.Ready && res.Fault == ""
		}
		w.Header().Set("Content-Type", "application/json")
		if !answer.Ready {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		_ = enc.Encode(answer) // the client is gone
	})
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}
