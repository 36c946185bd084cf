package lens

import (
	"time"

	"github.com/postledger/postledger/lens/catalogue"
)

// Plan is a lens that was found good for a catalogue and a scope. It does not
// change, and may be bound any number of times.
type Plan struct {
	lens      Lens
	scope     Scope
	catalogue *catalogue.Catalogue
}

// Bindings are what a plan leaves open.
type Bindings struct {
	// Params are the lens's parameters, ScopeParams the scope's.
	Params, ScopeParams map[string]any
	// Now is what relative times count from. It must be set.
	Now time.Time
}

// Query is a plan with everything bound. It does not change.
type Query struct {
	catalogue *catalogue.Catalogue
	table     *catalogue.Table
	// where includes the scope's floor for the table.
	where bound
	shape shape
	order []ordering
	key   []*catalogue.Column
}

// shape is a select whose names are columns and relations, in its order. Each
// item is one or the other.
type shape []shapeItem

type shapeItem struct {
	column *catalogue.Column
	nested *nested
}

// nested is a relation of a select. Its rows satisfy floors (one for each hop,
// or nil) and where, which may be nil.
type nested struct {
	relation *catalogue.Relation
	floors   []bound
	where    bound
	shape    shape
	order    []ordering
	limit    int
}

type ordering struct {
	column *catalogue.Column
	desc   bool
}

// Lens is the lens as it was checked.
func (p *Plan) Lens() Lens { return p.lens }

// Catalogue is what the plan was checked against.
func (p *Plan) Catalogue() *catalogue.Catalogue { return p.catalogue }

// Table is the table whose rows are read.
func (q *Query) Table() *catalogue.Table { return q.table }

// Key are the columns that tell rows apart, in the order in which pages follow.
func (q *Query) Key() []*catalogue.Column { return q.key }
