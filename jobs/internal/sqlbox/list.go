package sqlbox

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/postledger/postledger/jobs"
)

const (
	// mostLooked is how many rows a page of a list looks at in each section for those
	// that it asks for, when no index knows them; a page that asks for more looks at
	// as many.
	mostLooked = 1000
	// mostListed bounds the payloads of a page; the first row comes always.
	mostListed = 4 << 20
)

// section is a part of a list that one index serves, in its order.
type section struct {
	name  byte
	where string
	args  []any
	keyed keyed
	index string // without the prefix job_outbox_
	few   bool   // no more rows than the hot set holds: they may be sorted
}

// sections are those of a list, in the order in which jobs come to run.
func sections(query jobs.Query) []section {
	var all []section
	if query.State == "" || query.State == jobs.Admitted {
		all = append(all, section{name: 'h', where: "state = 2", index: "admitted", few: true})
	}
	if query.State == "" || query.State == jobs.Buffered {
		for _, lane := range jobs.Lanes {
			switch {
			case query.Lane != "" && query.Lane != lane:
			case query.Group != "":
				all = append(all, section{
					name: lane[0], where: "state = 0 AND lane = ? AND grp = ?", args: []any{LaneNumber(lane), query.Group}, index: "waiting",
				})
			default:
				all = append(all, section{
					name: lane[0], where: "state = 0 AND lane = ?", args: []any{LaneNumber(lane)}, keyed: byGroup, index: "waiting",
				})
			}
		}
		all = append(all, section{name: 'l', where: "state = 1", keyed: byRunAt, index: "scheduled"})
	}
	if query.State == "" || query.State == jobs.Quarantined {
		all = append(all, section{name: 'q', where: "state = 3", keyed: byChangedAt, index: "aside"})
	}
	return all
}

// Look is a statement of a list about one section, or about what a page has left of
// it: the rows of the last key, then those of the keys behind it. It is bounded by the
// order of an index: a comparison of both columns at once would be, too, but MySQL
// reads from the beginning for one.
type Look struct {
	SQL  string
	Args []any
	// Index serves it, in order but for a few.
	Index   string
	Ordered bool

	section int
}

// looks are those of a page.
func looks(query jobs.Query, all []section, from int, after cursor, limit int) []Look {
	fits, fitArgs := filter(query)
	var out []Look
	for i, s := range all[from:] {
		group, moment, order := "''", "0", "place"
		switch {
		case s.few:
			order = "place + 0" // an index on place alone holds all others, too
		case s.keyed == byGroup:
			group, order = "grp", "grp, place"
		case s.keyed != byPlace:
			moment, order = s.keyed.column(), s.keyed.column()+", place"
		}
		add := func(where, order string, args ...any) {
			out = append(out, Look{
				SQL: fmt.Sprintf("SELECT %d AS look, id, place, %s AS g, %s AS m, length(payload) AS size, %s AS fits FROM job_outbox WHERE %s%s ORDER BY %s LIMIT ?",
					len(out), group, moment, fits, s.where, where, order),
				Args:  slices.Concat(fitArgs, s.args, args, []any{limit}),
				Index: s.index, Ordered: !s.few, section: from + i,
			})
		}
		switch {
		case s.name != after.section:
			add("", order)
		case s.keyed == byPlace:
			add(" AND place > ?", order, after.place)
		default:
			add(" AND "+s.keyed.column()+" = ? AND place > ?", "place", s.keyed.arg(after.key), after.place)
			add(" AND "+s.keyed.column()+" > ?", order, s.keyed.arg(after.key))
		}
	}
	return out
}

// filter is the condition for what no section knows by itself.
func filter(query jobs.Query) (condition string, args []any) {
	var all []string
	add := func(column string, arg any) {
		all, args = append(all, column+" = ?"), append(args, arg)
	}
	if query.Lane != "" {
		add("lane", LaneNumber(query.Lane))
	}
	if query.Handler != "" {
		add("handler", query.Handler)
	}
	if query.Group != "" {
		add("grp", query.Group)
	}
	if len(all) == 0 {
		return "1", nil
	}
	return "CASE WHEN " + strings.Join(all, " AND ") + " THEN 1 ELSE 0 END", args
}

