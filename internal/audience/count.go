package audience

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/address"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/lens"
)

// Counts says what becomes of the rows that matched; the last five add up to the
// first.
type Counts struct {
	Matched, Mailable, NoAddress, Invalid, Duplicate, Suppressed int64
}

// Progress is how far a count is. Of is how many rows there were when it began, or
// -1 when that could not be found out quickly.
type Progress struct{ Read, Of int64 }

// aheadTimeout bounds the question how many rows there will be: it is for people
// who wait, and the count does not need it.
const aheadTimeout = 5 * time.Second

// count reads every row's address, a page at a time.
func (s *Service) count(ctx context.Context, app postledger.ID, c *checked, q *lens.Query, progress func(Progress)) (n Counts, err error) {
	q, err = q.Only(c.def.Address)
	if err != nil {
		return n, fmt.Errorf("count: %w", err)
	}
	p := Progress{Of: s.ahead(ctx, c, q)}
	progress(p)
	seen := newDistinct(s.Dir, distinctMarks)
	defer func() { err = errors.Join(err, seen.close()) }()
	for page, err := range q.Stream(ctx, c.opened.Source, "") {
		if err != nil {
			return n, s.unavailable(ctx, c.def.Source, err)
		}
		if err := s.countPage(ctx, app, c.def.Address, page.Rows, &n, seen); err != nil {
			return n, err
		}
		p.Read += int64(len(page.Rows))
		progress(p)
	}
	all, suppressed, err := seen.total(ctx)
	if err != nil {
		return n, err
	}
	n.Matched = p.Read
	n.Duplicate = n.Matched - n.NoAddress - n.Invalid - all
	n.Suppressed, n.Mailable = suppressed, all-suppressed
	return n, nil
}

// ahead asks how many rows there are.
func (s *Service) ahead(ctx context.Context, c *checked, q *lens.Query) int64 {
	ctx, cancel := context.WithTimeout(ctx, aheadTimeout)
	defer cancel()
	n, err := q.Count(ctx, c.opened.Source)
	if err != nil {
		return -1
	}
	return n
}

// countPage judges one page. Its addresses are looked up in one go.
func (s *Service) countPage(ctx context.Context, app postledger.ID, path string, rows []lens.Row, n *Counts, seen *distinct) error {
	folded := make([]string, 0, len(rows))
	asked := make([]ledger.AppAddress, 0, len(rows))
	for _, row := range rows {
		text := textAt(row, path)
		if strings.TrimSpace(text) == "" {
			n.NoAddress++
			continue
		}
		a, err := address.Parse(text)
		if err != nil {
			n.Invalid++
			continue
		}
		fold := a.Fold()
		folded = append(folded, fold)
		asked = append(asked, ledger.AppAddress{AppID: app, AddressFolded: fold})
	}
	if len(folded) == 0 {
		return nil
	}
	listed, err := s.Ledger.Suppressed(ctx, asked)
	if err != nil {
		return fmt.Errorf("count: %w", err)
	}
	for i, fold := range folded {
		_, suppressed := listed[asked[i]]
		if err := seen.add(ctx, fold, suppressed); err != nil {
			return err
		}
	}
	return nil
}

// textAt is the text that a path leads to; "" where a row on the way is missing, or
// the field is null.
func textAt(row lens.Row, path string) string {
	name, rest, deeper := strings.Cut(path, ".")
	if !deeper {
		text, _ := row[name].(string)
		return text
	}
	related, ok := row[name].(lens.Row)
	if !ok || related == nil {
		return ""
	}
	return textAt(related, rest)
}
