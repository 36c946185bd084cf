package main

import (
	"os"

	"github.com/postledger/postledger/internal/app/config"
)

// cli is the command line.
type cli struct {
	Config string `help:"Configuration file (default ${config_path}, if it is there)." env:"POSTLEDGER_CONFIG" placeholder:"FILE" type:"path"`

	Serve       serveCmd       `cmd:"" help:"Run the server."`
	CheckConfig checkConfigCmd `cmd:"" help:"Check the configuration and print what is in force, without secrets."`
	Migrate     migrateCmd     `cmd:"" help:"Change or show the database's schema."`
	Keys        keysCmd        `cmd:"" help:"Make, list and revoke API keys; make encryption keys."`
	Books       booksCmd       `cmd:"" help:"Compare what was written independently, directly in the database. Exit code 1 when anything differs."`
	Backup      backupCmd      `cmd:"" help:"Copy the embedded ledger while it is served, or print how to dump PostgreSQL."`
	Restored    restoredCmd    `cmd:"" help:"Mark what was open in a ledger that was restored from a backup."`
	Reseal      resealCmd      `cmd:"" help:"Seal profiles' secrets with the current encryption key."`
	Doctor      doctorCmd      `cmd:"" help:"Check everything a server needs: database, schema, keys, directories, clock, next hops."`
	Version     versionCmd     `cmd:"" help:"Print the version."`
}

// config loads the configuration; a fault in it is a usage error.
func (c *cli) config() (*config.Config, error) {
	cfg, err := config.Load(c.Config, os.Environ())
	if err != nil {
		return nil, &usageError{err}
	}
	return &cfg, nil
}
