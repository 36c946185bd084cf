package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

// schedule writes rows for later.
func (c *Client) schedule(ctx context.Context, entries []Entry) error {
	if len(entries) == 0 {
		return nil
	}
	if c.outbox == nil {
		return fmt.Errorf("enqueue for later than %v: %w", HotHorizon, ErrNoOutbox)
	}
	if _, err := c.insert(ctx, entries, ""); err != nil {
		return err
	}
	c.observe(entries, 0)
	return nil
}

// insert commits rows.
func (c *Client) insert(ctx context.Context, entries []Entry, epoch string) ([]Inserted, error) {
	if err := c.load.check(ctx); err != nil {
		return nil, err
	}
	rows := make([]Insertion, len(entries))
	for i := range entries {
		rows[i] = Insertion{Entry: entries[i], Epoch: epoch}
	}
	inserted, err := c.outbox.Insert(ctx, rows)
	if err != nil {
		return nil, fmt.Errorf("write jobs to the outbox: %w: %w", ErrUnavailable, err)
	}
	return inserted, nil
}

// direct adds jobs that may not spill.
func (c *Client) direct(ctx context.Context, entries []Entry) error {
	if len(entries) == 0 {
		return nil
	}
	answers, err := c.add(ctx, Add{Entries: entries})
	if err != nil {
		return err
	}
	var rows []Entry
	for i, a := range answers {
		switch a {
		case Added, Duplicate:
		case Spilled, Withheld:
			rows = append(rows, entries[i]) // an older durable one with its key waits
		default:
			return fmt.Errorf("%w: the hot set's reserve is used up", ErrOverloaded)
		}
	}
	c.observe(entries, 0)
	return c.spill(ctx, rows, SpillID{})
}

// spillable adds jobs, and writes those that have to wait. Those whose fate is
// unknown are written too, under the same id: one job if both happened.
func (c *Client) spillable(ctx context.Context, entries []Entry) error {
	if len(entries) == 0 {
		return nil
	}
	spill := c.spills.next()
	answers, err := c.add(ctx, Add{Entries: entries, Spill: spill})
	if err != nil && ctx.Err() != nil {
		return err
	}
	var rows []Entry
	for i := range entries {
		if i >= len(answers) || answers[i] != Added && answers[i] != Duplicate {
			rows = append(rows, entries[i])
		}
	}
	if err != nil {
		// Nobody knows of these rows but this client, until its next Add.
		c.reach.wroteBlindly(rows)
	}
	if spillErr := c.spill(ctx, rows, spill); spillErr != nil {
		return errors.Join(err, spillErr)
	}
	c.observe(entries, len(rows))
	return nil
}

// spill writes rows that wait. When it fails, the spill stays pending until it
// expires: a row may have been committed all the same.
func (c *Client) spill(ctx context.Context, rows []Entry, spill SpillID) error {
	if len(rows) == 0 {
		return nil
	}
	if c.outbox == nil {
		return fmt.Errorf("%w: the hot set has no room for %d jobs: %w", ErrOverloaded, len(rows), ErrNoOutbox)
	}
	if _, err := c.insert(ctx, rows, ""); err != nil {
		return err
	}
	c.settle(spill)
	c.o.Wake()
	return nil
}

func (c *Client) settle(spill SpillID) {
	if spill == (SpillID{}) || c.reach.resting() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.o.HotTimeout)
	defer cancel()
	if err := c.hot.Settle(ctx, []SpillID{spill}); err != nil {
		// It expires by itself.
		c.o.Log.Debug("settle a spill", slog.Any("error", err))
	}
}

// add calls the hot set, unless it has just failed.
func (c *Client) add(ctx context.Context, add Add) ([]Admission, error) {
	if c.reach.resting() {
		return nil, fmt.Errorf("%w: the hot set has just failed and is left alone", ErrUnavailable)
	}
	raise, seen := c.reach.toRaise()
	add.Raise = raise
	ctx, cancel := context.WithTimeout(ctx, c.o.HotTimeout)
	defer cancel()
	answers, err := c.hot.Add(ctx, add)
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			c.reach.failed(time.Now())
			c.o.Observer.Unavailable()
			c.adding.fails(err)
		}
		if !errors.Is(err, ErrUnavailable) {
			err = fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		return answers, err
	}
	c.reach.raised(raise, seen)
	c.adding.works()
	return answers, nil
}

