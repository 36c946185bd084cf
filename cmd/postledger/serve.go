package main

import (
	"os"

	"github.com/postledger/postledger/internal/app"
	"github.com/postledger/postledger/internal/app/killpoint"
)

type serveCmd struct {
	Migrate bool `help:"Bring PostgreSQL's schema to this binary's version first; SQLite's is brought there in any case."`
}

func (c *serveCmd) Run(e *env) error {
	cfg, err := e.cli.config()
	if err != nil {
		return err
	}
	point, err := killpoint.Parse(os.Getenv(killpoint.Variable))
	if err != nil {
		return &usageError{err}
	}
	o := app.Options{Version: version, Migrate: c.Migrate, Log: app.NewLog(cfg.Log, e.stderr)}
	if point != nil {
		o.Kill = point.At
	}
	logRedis(o.Log)
	app.TuneHeap(cfg, os.Getenv)
	return app.New(*cfg, o).Run(e.ctx, nil)
}
