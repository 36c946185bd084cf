package s3

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/postledger/postledger/internal/blob"
)

const (
	// probePrefix cannot begin a blob's key.
	probePrefix = ".check/"
	// checkLimit bounds a check, all its requests included.
	checkLimit = 10 * time.Second
	// goodFor is how long a success answers later checks. Whoever stores after
	// it hears from the store itself.
	goodFor = 5 * time.Second
	// badFor keeps those who waited for a failure from asking one after the
	// other.
	badFor = time.Second
)

// health is what the store last said. It spares requests and decides nothing:
// another process's may differ.
type health struct {
	turn chan struct{} // who holds it asks; one place

	mu sync.Mutex
	at time.Time
	// err is what the check at that moment said.
	err error
}

func newHealth() health {
	turn := make(chan struct{}, 1)
	return health{turn: turn}
}

func (h *health) good() { h.set(nil) }

func (h *health) set(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at, h.err = time.Now(), err
}

// known is the last answer, if it is recent.
func (h *health) known() (recent bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	age := time.Since(h.at)
	if h.err != nil {
		return age < badFor, h.err
	}
	return age < goodFor, nil
}

// Check implements [blob.Store]. It writes an object of one byte and removes
// it, unless the store has just shown that it works.
func (s *Store) Check(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case s.health.turn <- struct{}{}:
		defer func() { <-s.health.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if recent, err := s.health.known(); recent {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	w := s.newProbe()
	err := w.whole(bounded, []byte{'\n'})
	err = errors.Join(err, s.remove(bounded, w.name))
	switch {
	case ctx.Err() != nil:
		return ctx.Err() // it says nothing about the store
	case bounded.Err() != nil:
		err = errSlow
	}
	if err != nil {
		err = fmt.Errorf("check attachment store: %w", err)
	}
	s.health.set(err)
	return err
}

func (s *Store) newProbe() write {
	return write{store: s, name: s.prefix + probePrefix + rand.Text(), writer: rand.Text()}
}

// Probe tries everything that is asked of a store on objects of its own: to
// write, to refuse a second write, to read, to list and to delete.
func (s *Store) Probe(ctx context.Context) error {
	w := s.newProbe()
	content := []byte("postledger doctor\n")
	if err := w.whole(ctx, content); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	err := s.probe(ctx, &w, content)
	if removeErr := s.remove(ctx, w.name); err == nil && removeErr != nil {
		err = fmt.Errorf("delete: %w", removeErr)
	}
	if err != nil {
		return err
	}
	if _, err := s.List(ctx, "", "", 1); err != nil {
		return err
	}
	// Nothing is that old: it only lists.
	_, err = s.Sweep(ctx, time.Time{})
	return err
}

func (s *Store) probe(ctx context.Context, w *write, content []byte) error {
	other := write{store: s, name: w.name, writer: rand.Text()}
	switch err := other.whole(ctx, []byte("another\n")); {
	case err == nil:
		return errors.New("overwrites objects: it does not honour If-None-Match, and a key is to be written once")
	case !errors.Is(err, blob.ErrExists):
		return fmt.Errorf("write what is there: %w", err)
	}
	r := &reader{ctx: ctx, store: s, name: w.name}
	defer r.drop()
	if err := r.open(); err != nil {
		return fmt.Errorf("read: %w", err)
	}
	got, err := io.ReadAll(io.LimitReader(r, int64(len(content))+1))
	if err != nil {
		return err
	}
	if !bytes.Equal(got, content) {
		return errors.New("gives back other bytes than it was given")
	}
	return nil
}