// Looks are the statements of a list's page, for tests of their plans.
func Looks(query jobs.Query) ([]Look, error) {
	all := sections(query)
	after, from, err := parseCursor(query.After, all)
	return looks(query, all, from, after, looked(query)), err
}

func looked(query jobs.Query) int {
	if query.Lane == "" && query.Handler == "" && query.Group == "" {
		return query.Limit
	}
	return max(query.Limit, mostLooked)
}

// seen is a row that a look has met.
type seen struct {
	look          int
	id            jobs.ID
	place         int64
	group         string // where a section is ordered by it
	moment        int64  // of the column by which a section is ordered
	size, fitting int64
}

// List implements jobs.OutboxRows. All sections are looked at in one statement, so that
// no row is missed that goes from one to another meanwhile.
func (b *Box) List(ctx context.Context, query jobs.Query) ([]jobs.Row, string, error) {
	all := sections(query)
	after, from, err := parseCursor(query.After, all)
	if err != nil {
		return nil, "", err
	}
	limit := looked(query)
	every := looks(query, all, from, after, limit)
	if len(every) == 0 || query.Limit <= 0 {
		return nil, "", nil
	}
	found, err := b.reader(ctx).look(every)
	if err != nil {
		return nil, "", fmt.Errorf("list jobs: %w", err)
	}
	slices.SortFunc(found, func(x, y seen) int {
		return cmp.Or(cmp.Compare(x.look, y.look), cmp.Compare(x.group, y.group), cmp.Compare(x.moment, y.moment), cmp.Compare(x.place, y.place))
	})
	ids, next := page(found, query.Limit, limit, func(s seen) string {
		in := all[every[s.look].section]
		return cursor{in.name, in.keyed.of(&s), s.place}.String()
	})
	rows, err := b.rows(ctx, ids)
	if err != nil {
		return nil, "", fmt.Errorf("list jobs: %w", err)
	}
	return rows, next, nil
}

// page chooses rows of what was seen, and tells where the next page begins: behind the
// last that was chosen, or at the end of a look that may have more.
func page(found []seen, limit, looked int, at func(seen) string) (ids []jobs.ID, next string) {
	var size int64
	in := 0 // of this look
	for i, s := range found {
		if i > 0 && s.look != found[i-1].look {
			in = 0
		}
		in++
		if s.fitting != 0 {
			if size += s.size; size > mostListed && len(ids) > 0 {
				return ids, at(found[i-1])
			}
			ids = append(ids, s.id)
		}
		if len(ids) == limit || in == looked {
			return ids, at(s)
		}
	}
	return ids, ""
}

func (s *session) look(every []Look) ([]seen, error) {
	var parts []string
	var args []any
	for i, l := range every {
		parts = append(parts, fmt.Sprintf("SELECT * FROM (%s) AS l%d", l.SQL, i))
		args = append(args, l.Args...)
	}
	var found []seen
	err := s.each(strings.Join(parts, " UNION ALL "), args, func(rows *sql.Rows) (bool, error) {
		var r seen
		if err := rows.Scan(&r.look, &r.id, &r.place, &r.group, &r.moment, &r.size, &r.fitting); err != nil {
			return false, fmt.Errorf("scan row: %w", err)
		}
		found = append(found, r)
		return true, nil
	})
	return found, err
}

// rows are those of ids in their order, but for those that are gone.
func (b *Box) rows(ctx context.Context, ids []jobs.ID) ([]jobs.Row, error) {
	found := make(map[jobs.ID]jobs.Row, len(ids))
	for part := range chunks(ids) {
		condition, args := b.d.IDs(part)
		rows, err := b.reader(ctx).collect("SELECT "+readColumns+" FROM job_outbox WHERE "+condition, args, 0)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			found[r.ID] = r
		}
	}
	var rows []jobs.Row
	for _, id := range ids {
		if r, ok := found[id]; ok {
			rows = append(rows, r)
		}
	}
	return rows, nil
}
