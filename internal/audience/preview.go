package audience

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/lens"
)

// SampleRows is how many rows a sample has at most. It has fewer where they are larger than
// a page of the lens library ([lens.PageBytes], [lens.RelatedBytes]).
const SampleRows = 10

// looks is how many previews without counts run at one time, and looksOfApp how many of them
// are one app's. Each holds a page at most: 80 MiB and one row.
const (
	looks      = 4
	looksOfApp = 2
)

// Want says what a preview shall find out.
type Want struct {
	Counts, Sample, Schema, Explanation bool
	// Clear leaves the texts of sample rows as they are; else they are masked.
	Clear bool
	// SQL shows the statement also where a floor is in force, whose fields it
	// names.
	SQL bool
}

// Preview is what was found out; what was not asked for is nil.
type Preview struct {
	// Definition is what was looked at, its lens in the one form.
	Definition postledger.AudienceDefinition
	Counts     *Counts
	// Rows are the first of the lens's order, in the shape of its select.
	Rows []json.RawMessage
	// Schema is the JSON Schema of a row.
	Schema      map[string]any
	Explanation *Explanation
}

// Explanation says what the lens means and would cost.
type Explanation struct {
	// English is the lens in one line.
	English string
	// SQL is the statement of a page, and Binds what its values are like. They are
	// empty where a floor is in force and the caller may not know it; warnings are then
	// of the lens's own tables only.
	SQL   string
	Binds []string
	// Rows is the database's estimate, or -1.
	Rows     int64
	Warnings []string
}

// Preview looks at an audience, saved or not, as it is in the source now. It hears
// progress while it counts, in the same goroutine. Errors: *InvalidError,
// *UnavailableError, ErrBusy, ErrTooLong, ErrStopped, and the context's.
func (s *Service) Preview(ctx context.Context, app postledger.App, d postledger.AudienceDefinition, params map[string]any, want Want, progress func(Progress)) (Preview, error) {
	if !want.Counts {
		return s.within(ctx, &s.looks, app, d, params, want, progress)
	}
	began, read := time.Now(), int64(0)
	p, err := s.within(ctx, &s.slots, app, d, params, want, func(at Progress) {
		read = at.Read
		progress(at)
	})
	s.Observer.Counted(outcomeOf(ctx, err), read, time.Since(began))
	return p, err
}

// within takes one of the slots for what it is.
func (s *Service) within(ctx context.Context, slots *slots, app postledger.App, d postledger.AudienceDefinition, params map[string]any, want Want, progress func(Progress)) (Preview, error) {
	release, err := slots.take(app.ID)
	if err != nil {
		return Preview{}, err
	}
	defer release()
	return s.bounded(ctx, app, d, params, want, progress)
}

// bounded ends a preview that takes too long or outlives the service.
func (s *Service) bounded(ctx context.Context, app postledger.App, d postledger.AudienceDefinition, params map[string]any, want Want, progress func(Progress)) (Preview, error) {
	inTime, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	defer context.AfterFunc(s.ending, cancel)()
	p, err := s.preview(inTime, app, d, params, want, progress)
	switch {
	case err == nil || ctx.Err() != nil:
	case s.ending.Err() != nil:
		err = ErrStopped
	case errors.Is(inTime.Err(), context.DeadlineExceeded):
		err = fmt.Errorf("%w (%s)", ErrTooLong, s.Timeout)
	}
	return p, err
}

// preview looks once more, with the source and its catalogue as they are now, when it fails
// before any row was counted: a column may be gone, or the source's password be another. A
// source that took all its time gets no second one.
func (s *Service) preview(ctx context.Context, app postledger.App, d postledger.AudienceDefinition, params map[string]any, want Want, progress func(Progress)) (Preview, error) {
	counting := false
	tell := func(p Progress) {
		counting = counting || p.Read > 0
		progress(p)
	}
	p, err := s.look(ctx, app, d, params, want, tell, false)
	var down *UnavailableError
	if errors.As(err, &down) && !counting && !errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return s.look(ctx, app, d, params, want, tell, true)
	}
	return p, err
}

func (s *Service) look(ctx context.Context, app postledger.App, d postledger.AudienceDefinition, params map[string]any, want Want, progress func(Progress), fresh bool) (Preview, error) {
	c, err := s.check(ctx, app, d, fresh)
	if err != nil {
		return Preview{}, err
	}
	q, err := s.bind(c, params)
	if err != nil {
		return Preview{}, err
	}
	p := Preview{Definition: d}
	if p.Definition.Lens, err = c.lens.MarshalJSON(); err != nil {
		return Preview{}, fmt.Errorf("preview: %w", err)
	}
	if want.Schema {
		p.Schema = q.Schema()
	}
	if want.Explanation {
		if p.Explanation, err = s.explain(ctx, c, q, want.SQL); err != nil {
			return Preview{}, err
		}
	}
	if want.Sample {
		if p.Rows, err = s.sample(ctx, c, q, want.Clear); err != nil {
			return Preview{}, err
		}
	}
	if want.Counts {
		n, err := s.count(ctx, app.ID, c, q, progress)
		if err != nil {
			return Preview{}, err
		}
		p.Counts = &n
	}
	return p, nil
}

func (s *Service) explain(ctx context.Context, c *checked, q *lens.Query, sql bool) (*Explanation, error) {
	e, err := q.Explain(ctx, c.opened.Source)
	if err != nil {
		return nil, s.unavailable(ctx, c.def.Source, err)
	}
	out := &Explanation{English: c.lens.String(), Rows: e.Rows}
	all := sql || len(c.opened.Floor.Where) == 0
	if all {
		out.SQL, out.Binds = e.SQL, e.Binds
	}
	own := c.lens.Tables(c.opened.Catalogue)
	for _, w := range e.Warnings {
		if all || slices.Contains(own, w.Table) {
			out.Warnings = append(out.Warnings, w.Text)
		}
	}
	return out, nil
}

func (s *Service) sample(ctx context.Context, c *checked, q *lens.Query, clear bool) ([]json.RawMessage, error) {
	page, err := q.Page(ctx, c.opened.Source, "", SampleRows)
	if errors.Is(err, lens.ErrTooManyRelated) {
		return nil, invalid("lens.select", RuleLens, err.Error())
	}
	if err != nil {
		return nil, s.unavailable(ctx, c.def.Source, err)
	}
	rows := make([]json.RawMessage, 0, len(page.Rows))
	for _, row := range page.Rows {
		if !clear {
			table, _ := c.opened.Catalogue.Table(c.lens.From)
			maskRow(row, c.lens.Select, table)
		}
		text, err := q.AppendJSON(nil, row)
		if err != nil {
			return nil, fmt.Errorf("preview: %w", err)
		}
		rows = append(rows, text)
	}
	return rows, nil
}
