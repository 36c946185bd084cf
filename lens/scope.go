package lens

// Scope is a floor under every lens: conditions that the application and not the
// lens's author sets, and that no lens can take away.
//
// The rows of a table that its condition does not admit do not exist for a lens:
// not at the root, not as related rows, and not as rows in the middle of a
// relation. The conditions themselves see the whole database. The zero Scope
// admits everything; a table whose condition is Any{} cannot be read at all.
type Scope struct {
	// Where holds a condition for each table that has one, by its name in the
	// catalogue.
	Where map[string]Condition
	// Params are the scope's own parameters. A lens can neither see nor set them.
	Params map[string]Param
	Zone   string
}
