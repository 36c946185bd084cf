package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// acceptHTTP is the client of a server in a process of its own: N requests of
// one message each, over as many connections as clients.
func acceptHTTP(j *job) (result, error) {
	server, err := startAttended(servePart, j)
	if err != nil {
		return result{}, err
	}
	took, err := post(j, server.where+"/v1/messages")
	if err != nil {
		return result{}, errors.Join(err, server.end())
	}
	r, err := server.finish()
	r.Seconds = took.Seconds()
	return r, err
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
