package jobs

import (
	"context"
	"fmt"
	"time"
)

// recover makes rows buffered again whose jobs the hot set lost: all of another
// epoch, and from time to time those that it does not hold.
func (p *pass) recover(ctx context.Context) error {
	epoch, err := p.hot.Epoch(ctx)
	if err != nil {
		return fmt.Errorf("read the hot set's epoch: %w", err)
	}
	due := time.Since(p.swept) > p.config.Sweep
	if epoch == p.epoch && !due {
		return nil
	}
	for {
		n, err := p.outbox.RebufferEpoch(ctx, epoch, ripenMost)
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		p.rebuffered.Add(int64(n))
		if err := p.tend(ctx); err != nil {
			return err
		}
	}
	p.epoch = epoch
	if due {
		if err := p.sweep(ctx); err != nil {
			return err
		}
		p.swept = time.Now()
	}
	return nil
}

// sweep looks for admitted rows that the hot set does not hold: it came back with
// a part of its data, or a producer died between its row and its Add.
func (p *pass) sweep(ctx context.Context) error {
	after := int64(0)
	for {
		rows, err := p.outbox.AdmittedBefore(ctx, p.config.LostAge, after, p.config.Chunk)
		if err != nil || len(rows) == 0 {
			return err
		}
		ids := make([]ID, len(rows))
		for i := range rows {
			ids[i] = rows[i].ID
		}
		held, err := p.hot.Contains(ctx, ids)
		if err != nil {
			return fmt.Errorf("look for admitted jobs: %w", err)
		}
		var lost []Ref
		for i := range rows {
			if !held[i] {
				lost = append(lost, rows[i].Ref())
			}
		}
		if len(lost) > 0 {
			n, err := p.outbox.Rebuffer(ctx, lost)
			if err != nil {
				return err
			}
			p.rebuffered.Add(int64(n))
		}
		after = rows[len(rows)-1].Place
		if err := p.tend(ctx); err != nil {
			return err
		}
	}
}
