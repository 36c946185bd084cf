package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
)

// scopeEnd is how a scope's turn ended.
type scopeEnd struct {
	moved    int
	full     bool // the lane has no room
	withheld bool // the scope has rows that may not be admitted now
	done     bool // it has no more rows
}

// scope moves one chunk of a scope's rows, behind those of this pass that stayed.
func (p *pass) scope(ctx context.Context, scope Scope, t *turns) (scopeEnd, error) {
	limit := p.config.Chunk
	if scope.Group != "" {
		limit = max(p.config.GroupChunk, p.config.Chunk/len(t.ring))
	}
	rows, err := p.outbox.Waiting(ctx, Page{Scope: scope, After: t.after[scope], Limit: limit, Bytes: p.config.ChunkBytes})
	if err != nil {
		return scopeEnd{}, err
	}
	if len(rows) == 0 {
		return scopeEnd{done: !t.stayed[scope], withheld: t.stayed[scope]}, nil
	}
	entries, err := p.readable(ctx, rows)
	if err != nil {
		return scopeEnd{}, err
	}
	answers, err := p.hot.Add(ctx, Add{Entries: entries, Drain: true})
	p.config.Failpoint("drain: added")
	moved, settleErr := p.settle(ctx, entries, answers)
	end := scopeEnd{moved: moved, full: slices.Contains(answers, Full)}
	switch {
	case settleErr != nil:
		return end, settleErr
	case err != nil && (ctx.Err() != nil || errors.Is(err, ErrUnavailable)):
		return end, fmt.Errorf("add rows to the hot set: %w", err)
	case err != nil:
		if end, err = p.oneByOne(ctx, entries, answers, err); err != nil {
			return end, err
		}
	}
	t.after[scope] = rows[len(rows)-1].Place
	if moved < len(entries) {
		t.stayed[scope] = true
	}
	// A group that has its share has nothing more to admit: then its last plain row
	// was withheld. One with a dedupe key may be for that alone, and others may go on.
	if last := len(entries) - 1; scope.Group != "" && !end.full {
		end.withheld = moved == 0 || len(answers) > last && answers[last] == Withheld && entries[last].DedupeKey == ""
	}
	return end, nil
}

// readable are the entries of rows that are whole. The others were written by
// another program or another version: they are counted, and set aside.
func (p *pass) readable(ctx context.Context, rows []Row) ([]Entry, error) {
	entries := make([]Entry, 0, len(rows))
	for i := range rows {
		if err := rows[i].Validate(); err != nil {
			if err := p.refuse(ctx, &rows[i].Entry, err); err != nil {
				return nil, err
			}
			continue
		}
		entries = append(entries, rows[i].Entry)
	}
	return entries, nil
}

// refuse counts a row that cannot be admitted, and sets it aside when that was
// too often.
func (p *pass) refuse(ctx context.Context, e *Entry, why error) error {
	p.refused.Add(1)
	p.config.Log.Warn("a job cannot be admitted", slog.String("id", e.ID.String()),
		slog.String("handler", e.Handler), slog.Any("error", why))
	return p.outbox.Refuse(ctx, []Ref{e.Ref()}, why.Error(), p.config.Refusals)
}

// settle marks the rows of what the hot set has. A row of a job that is not
// durable goes: the job is as durable as the hot set from here on.
func (p *pass) settle(ctx context.Context, entries []Entry, answers []Admission) (int, error) {
	var durable, others []Ref
	for i := range answers {
		switch {
		case answers[i] != Added && answers[i] != Duplicate:
		case entries[i].Durable:
			durable = append(durable, entries[i].Ref())
		default:
			others = append(others, entries[i].Ref())
		}
	}
	if len(durable) > 0 {
		if _, err := p.outbox.Admit(ctx, p.epoch, durable); err != nil {
			return 0, err
		}
	}
	if len(others) > 0 {
		if _, err := p.outbox.Remove(ctx, others); err != nil {
			return 0, err
		}
	}
	p.config.Failpoint("drain: marked")
	n := len(durable) + len(others)
	p.drained.Add(int64(n))
	return n, nil
}

// oneByOne finds the rows for which an Add failed though the set can be reached:
// one that cannot be admitted must not block the rest. It is counted, and set
// aside after some failures.
func (p *pass) oneByOne(ctx context.Context, entries []Entry, answers []Admission, cause error) (scopeEnd, error) {
	var end scopeEnd
	for i := range entries {
		if answers[i] != Unanswered {
			continue
		}
		answer, err := p.hot.Add(ctx, Add{Entries: entries[i : i+1], Drain: true})
		switch {
		case err != nil && (ctx.Err() != nil || errors.Is(err, ErrUnavailable)):
			return end, fmt.Errorf("add rows to the hot set: %w", errors.Join(err, cause))
		case err != nil:
			if err := p.refuse(ctx, &entries[i], err); err != nil {
				return end, err
			}
			continue
		}
		n, err := p.settle(ctx, entries[i:i+1], answer)
		if err != nil {
			return end, err
		}
		end.moved += n
		if answer[0] == Full {
			end.full = true
			return end, nil
		}
	}
	return end, nil
}
