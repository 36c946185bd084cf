package main

import (
	"fmt"
	"log/slog"

	"github.com/postledger/postledger/internal/app"
	"github.com/postledger/postledger/internal/app/config"
)

type checkConfigCmd struct{}

// Run also opens the files that hold encryption keys and credentials, and what the
// sources name, so that a wrong mode, a damaged key or a floor that cannot be read
// shows before a restart does.
func (c *checkConfigCmd) Run(e *env) error {
	cfg, err := e.cli.config()
	if err != nil {
		return err
	}
	if !cfg.EncryptionKey.IsZero() || len(cfg.OlderEncryptionKeys) > 0 {
		if _, err := cfg.Keyring(); err != nil {
			return &usageError{err}
		}
	} else if !cfg.Database.Embedded() {
		return &usageError{config.ErrNoKey}
	}
	if cfg.BlobsInS3() {
		if _, err := cfg.S3Store(); err != nil {
			return &usageError{err}
		}
	}
	if cfg.Jobs.Driver == config.RedisDriver {
		if _, err := cfg.Jobs.RedisOptions(); err != nil {
			return &usageError{err}
		}
	}
	if _, err := app.NewSources(cfg, slog.New(slog.DiscardHandler)); err != nil {
		return &usageError{err}
	}
	shown, err := cfg.Show()
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(e.stdout, shown)
	return err
}
