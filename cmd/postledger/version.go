package main

import (
	"fmt"
	"runtime"

	"github.com/postledger/postledger/internal/ledger"
)

type versionCmd struct {
	JSON bool `name:"json" help:"Print JSON."`
}

func (c *versionCmd) Run(e *env) error {
	v := struct {
		Version string `json:"version"`
		Schema  int    `json:"schema"`
		Go      string `json:"go"`
		System  string `json:"system"`
	}{version, ledger.SchemaVersion, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
	if c.JSON {
		return printJSON(e.stdout, v)
	}
	_, err := fmt.Fprintf(e.stdout, "postledger %s (schema %d, %s, %s)\n", v.Version, v.Schema, v.Go, v.System)
	return err
}
