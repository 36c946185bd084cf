package lens_test

import (
	"pgregory.net/rapid"

	"github.com/postledger/postledger/lens"
	"github.com/postledger/postledger/lens/catalogue"
)

// relationsOf is what the generator knows of the world.
var relationsOf = map[string]map[string]struct {
	to   string
	many bool
}{
	"people": {"org": {"orgs", false}, "items": {"items", true}, "tags": {"tags", true}},
	"items":  {"person": {"people", false}},
	"orgs":   {"people": {"people", true}},
	"tags":   {},
}

// draw makes a condition on a table.
func (w *world) draw(rt *rapid.T, table string, depth int) lens.Condition {
	most := 9
	if depth == 0 {
		most = 4
	}
	switch n := rapid.IntRange(0, most).Draw(rt, "node"); {
	case n <= 4:
		return w.drawLeaf(rt, table)
	case n == 5:
		return lens.All{Conditions: w.drawMany(rt, table, depth)}
	case n == 6:
		return lens.Any{Conditions: w.drawMany(rt, table, depth)}
	case n == 7:
		return lens.Not{Condition: w.draw(rt, table, depth-1)}
	default:
		return w.drawRelated(rt, table, depth)
	}
}

func (w *world) drawMany(rt *rapid.T, table string, depth int) []lens.Condition {
	n := rapid.IntRange(1, 3).Draw(rt, "members")
	many := make([]lens.Condition, n)
	for i := range many {
		many[i] = w.draw(rt, table, depth-1)
	}
	return many
}

func (w *world) drawRelated(rt *rapid.T, table string, depth int) lens.Condition {
	var names []string
	for _, name := range []string{"items", "org", "people", "person", "tags"} {
		if _, found := relationsOf[table][name]; found {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return w.drawLeaf(rt, table)
	}
	name := rapid.SampledFrom(names).Draw(rt, "relation")
	relation := relationsOf[table][name]
	quantifiers := []lens.Quantifier{lens.Is, lens.IsNot}
	if relation.many {
		quantifiers = []lens.Quantifier{lens.Some, lens.Every, lens.None}
	}
	quantifier := rapid.SampledFrom(quantifiers).Draw(rt, "quantifier")
	var where lens.Condition = lens.Everyone{}
	if rapid.IntRange(0, 4).Draw(rt, "everyone") > 0 || quantifier == lens.Every {
		where = w.draw(rt, relation.to, depth-1)
	}
	return lens.Related{Relation: name, Quantifier: quantifier, Where: where}
}

func (w *world) drawLeaf(rt *rapid.T, table string) lens.Condition {
	s := rapid.SampledFrom(w.columns[table]).Draw(rt, "column")
	if rapid.IntRange(0, 9).Draw(rt, "null") == 0 {
		return lens.Of(s.name).IsNull(rapid.Bool().Draw(rt, "yes"))
	}
	ops := []lens.Op{lens.Eq, lens.Ne, lens.In, lens.NotIn}
	if s.kind.Ordered() {
		ops = append(ops, lens.Lt, lens.Lte, lens.Gt, lens.Gte, lens.Between)
	}
	literals := literalsOf(s)
	compare := lens.Compare{Field: s.name}
	text := s.kind == catalogue.Text
	if s.kind == catalogue.JSON {
		for _, step := range rapid.SampledFrom(docPaths).Draw(rt, "path") {
			switch step := step.(type) {
			case string:
				compare.Path = append(compare.Path, lens.Step{Key: step})
			case int:
				compare.Path = append(compare.Path, lens.Step{Index: step, IsIndex: true})
			}
		}
		ops = append(ops, lens.IsNull)
		if first := rapid.SampledFrom(literals).Draw(rt, "sort"); first != true && first != false {
			ops = append(ops, lens.Lt, lens.Lte, lens.Gt, lens.Gte, lens.Between)
			_, text = first.(string)
			literals = ofType(literals, first)
		} else {
			text, literals = false, []any{true, false}
		}
	}
	if text {
		ops = append(ops, lens.Contains, lens.StartsWith, lens.EndsWith)
	}
	compare.Op = rapid.SampledFrom(ops).Draw(rt, "op")
	literal := func() lens.Value { return lens.Value{Literal: rapid.SampledFrom(literals).Draw(rt, "literal")} }
	switch compare.Op {
	case lens.IsNull:
		compare.Operand.One.Literal = rapid.Bool().Draw(rt, "yes")
		return compare
	case lens.In, lens.NotIn:
		compare.Operand = lens.Operand{IsList: true, List: []lens.Value{literal(), literal(), literal()}}
	case lens.Between:
		compare.Operand = lens.Operand{IsList: true, List: []lens.Value{literal(), literal()}}
	default:
		compare.Operand.One = literal()
	}
	ordered := compare.Op == lens.Lt || compare.Op == lens.Lte || compare.Op == lens.Gt || compare.Op == lens.Gte || compare.Op == lens.Between
	compare.IgnoreCase = text && !ordered && rapid.Bool().Draw(rt, "ignoreCase")
	return compare
}

func literalsOf(s sort) []any {
	if s.kind == catalogue.JSON {
		return docLiterals
	}
	var literals []any
	for _, c := range s.cells {
		literals = append(literals, c.literal)
	}
	return append(literals, s.foreign...)
}

func ofType(literals []any, like any) []any {
	var same []any
	_, isText := like.(string)
	for _, v := range literals {
		_, text := v.(string)
		_, flag := v.(bool)
		if text == isText && !flag {
			same = append(same, v)
		}
	}
	return same
}
