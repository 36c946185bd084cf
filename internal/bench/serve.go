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
	c, err := config.Load("", []string{
		"POSTLEDGER_DATABASE=" + j.URL, "POSTLEDGER_DATA_DIR=" + j.Dir, "POSTLEDGER_HTTP=127.0.0.1:0", "POSTLEDGER_ADMIN_HTTP=off",
		"POSTLEDGER_ENCRYPTION_KEY=" + strings.Repeat("MDEyMzQ1Njc4OTAx", 2) + "MDEyMzQ1Njc=",
	})
	if err != nil {
		return running{}, fmt.Errorf("configure: %w", err)
	}
	app.TuneHeap(&c, os.Getenv)
	a := app.New(c, app.Options{Version: "bench"})
	if err := a.Start(context.Background()); err != nil {
		return running{}, err
	}
	return running{"http://" + a.Addr(), a.Stop}, nil
}

// serverDir is where one run's server keeps its journal and key.
func serverDir(base string, run int) string { return filepath.Join(base, fmt.Sprint("server-", run)) }
