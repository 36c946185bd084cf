package lens

// Bounds on one lens. They keep it within what every database accepts in one
// statement (SQLite: 32,766 values and expressions 1,000 deep; PostgreSQL and
// MySQL: 65,535 values) and within what a person can have meant.
const (
	MaxBytes      = 256 << 10 // of its JSON or YAML
	MaxDepth      = 32        // of all, any, not and relations within each other
	MaxRelations  = 4         // relations within relations, in a where or a select
	MaxConditions = 500       // comparisons and relation tests, the scope's not counted
	MaxList       = 1_000     // values of one list
	MaxValues     = 10_000    // values altogether
	MaxText       = 16 << 10  // bytes of one text value
	MaxItems      = 200       // fields and relations of one select
	// MaxNestedLimit is the largest limit of a nested relation, DefaultNestedLimit
	// the one in force when a lens gives none.
	MaxNestedLimit     = 1_000
	DefaultNestedLimit = 100
)
