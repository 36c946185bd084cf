package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/postledger/postledger/internal/bench/cost"
)

const (
	// perBatch messages are in a batch over HTTP; batchClients send them, as few
	// as a server reads at once without refusing any for its memory.
	perBatch     = 500
	batchClients = 4
	// p99 is what Values calls the latency of the slowest hundredth, in ms.
	p99 = "p99"
	// clientCPU is the client's own, µs a request.
	clientCPU = "client"
)

// acceptHTTP is the client of a server in a process of its own: N requests of
// one message each, over as many connections as clients.
func acceptHTTP(j *job) (result, error) {
	return overHTTP(j, "/v1/messages", 1)
}

// acceptBatches is the same for N messages in batches.
func acceptBatches(j *job) (result, error) {
	return overHTTP(j, "/v1/batches", perBatch)
}

// overHTTP measures a server that has answered a tenth as many requests before,
// and each client's first: a start opens connections, prepares statements and
// takes memory.
func overHTTP(j *job, path string, size int) (result, error) {
	warm, err := payloads(j, "warm", max(j.N/10, size*j.Clients), size)
	if err != nil {
		return result{}, err
	}
	bodies, err := payloads(j, "run", j.N, size)
	if err != nil {
		return result{}, err
	}
	server, err := startAttended(servePart, j)
	if err != nil {
		return result{}, err
	}
	c, err := newCallers(server.where, j.Clients)
	if err != nil {
		return result{}, errors.Join(err, server.end())
	}
	defer c.close()
	_, err = post(c, j, path, "warm", warm)
	if err == nil {
		err = server.warm()
	}
	var own *cost.Meter
	if err == nil {
		own, err = cost.Start(nil)
	}
	var took []float64
	if err == nil {
		took, err = post(c, j, path, "run", bodies)
	}
	if err != nil {
		return result{}, errors.Join(err, server.end())
	}
	client, err := own.Stop()
	if err != nil {
		return result{}, errors.Join(err, server.end())
	}
	r, err := server.finish()
	r.Seconds = client.Seconds
	r.Values = map[string]float64{p99: each([][]float64{took}, 0.99)[0], clientCPU: client.Self / float64(len(bodies))}
	return r, err
}

// payloads are the bodies of requests for n messages, so many in each.
func payloads(j *job, name string, n, size int) ([][]byte, error) {
	text, html := small(j.Run)
	var out [][]byte
	for i := 0; i < n; {
		var messages []map[string]any
		for ; i < n && len(messages) < size; i++ {
			messages = append(messages, map[string]any{
				"to":      []map[string]string{{"address": name + "-" + recipient(j.Run, i), "name": "Omar Dahl"}},
				"subject": subject, "text": text, "html": html,
			})
		}
		// Here messages must come last.
		var body any = struct {
			Profile  string           `json:"profile"`
			Messages []map[string]any `json:"messages"`
		}{j.World.Held.Name, messages}
		if size == 1 {
			messages[0]["profile"] = j.World.Held.Name
			body = messages[0]
		}
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

// post sends the requests and returns how long each took, in ms.
func post(c *callers, j *job, path, name string, bodies [][]byte) ([]float64, error) {
	took := make([]float64, len(bodies))
	err := clients(len(bodies), j.Clients, func(i int) error {
		began := time.Now()
		head := fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"+
			"Idempotency-Key: %s-%d-%d-%d\r\nContent-Length: %d\r\n\r\n",
			path, c.address, j.World.Tokens[i%len(j.World.Tokens)], name, j.Clients, j.Run, i, len(bodies[i]))
		status, body, err := c.call(append(head, bodies[i]...))
		if err == nil && status != http.StatusAccepted {
			err = fmt.Errorf("%d: %s", status, body)
		}
		took[i] = float64(time.Since(began)) / float64(time.Millisecond)
		return err
	})
	return took, err
}

// callers are connections that are kept. What they send is ready, and what comes
// back is read by net/http: a client as cheap as one can be, since it uses the
// cores that are measured.
type callers struct {
	address string
	idle    chan *caller
}

type caller struct {
	net.Conn
	in *bufio.Reader
}

func newCallers(url string, n int) (*callers, error) {
	c := &callers{address: strings.TrimPrefix(url, "http://"), idle: make(chan *caller, n)}
	for range n {
		conn, err := net.Dial("tcp", c.address)
		if err != nil {
			c.close()
			return nil, fmt.Errorf("connect to the server: %w", err)
		}
		c.idle <- &caller{conn, bufio.NewReader(conn)}
	}
	return c, nil
}

func (c *callers) call(request []byte) (status int, body []byte, err error) {
	at := <-c.idle
	defer func() { c.idle <- at }()
	if _, err := at.Write(request); err != nil {
		return 0, nil, fmt.Errorf("send a request: %w", err)
	}
	a, err := http.ReadResponse(at.in, nil)
	if err != nil {
		return 0, nil, fmt.Errorf("read an answer: %w", err)
	}
	defer a.Body.Close()
	body, err = io.ReadAll(a.Body)
	return a.StatusCode, body, err
}

// close ends the connections that nobody uses.
func (c *callers) close() {
	for {
		select {
		case at := <-c.idle:
			at.Close()
		default:
			return
		}
	}
}
