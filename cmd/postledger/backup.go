package main

import (
	"fmt"

	"github.com/postledger/postledger/internal/app"
)

type backupCmd struct {
	Out string `help:"The file to make; it must not exist. Needed on SQLite." placeholder:"FILE"`
}

func (c *backupCmd) Run(e *env) error {
	cfg, err := e.cli.config()
	if err != nil {
		return err
	}
	if !cfg.Database.Embedded() {
		out := c.Out
		if out == "" {
			out = "postledger.dump"
		}
		_, err := fmt.Fprintf(e.stdout, "pg_dump --format=custom --file=%s '%s'\n# then copy the attachments: %s\n", out, cfg.Database.WithoutPassword(), cfg.Blobs)
		return err
	}
	if c.Out == "" {
		return usage("--out: is needed")
	}
	if err := app.BackupSQLite(e.ctx, cfg.Database.Path(), c.Out); err != nil {
		return err
	}
	fmt.Fprintf(e.stdout, "wrote %s\n", c.Out)
	_, err = fmt.Fprintf(e.stdout, "Copy the attachments after it: %s\nKeep the encryption key apart from both.\n"+
		"To put it back, stop the server and take %s away first, with its -wal and -shm; then see `postledger restored --help`.\n",
		cfg.Blobs, cfg.Database.Path())
	return err
}
