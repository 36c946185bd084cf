package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/postledger/postledger/internal/app"
	"github.com/postledger/postledger/internal/app/config"
)

// servePart is the part that is a whole server.
const servePart = "serve"

// serveAPI reads a job, serves, says where, and answers with what it used once
// a second line comes in.
func serveAPI(in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	first, err := lines.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read the job: %w", err)
	}
	var j job
	if err := json.Unmarshal(first, &j); err != nil {
		return fmt.Errorf("read the job: %w", err)
	}
	c, err := config.Load("", []string{
		"POSTLEDGER_DATABASE=" + j.URL, "POSTLEDGER_DATA_DIR=" + j.Dir, "POSTLEDGER_HTTP=127.0.0.1:0", "POSTLEDGER_ADMIN_HTTP=off",
		"POSTLEDGER_ENCRYPTION_KEY=" + strings.Repeat("MDEyMzQ1Njc4OTAx", 2) + "MDEyMzQ1Njc=",
	})
	if err != nil {
		return fmt.Errorf("configure: %w", err)
	}
	a := app.New(c, app.Options{Version: "bench"})
	if err := a.Start(context.Background()); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	m, err := startMeter(j.URL)
	if err != nil {
		return err
	}
	if j.Profile != "" {
		f, err := os.Create(j.Profile)
		if err != nil {
			return fmt.Errorf("create profile: %w", err)
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return fmt.Errorf("start profile: %w", err)
		}
	}
	fmt.Fprintln(out, "http://"+a.Addr())
	_, waited := lines.ReadBytes('\n')
	pprof.StopCPUProfile()
	r, err := m.stop()
	if err := errors.Join(waited, err); err != nil {
		return errors.Join(err, a.Stop())
	}
	if r.Peak, err = peakKiB(); err != nil {
		return err
	}
	return errors.Join(json.NewEncoder(out).Encode(r), a.Stop())
}

// acceptHTTP is the client of a server in a process of its own: N requests of
// one message each, over as many connections as clients.
func acceptHTTP(j *job) (r result, err error) {
	self, err := os.Executable()
	if err != nil {
		return r, err
	}
	if err := os.MkdirAll(j.Dir, 0o700); err != nil {
		return r, err
	}
	cmd := exec.Command(self, childVerb, servePart)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return r, err
	}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return r, err
	}
	if err := cmd.Start(); err != nil {
		return r, err
	}
	defer func() {
		in.Close()
		err = errors.Join(err, cmd.Wait())
	}()
	out := bufio.NewReader(pipe)
	if err := json.NewEncoder(in).Encode(j); err != nil {
		return r, err
	}
	base, err := out.ReadString('\n')
	if err != nil {
		return r, fmt.Errorf("start the server: %w", err)
	}
	took, err := post(j, strings.TrimSpace(base)+"/v1/messages")
	if err != nil {
		return r, err
	}
	if _, err := io.WriteString(in, "\n"); err != nil {
		return r, err
	}
	if err := json.NewDecoder(out).Decode(&r); err != nil {
		return r, fmt.Errorf("read what the server used: %w", err)
	}
	r.Seconds = took.Seconds()
	return r, nil
}

// post sends the requests; bodies are made beforehand.
func post(j *job, url string) (time.Duration, error) {
	text, html := small(j.Run)
	payloads := make([][]byte, j.N)
	for i := range payloads {
		var err error
		if payloads[i], err = json.Marshal(map[string]any{
			"profile": j.World.Held.Name, "to": []map[string]string{{"address": recipient(j.Run, i), "name": "Omar Dahl"}},
			"subject": subject, "text": text, "html": html,
		}); err != nil {
			return 0, err
		}
	}
	c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: j.Clients, MaxConnsPerHost: j.Clients}}
	defer c.CloseIdleConnections()
	began := time.Now()
	err := clients(j.N, j.Clients, func(i int) error {
		q, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(payloads[i]))
		if err != nil {
			return err
		}
		q.Header.Set("Authorization", "Bearer "+j.World.Tokens[i%len(j.World.Tokens)])
		q.Header.Set("Content-Type", "application/json")
		q.Header.Set("Idempotency-Key", fmt.Sprintf("http-%d-%d", j.Run, i))
		a, err := c.Do(q)
		if err != nil {
			return err
		}
		defer a.Body.Close()
		body, err := io.ReadAll(a.Body)
		if err == nil && a.StatusCode != http.StatusAccepted {
			err = fmt.Errorf("%s: %s", a.Status, body)
		}
		return err
	})
	return time.Since(began), err
}

// serverDir is where one run's server keeps its journal and key.
func serverDir(base string, run int) string { return filepath.Join(base, fmt.Sprint("server-", run)) }
