package ledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// prepared is a statement that each connection prepares once, under its name.
type prepared struct {
	what, name, sql string
}

// stream sends statements with arguments in PostgreSQL's binary format, a chunk
// at a time while they are made, and hears what became of them at the end. A
// group of a megabyte is so never held as a whole, nor copied each time the
// driver's buffer has to grow.
type stream struct {
	pipe *pgconn.Pipeline
	sent []string
	err  error
	// waiting is how much was made and not sent yet.
	waiting int
}

// send sends one statement. An argument is the caller's again when it returns.
func (s *stream) send(st prepared, args ...[]byte) {
	if s.err != nil {
		return
	}
	s.pipe.SendQueryPrepared(st.name, args, []int16{pgx.BinaryFormatCode}, nil)
	s.sent = append(s.sent, st.what)
	for _, a := range args {
		s.waiting += len(a)
	}
	if s.waiting >= chunk {
		s.err, s.waiting = s.pipe.Flush(), 0
	}
}

// stream runs fill, whose statements are sent while it runs, after what was
// queued; ready is called before, with the connection. With commit the
// transaction is ended in the same round trip: the server does not run what
// follows a statement that failed, so a statement whose effect must not be
// committed has to fail. An error after COMMIT was sent is a commitError unless
// the server has refused a statement before it.
func (p *postgresTx) stream(ctx context.Context, t *tx, ready func(*pgx.Conn) error, commit bool, fill func(*stream) error) error {
	if err := t.flush(ctx); err != nil {
		return err
	}
	if p.failed != nil {
		return p.failed
	}
	err := p.raw(func(c *pgx.Conn) error {
		if err := ready(c); err != nil {
			return err
		}
		return p.streamOn(ctx, c, commit, fill)
	})
	p.failed = err
	if err == nil && commit {
		p.begun = false // and nothing is left to end
	}
	return err
}

func (p *postgresTx) streamOn(ctx context.Context, c *pgx.Conn, commit bool, fill func(*stream) error) (err error) {
	s := &stream{pipe: c.PgConn().StartPipeline(ctx)}
	asked := false
	defer func() {
		// Without Sync it gives the connection up, and the server undoes all.
		if end := s.pipe.Close(); err == nil && end != nil {
			err = end
			if asked {
				err = &commitError{err: err}
			}
		}
	}()
	if err := errors.Join(fill(s), s.err); err != nil {
		return err
	}
	if commit {
		s.pipe.SendQueryParams("commit", nil, nil, nil, nil)
		s.sent = append(s.sent, "commit")
	}
	asked = commit
	if err = s.pipe.Sync(); err == nil {
		err = s.answers()
	}
	var refused *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case commit && !errors.Is(err, errUndone) && !(errors.As(err, &refused) && refused.SeverityUnlocalized == "ERROR"):
		return &commitError{err: err}
	default:
		return err
	}
}

// answers reads what the server said to each statement, up to the first error.
// What it says to COMMIT itself leaves the fate open, but for its refusal.
func (s *stream) answers() error {
	for _, what := range s.sent {
		var tag pgconn.CommandTag
		got, err := s.pipe.GetResults()
		if r, ok := got.(*pgconn.ResultReader); ok {
			tag, err = r.Close()
		} else if err == nil {
			err = fmt.Errorf("the server answered with %T", got)
		}
		switch {
		case err != nil && what == "commit":
			return &commitError{err: err}
		case err != nil:
			return fmt.Errorf("%s: %w", what, err)
		case what == "commit" && tag.String() == "ROLLBACK":
			return errUndone
		}
	}
	return nil
}
