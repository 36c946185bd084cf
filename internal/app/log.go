package app

import (
	"io"
	"log/slog"

	"github.com/postledger/postledger/internal/app/config"
)

// NewLog makes the process's logger. c has been checked.
func NewLog(c config.Log, w io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.Level)) // Check knows the levels
	o := &slog.HandlerOptions{Level: level}
	if c.Format == "text" {
		return slog.New(slog.NewTextHandler(w, o))
	}
	return slog.New(slog.NewJSONHandler(w, o))
}
