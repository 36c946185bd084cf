package jobs

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Handover is for programs that write rows by statements of their own, in
// transactions of their own: it puts these jobs into the hot set as soon as they have
// committed, as Enqueue does in mode Always, and the drain has nothing to do with
// them. For each row Epoch says before the transaction how it is to be written; Wrote,
// after it, what was.
//
// Between the commit and the Add a row says admitted and is not hot. If the process
// dies there, or an answer is lost, the drain finds it: at once when the hot set died
// with the process, else when it looks for admitted rows (DrainConfig.LostAge and
// Sweep). What the hot set has no room for is made buffered. While a scope is in
// overflow its rows are written as buffered, behind those that wait.
//
// Neither Epoch nor Wrote waits for a server: one goroutine, Run's, adds jobs in the
// order in which they were written.
type Handover struct {
	client    *Client
	failpoint func(name string)
	wake      chan struct{} // of capacity 1

	mu      sync.Mutex
	epoch   string         // "" while Run does not run, or the set is out of reach
	waiting []Entry        // committed as admitted, and not added yet
	unsure  []Ref          // perhaps committed as admitted
	behind  map[Scope]bool // with rows committed as buffered, whose flags may be down
	full    map[Scope]bool // in overflow, as far as is known
}

const (
	// handoverRoom bounds the jobs that wait to be added: with as many, rows are
	// written for the drain. What transactions under way have been promised comes
	// on top, a few hundred each.
	handoverRoom = 2000
	// handoverChunk is how many are added by one call.
	handoverChunk = 500
	// handoverLook is how often the set's epoch is asked for, flagsLook how often,
	// while there is overflow, whether it is over.
	handoverLook = time.Second
	flagsLook    = 50 * time.Millisecond
)

// NewHandover makes a handover into a client's hot set and outbox, of which the
// client must have one; Run runs it. The failpoint, unless nil, is called at named
// moments, for tests that stop it there.
func NewHandover(client *Client, failpoint func(name string)) *Handover {
	if failpoint == nil {
		failpoint = func(string) {}
	}
	return &Handover{
		client: client, failpoint: failpoint, wake: make(chan struct{}, 1),
		behind: map[Scope]bool{}, full: map[Scope]bool{},
	}
}

// Epoch is the epoch under which a row of the scope is to be written as admitted.
// When it is empty the row is to be written as buffered. It is asked for each row
// that has no dedupe key and may start at once, before or in its transaction.
func (h *Handover) Epoch(scope Scope) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.waiting) >= handoverRoom || h.full[scope] || h.full[Scope{Lane: scope.Lane}] {
		return ""
	}
	return h.epoch
}

// Wrote takes the jobs whose rows a transaction has committed, each with the epoch
// under which it was written.
func (h *Handover) Wrote(rows []Insertion) {
	now := time.Now()
	h.mu.Lock()
	for i := range rows {
		r := &rows[i]
		r.Durable, r.Rev = true, 1
		switch {
		case r.Epoch != "" && h.epoch != "":
			h.waiting = append(h.waiting, r.Entry)
		case r.Epoch != "":
			// Run has ended, or the set cannot be reached any more.
			h.unsure = append(h.unsure, r.Ref())
		case !r.RunAt.After(now):
			// What is written after it must not overtake it.
			h.full[r.Scope()], h.behind[r.Scope()] = true, true
		}
	}
	h.mu.Unlock()
	signal(h.wake)
}

// Unsure takes jobs of which it is not known whether their rows were committed as
// admitted, or were there before: if they were, the drain adds them.
func (h *Handover) Unsure(refs []Ref) {
	h.mu.Lock()
	// Beyond the bound the drain finds them by itself.
	if len(h.unsure) < handoverRoom {
		h.unsure = append(h.unsure, refs...)
	}
	h.mu.Unlock()
	signal(h.wake)
}

// Run adds jobs until ctx ends, and then those that wait. What commits later, of rows
// for which an epoch was given before, is the drain's to find.
func (h *Handover) Run(ctx context.Context) {
	look, again := time.NewTicker(handoverLook), time.NewTicker(flagsLook)
	defer look.Stop()
	defer again.Stop()
	// That ctx ends says nothing of the set.
	calls := context.WithoutCancel(ctx)
	defer h.end(calls)
	h.look(calls)
	for {
		var flags <-chan time.Time
		if h.overflows() {
			flags = again.C
		}
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			h.look(calls)
		case <-flags:
			h.lookAtFlags(calls)
		case <-h.wake:
			h.hand(calls)
		}
	}
}

// endMost bounds what is done when Run ends.
const endMost = 5 * time.Second

func (h *Handover) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, endMost)
	defer cancel()
	h.mu.Lock()
	h.epoch = ""
	h.mu.Unlock()
	h.hand(ctx)
}

// look asks for the set's epoch.
func (h *Handover) look(ctx context.Context) {
	epoch := h.client.reach.epoch(ctx, h.client.o.HotTimeout)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.epoch = epoch
}

func (h *Handover) overflows() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.full) > 0 && h.epoch != ""
}

// lookAtFlags learns which scopes are in overflow still. A scope whose flag is about
// to be raised is.
func (h *Handover) lookAtFlags(ctx context.Context) {
	flags, err := h.client.flags(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case err != nil:
		h.epoch = "" // until the next look
	case len(h.behind) == 0:
		clear(h.full)
		for _, f := range flags {
			h.full[f.Scope] = true
		}
	}
}

// hand does what there is to be done: first what was committed as admitted, in whose
// place nothing waits, then what is to be kept from being overtaken.
func (h *Handover) hand(ctx context.Context) {
	h.mu.Lock()
	waiting, unsure, behind, epoch := h.waiting, h.unsure, h.behind, h.epoch
	h.waiting, h.unsure, h.behind = nil, nil, map[Scope]bool{}
	h.mu.Unlock()
	wake := len(behind) > 0 || len(unsure) > 0
	if len(waiting) > 0 {
		h.failpoint("handover: committed")
	}
	for part := range slices.Chunk(waiting, handoverChunk) {
		back := h.client.promote(ctx, epoch, part)
		wake = wake || len(back) > 0
		h.spilled(back)
	}
	if len(behind) > 0 {
		h.client.raise(ctx, behind)
	}
	if len(unsure) > 0 {
		h.rebuffer(ctx, unsure)
	}
	if wake {
		h.client.o.Wake()
	}
}

func (h *Handover) rebuffer(ctx context.Context, refs []Ref) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if _, err := h.client.outbox.Rebuffer(ctx, refs); err != nil {
		// The drain finds them.
		h.client.o.Log.Warn("make jobs wait in the outbox", slog.Int("jobs", len(refs)), slog.Any("error", err))
	}
}

// spilled notes what has to wait: rows of its scope that are written from now on wait
// behind it.
func (h *Handover) spilled(back []Entry) {
	if len(back) == 0 {
		return
	}
	resting := h.client.reach.resting()
	h.mu.Lock()
	defer h.mu.Unlock()
	if resting {
		h.epoch = ""
	}
	for i := range back {
		h.full[back[i].Scope()] = true
	}
}