// rows commits jobs first and then adds them. From the commit on they are
// accepted: what fails later is the drain's to repair.
func (c *Client) rows(ctx context.Context, entries []Entry) error {
	if len(entries) == 0 {
		return nil
	}
	epoch := c.reach.epoch(ctx, c.o.HotTimeout)
	inserted, err := c.insert(ctx, entries, epoch)
	if err != nil {
		return err
	}
	waiting := 0
	if epoch == "" {
		c.reach.wroteBlindly(entries)
		waiting = len(entries)
	} else {
		waiting = len(c.promote(context.WithoutCancel(ctx), epoch, freshOf(entries, inserted)))
	}
	if waiting > 0 {
		c.o.Wake()
	}
	c.observe(entries, waiting)
	return nil
}

// freshOf are those of entries whose rows were written, with the revisions they got.
func freshOf(entries []Entry, inserted []Inserted) []Entry {
	fresh := make([]Entry, 0, len(entries))
	for i := range entries {
		if inserted[i].Fresh {
			e := entries[i]
			e.Rev = inserted[i].Rev
			fresh = append(fresh, e)
		}
	}
	return fresh
}

// promote puts committed rows into the hot set, and returns those that have to wait.
func (c *Client) promote(ctx context.Context, epoch string, fresh []Entry) (waiting []Entry) {
	if len(fresh) == 0 {
		return nil
	}
	spill := c.spills.next()
	answers, err := c.add(ctx, Add{Entries: fresh, Spill: spill})
	if err != nil {
		c.reach.wroteBlindly(fresh)
	}
	var admitted, back []Ref
	for i := range fresh {
		e := &fresh[i]
		in := i < len(answers) && (answers[i] == Added || answers[i] == Duplicate)
		keyed := e.DedupeKey != "" // its row was written as buffered
		switch {
		case in && keyed:
			admitted = append(admitted, e.Ref())
		case !in && !keyed:
			back, waiting = append(back, e.Ref()), append(waiting, *e)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if len(admitted) > 0 {
		if _, err := c.outbox.Admit(ctx, epoch, admitted); err != nil {
			// The drain adds them again, is told Duplicate, and marks them.
			c.o.Log.Warn("mark jobs as admitted", slog.Int("jobs", len(admitted)), slog.Any("error", err))
		}
	}
	if len(back) > 0 {
		if _, err := c.outbox.Rebuffer(ctx, back); err != nil {
			// The drain finds admitted rows that the set does not hold.
			c.o.Log.Warn("make jobs wait in the outbox", slog.Int("jobs", len(back)), slog.Any("error", err))
			return waiting
		}
	}
	if err == nil && slices.Contains(answers, Spilled) {
		c.settle(spill)
	}
	return waiting
}

// raise raises the flags of scopes in which rows were written without the set's
// knowing; if it cannot, the next Add does.
func (c *Client) raise(ctx context.Context, in map[Scope]bool) {
	c.reach.owe(in)
	if c.reach.resting() {
		return
	}
	scopes, seen := c.reach.toRaise()
	ctx, cancel := context.WithTimeout(ctx, c.o.HotTimeout)
	defer cancel()
	if err := c.hot.Raise(ctx, scopes); err != nil {
		c.reach.failed(time.Now())
		return
	}
	c.reach.raised(scopes, seen)
}

// flags are those that are raised.
func (c *Client) flags(ctx context.Context) ([]Flag, error) {
	if c.reach.resting() {
		return nil, ErrUnavailable
	}
	ctx, cancel := context.WithTimeout(ctx, c.o.HotTimeout)
	defer cancel()
	flags, err := c.hot.Flags(ctx)
	if err != nil {
		c.reach.failed(time.Now())
	}
	return flags, err
}
