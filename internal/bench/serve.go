package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/postledger/postledger/internal/app"
	"github.com/postledger/postledger/internal/app/config"
)

// serve is the whole server, as it is run by its users.
func serve(j *job) (running, error) {
	c, err := configure(j)
	if err != nil {
		return running{}, err
	}
	a := app.New(c, app.Options{Version: "bench"})
	if err := a.Start(context.Background()); err != nil {
		return running{}, err
	}
	return running{"http://" + a.Addr(), a.Stop}, nil
}

// configure makes this process what a server's is, whatever part of one it runs,
// and returns the server's configuration.
func configure(j *job) (config.Config, error) {
	env := []string{
		"POSTLEDGER_DATABASE=" + j.URL, "POSTLEDGER_DATA_DIR=" + j.Dir, "POSTLEDGER_HTTP=127.0.0.1:0", "POSTLEDGER_ADMIN_HTTP=off",
		"POSTLEDGER_ENCRYPTION_KEY=" + strings.Repeat("MDEyMzQ1Njc4OTAx", 2) + "MDEyMzQ1Njc=",
		"POSTLEDGER_WEBHOOK_NETWORKS=127.0.0.0/8",
	}
	if j.Redis != "" {
		env = append(env, "POSTLEDGER_JOBS__DRIVER=redis", "POSTLEDGER_JOBS__REDIS="+j.Redis)
	}
	c, err := config.Load("", env)
	if err != nil {
		return c, fmt.Errorf("configure: %w", err)
	}
	app.TuneHeap(&c, os.Getenv)
	return c, nil
}

// serverDir is where one run's server keeps its journal and key.
func serverDir(base string, run int) string { return filepath.Join(base, fmt.Sprint("server-", run)) }
