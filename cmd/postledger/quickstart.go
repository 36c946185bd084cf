package main

import (
	"os"

	"github.com/postledger/postledger/internal/app/quickstart"
)

type quickstartCmd struct {
	Keep bool `help:"Leave the server running."`
}

func (c *quickstartCmd) Run(e *env) error {
	return quickstart.Run(e.ctx, quickstart.Options{Version: version, Out: e.stdout, Keep: c.Keep, Program: os.Args[0]})
}
