package main

import (
	"os"

	"github.com/postledger/postledger/internal/app/config"
)

// cli is the command line.
type cli struct {
	Config string `help:"Configuration file (default ${config_path}, if it is there)." env:"POSTLEDGER_CONFIG" placeholder:"FILE" type:"path"`

	Quickstart  quickstartCmd  `cmd:"" group:"server" help:"Show what it does, on a throwaway server that sends nothing."`
	Serve       serveCmd       `cmd:"" group:"server" help:"Run the server."`
	CheckConfig checkConfigCmd `cmd:"" group:"server" help:"Check the configuration and print what is in force, without secrets."`
	Doctor      doctorCmd      `cmd:"" group:"server" help:"Check everything a server needs: database, schema, keys, directories, clock, next hops."`

	Migrate  migrateCmd  `cmd:"" group:"database" help:"Change or show the database's schema."`
	Keys     keysCmd     `cmd:"" group:"database" help:"Make, list and revoke API keys; make encryption keys."`
	Books    booksCmd    `cmd:"" group:"database" help:"Compare what was written independently. Exit code 1 when anything differs."`
	Backup   backupCmd   `cmd:"" group:"database" help:"Copy the embedded ledger while it is served, or print how to dump PostgreSQL."`
	Restored restoredCmd `cmd:"" group:"database" help:"Mark what was open in a ledger that was restored from a backup."`
	Reseal   resealCmd   `cmd:"" group:"database" help:"Seal the secrets of profiles and webhooks with the current encryption key."`
	Sources  sourcesCmd  `cmd:"" group:"database" help:"Show and check the databases of applications that lenses read."`

	Send         sendCmd         `cmd:"" group:"client" help:"Send a message."`
	Batch        batchCmd        `cmd:"" group:"client" help:"Send a file of messages, one in JSON a line; can be stopped and repeated."`
	Messages     messagesCmd     `cmd:"" group:"client" help:"List, show, cancel, resend and resolve messages."`
	Deliveries   deliveriesCmd   `cmd:"" group:"client" help:"List deliveries."`
	Profiles     profilesCmd     `cmd:"" group:"client" help:"Administer sending identities."`
	Apps         appsCmd         `cmd:"" group:"client" help:"Administer apps."`
	Grants       grantsCmd       `cmd:"" group:"client" help:"Administer which app may use which profile."`
	Suppressions suppressionsCmd `cmd:"" group:"client" help:"Administer addresses that nothing is sent to."`
	Audience     audienceCmd     `cmd:"" group:"client" help:"Save, count and look at audiences: whom a lens on an application's database reaches."`
	Webhooks     webhooksCmd     `cmd:"" group:"client" help:"Administer endpoints that apps are told of their deliveries at."`
	Retention    retentionCmd    `cmd:"" group:"client" help:"Administer how long things are kept."`
	Jobs         jobsCmd         `cmd:"" group:"client" help:"Show and decide about background work."`
	Audit        auditCmd        `cmd:"" group:"client" help:"Read the audit trail."`
	Stats        statsCmd        `cmd:"" group:"client" help:"Count by hour."`

	Openapi openapiCmd `cmd:"" group:"other" name:"openapi" help:"Print the API's OpenAPI document."`
	Version versionCmd `cmd:"" group:"other" help:"Print the version."`

	Reference referenceCmd `cmd:"" hidden:"" help:"Print docs/commands.md."`
}

// config loads the configuration; a fault in it is a usage error.
func (c *cli) config() (*config.Config, error) {
	cfg, err := config.Load(c.Config, os.Environ())
	if err != nil {
		return nil, &usageError{err}
	}
	return &cfg, nil
}
