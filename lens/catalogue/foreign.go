package catalogue

import (
	"slices"
	"strings"
)

// addForeignKeys makes two relations of every foreign key: one to the table it
// refers to and one back. What the names leave open is left out with a note.
func (b *builder) addForeignKeys() {
	for _, found := range b.schema.Tables {
		from := b.bySQLName[b.modelName(found.Schema, found.Name)]
		if from == nil {
			continue
		}
		back := map[*Table]int{}
		for _, key := range found.ForeignKeys {
			if to := b.bySQLName[b.modelName(key.ToSchema, key.ToTable)]; to != nil {
				back[to]++
			}
		}
		for _, key := range found.ForeignKeys {
			to := b.bySQLName[b.modelName(key.ToSchema, key.ToTable)]
			if to == nil {
				continue // hidden, or of a schema that is not read
			}
			b.addForeignKey(from, to, key, found, back[to] > 1 || from == to)
		}
	}
}

func (b *builder) addForeignKey(from, to *Table, key ForeignKey, found SchemaTable, several bool) {
	pairs, ok := pairsOf(from, key.Columns, to, key.To)
	if !ok {
		b.note("foreign key %s of %s is left out: it refers to a column that cannot be seen", key.Name, found.Name)
		return
	}
	forward := forwardName(key, to)
	one := b.addFound(from, &Relation{
		From: from, To: to, Hops: []Hop{{Table: to, Pairs: pairs}},
	}, forward, forward+"_"+to.Name, strings.Join(key.Columns, "_")+"_ref")

	reversed := make([]Pair, len(pairs))
	for i, pair := range pairs {
		reversed[i] = Pair{Left: pair.Right, Right: pair.Left}
	}
	names := []string{from.Name, from.Name + "_" + one}
	if several {
		// Two ways back need names that tell them apart.
		names = names[1:]
	}
	b.addFound(to, &Relation{
		From: to, To: from, Many: !uniqueBy(found, key.Columns), Hops: []Hop{{Table: from, Pairs: reversed}},
	}, names...)
}

// addFound adds a relation under the first of the names that is free, after what
// the model says of that name.
func (b *builder) addFound(t *Table, r *Relation, names ...string) string {
	for _, name := range names {
		if !Name(name) || t.byName[name] != nil || t.relations[name] != nil {
			continue
		}
		r.Name = name
		t.relations[name] = r
		return name
	}
	b.note("a relation from %s to %s is left out: its names %s are taken; declare it in the model", t.Name, r.To.Name, strings.Join(names, ", "))
	return names[0]
}

// forwardName is organization for organization_id and organizationId.
func forwardName(key ForeignKey, to *Table) string {
	if len(key.Columns) != 1 {
		return to.Name
	}
	column := key.Columns[0]
	for _, suffix := range []string{"_id", "Id", "ID", "_fk", "_key"} {
		if short, found := strings.CutSuffix(column, suffix); found && short != "" {
			return short
		}
	}
	return column
}

// uniqueBy tells whether at most one row can hold the same values in columns.
func uniqueBy(t SchemaTable, columns []string) bool {
	covers := func(key []string) bool {
		return len(key) > 0 && !slices.ContainsFunc(key, func(name string) bool { return !slices.Contains(columns, name) })
	}
	return covers(t.Primary) || slices.ContainsFunc(t.Unique, covers)
}

func pairsOf(left *Table, leftColumns []string, right *Table, rightColumns []string) ([]Pair, bool) {
	if len(leftColumns) != len(rightColumns) || len(leftColumns) == 0 {
		return nil, false
	}
	pairs := make([]Pair, len(leftColumns))
	for i := range leftColumns {
		l, r := left.bySQLName[leftColumns[i]], right.bySQLName[rightColumns[i]]
		if l == nil || r == nil {
			return nil, false
		}
		pairs[i] = Pair{Left: l, Right: r}
	}
	return pairs, true
}
