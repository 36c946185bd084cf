package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	// every is how often a single immediate message is accepted: 100 a second.
	every = 10 * time.Millisecond
	// warmUp is not measured: connections are opened and plans made in it.
	warmUp = 5 * time.Second
	// window is what one value of a percentile is taken from: 300 messages.
	window = 3 * time.Second
	// fastest is more than bulk reaches, so that it lasts as long as it is measured.
	fastest = 5_000
)

// latency is how long a single immediate message takes from the first byte of
// its request to the sink, with nothing else to do and beside bulk on the same
// profile.
func (b *bench) latency() error {
	p, err := b.database("latency")
	if err != nil {
		return err
	}
	idle, err := b.singles(p, "idle", 0)
	if err != nil {
		return err
	}
	took := warmUp + time.Duration(b.o.pairs)*window
	beside, err := b.singles(p, "beside", int(fastest*took.Seconds()))
	if err != nil {
		return err
	}
	f := b.figures
	f.bar("p50 of an immediate message, idle", "ms", each(idle, 0.5), "≤ 6", func(v float64) bool { return v <= 6 })
	f.bar("p99 of an immediate message beside bulk", "ms", each(beside, 0.99), "≤ 60", func(v float64) bool { return v <= 60 })
	worst := slices.Max(each(beside, 1))
	f.bar("slowest immediate message beside bulk", "ms", []float64{worst}, "≤ 500", func(v float64) bool { return v <= 500 })
	f.tell("p99 of an immediate message, idle", middle(each(idle, 0.99)), "ms")
	f.tell("p50 of an immediate message beside bulk", middle(each(beside, 0.5)), "ms")
	return nil
}

// each is a percentile of every window.
func each(windows [][]float64, share float64) []float64 {
	var out []float64
	for _, w := range windows {
		slices.Sort(w)
		out = append(out, w[min(len(w)-1, int(share*float64(len(w))))])
	}
	return out
}

// singles serves, with so much bulk mail waiting, and returns the latencies of
// each window in ms.
func (b *bench) singles(p place, name string, waiting int) ([][]float64, error) {
	j := b.bulkJob("latency-" + name)
	j.URL, j.World, j.N = p.url, p.world, waiting
	if _, err := run("load", j); err != nil {
		return nil, err
	}
	before, err := b.s.sink.state()
	if err != nil {
		return nil, err
	}
	server, err := startAttended(servePart, &j)
	if err != nil {
		return nil, err
	}
	s := &sender{b: b, url: server.where + "/v1/messages", world: p.world, name: name, begun: map[string]time.Time{}}
	windows, err := s.send(b.o.pairs)
	if err != nil {
		return nil, errors.Join(err, server.end())
	}
	after, err := b.s.sink.state()
	if err != nil {
		return nil, errors.Join(err, server.end())
	}
	if _, err := server.finish(); err != nil {
		return nil, err
	}
	bulk := after.Messages - before.Messages - int64(len(s.begun))
	if waiting > 0 && bulk >= int64(waiting) {
		return nil, fmt.Errorf("all %d bulk messages had been sent before the end", waiting)
	}
	b.figures.tell("p50 of an immediate message's acceptance, "+name, middle(s.accepted), "ms")
	if waiting > 0 {
		b.figures.tell("bulk mail beside immediate messages", float64(bulk)/s.took.Seconds(), "/s")
	}
	return windows, nil
}

// sender posts single messages at a fixed rate, whatever becomes of those before.
type sender struct {
	b         *bench
	url, name string
	world     world
	took      time.Duration

	mu    sync.Mutex
	begun map[string]time.Time // by recipient
	// accepted is how long each answer took, in ms, the warm-up's too.
	accepted []float64
	fault    error
}

func (s *sender) send(windows int) ([][]float64, error) {
	c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: 30 * time.Second}
	defer c.CloseIdleConnections()
	var posts sync.WaitGroup
	all := int((warmUp + time.Duration(windows)*window) / every)
	began := time.Now()
	for i := range all {
		time.Sleep(time.Until(began.Add(time.Duration(i) * every)))
		posts.Go(func() {
			if err := s.post(c, i); err != nil {
				s.mu.Lock()
				s.fault = errors.Join(s.fault, err)
				s.mu.Unlock()
			}
		})
	}
	posts.Wait()
	s.took = time.Since(began)
	if s.fault != nil {
		return nil, s.fault
	}
	arrived, err := s.b.arrivals(all, 30*time.Second)
	if err != nil {
		return nil, err
	}
	out := make([][]float64, windows)
	for i := int(warmUp / every); i < all; i++ {
		to := s.recipient(i)
		w := (i - int(warmUp/every)) / int(window/every)
		out[w] = append(out[w], float64(arrived[to].Sub(s.begun[to]))/float64(time.Millisecond))
	}
	return out, nil
}

func (s *sender) recipient(i int) string {
	return fmt.Sprintf("%s%s.%d@rcpt.example", watchedPrefix, s.name, i)
}

func (s *sender) post(c *http.Client, i int) error {
	text, html := small(i)
	to := s.recipient(i)
	body, err := json.Marshal(map[string]any{
		"profile": s.world.Main.Name, "to": []map[string]string{{"address": to}}, "subject": subject, "text": text, "html": html,
	})
	if err != nil {
		return err
	}
	q, err := http.NewRequestWithContext(context.Background(), http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	q.Header.Set("Authorization", "Bearer "+s.world.Tokens[i%len(s.world.Tokens)])
	q.Header.Set("Content-Type", "application/json")
	began := time.Now()
	a, err := c.Do(q)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	said, err := io.ReadAll(a.Body)
	if err == nil && a.StatusCode != http.StatusAccepted {
		err = fmt.Errorf("%s: %s", a.Status, said)
	}
	s.mu.Lock()
	s.begun[to] = began
	s.accepted = append(s.accepted, float64(time.Since(began))/float64(time.Millisecond))
	s.mu.Unlock()
	return err
}

// arrivals waits until the sink has had so many watched recipients.
func (b *bench) arrivals(n int, patience time.Duration) (map[string]time.Time, error) {
	out := map[string]time.Time{}
	for deadline := time.Now().Add(patience); ; time.Sleep(2 * time.Millisecond) {
		st, err := b.s.sink.state()
		if err != nil {
			return nil, err
		}
		for to, at := range st.Arrived {
			out[to] = at
		}
		if len(out) >= n {
			return out, nil
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("%d of %d had arrived after %s", len(out), n, patience)
		}
	}
}
