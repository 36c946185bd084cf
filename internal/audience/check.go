package audience

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/lens"
	"github.com/postledger/postledger/lens/catalogue"
)

// checked is a definition that fits its source.
type checked struct {
	opened Opened
	lens   lens.Lens
	plan   *lens.Plan
	def    postledger.AudienceDefinition
}

// Check holds a definition against the source as it is now, and returns it with
// its lens in the one form that is saved. What is wrong with it is an
// *InvalidError; a source that does not answer an *UnavailableError: what could
// not be checked is not good.
func (s *Service) Check(ctx context.Context, app postledger.App, d postledger.AudienceDefinition) (postledger.AudienceDefinition, error) {
	c, err := s.check(ctx, app, d, true)
	if err != nil {
		return d, err
	}
	if d.Lens, err = c.lens.MarshalJSON(); err != nil {
		return d, fmt.Errorf("check audience: %w", err)
	}
	return d, nil
}

// check uses the catalogue that is at hand, unless fresh is set, and reads it anew before it
// says that something is wrong: a table may have been given the column meanwhile.
func (s *Service) check(ctx context.Context, app postledger.App, d postledger.AudienceDefinition, fresh bool) (*checked, error) {
	l, problems := read(d)
	if len(problems) > 0 {
		return nil, &InvalidError{problems}
	}
	for {
		o, err := s.open(ctx, app, d.Source, fresh)
		if err != nil {
			return nil, err
		}
		c, err := against(o, l, d)
		var wrong *InvalidError
		switch {
		case err == nil:
			return c, nil
		case !errors.As(err, &wrong):
			return nil, s.unavailable(ctx, d.Source, err)
		case fresh:
			return nil, err
		}
		fresh = true
	}
}

// read looks at what needs no catalogue.
func read(d postledger.AudienceDefinition) (lens.Lens, []Problem) {
	var problems []Problem
	add := func(field, rule, message string) { problems = append(problems, Problem{field, rule, message}) }
	if d.Source == "" {
		add("source", RuleRequired, "is missing")
	}
	if d.Address == "" {
		add("address", RuleRequired, "is missing: it names the field with the recipient's address")
	}
	switch {
	case d.Category == "":
		add("category", RuleRequired, "is missing")
	case !d.Category.Valid():
		add("category", RuleUnknown, "is none of system, platform, activity and marketing")
	}
	if len(d.Lens) == 0 {
		add("lens", RuleRequired, "is missing")
		return lens.Lens{}, problems
	}
	l, err := lens.ParseJSON(d.Lens)
	if err != nil {
		problems = append(problems, faultsOf(err)...)
	}
	return l, problems
}

// against holds a definition against a catalogue.
func against(o Opened, l lens.Lens, d postledger.AudienceDefinition) (*checked, error) {
	plan, err := l.Check(o.Catalogue, o.Floor)
	if err != nil {
		if problems := faultsOf(err); problems != nil {
			return nil, &InvalidError{problems}
		}
		return nil, err
	}
	table, found := o.Catalogue.Table(l.From)
	if !found {
		return nil, fmt.Errorf("table %s is gone", l.From) // the plan has it
	}
	var problems []Problem
	for _, f := range []struct {
		name, path string
		kinds      []catalogue.Kind
	}{
		{"address", d.Address, []catalogue.Kind{catalogue.Text}},
		{"locale", d.Locale, []catalogue.Kind{catalogue.Text, catalogue.Enum}},
		{"tenant", d.Tenant, []catalogue.Kind{catalogue.Text, catalogue.Enum, catalogue.Int, catalogue.BigInt, catalogue.UUID}},
		{"timezone", d.Timezone, []catalogue.Kind{catalogue.Text, catalogue.Enum}},
	} {
		if f.path == "" {
			continue
		}
		if problem := fieldProblem(l.Select, table, f.path, f.kinds); problem != "" {
			problems = append(problems, Problem{f.name, RuleField, problem})
		}
	}
	if len(problems) > 0 {
		return nil, &InvalidError{problems}
	}
	return &checked{opened: o, lens: l, plan: plan, def: d}, nil
}

// fieldProblem says why a path is no field of the projection that can serve, or "".
func fieldProblem(items []lens.Item, t *catalogue.Table, path string, kinds []catalogue.Kind) string {
	name, rest, deeper := strings.Cut(path, ".")
	if !catalogue.Name(name) {
		return "must be a field's name, with a relation and a dot before it where the field is a related row's"
	}
	at := slices.IndexFunc(items, func(i lens.Item) bool {
		return deeper == (i.Relation != nil) && (i.Relation == nil && i.Field == name || i.Relation != nil && i.Relation.Name == name)
	})
	if at < 0 {
		return fmt.Sprintf("the lens does not select %s %q", map[bool]string{false: "a field", true: "a relation"}[deeper], name)
	}
	if deeper {
		r, found := t.Relation(name)
		switch {
		case !found:
			return fmt.Sprintf("there is no relation %q", name)
		case r.Many:
			return fmt.Sprintf("%s leads to many rows, and one must be meant", name)
		}
		return fieldProblem(items[at].Relation.Select, r.To, rest, kinds)
	}
	c, found := t.Column(name)
	switch {
	case !found:
		return fmt.Sprintf("there is no field %q", name)
	case !slices.Contains(kinds, c.Kind):
		return fmt.Sprintf("the field holds %s, and must hold %s", c.Kind, kindNames(kinds))
	}
	return ""
}

func kindNames(kinds []catalogue.Kind) string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = string(k)
	}
	return strings.Join(names, ", ")
}

// bind gives the plan what it leaves open.
func (s *Service) bind(c *checked, params map[string]any) (*lens.Query, error) {
	q, err := c.plan.Bind(lens.Bindings{Params: params, Now: s.Now()})
	if err == nil {
		return q, nil
	}
	if problems := faultsOf(err); problems != nil {
		return nil, &InvalidError{asked(problems)}
	}
	return nil, &UnavailableError{c.def.Source, err}
}
