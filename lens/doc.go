// Package lens reads an application's own database through projections that fail
// closed. A [Lens] says which rows of a table may be read (where) and which fields
// and relations of them (select); what it does not say cannot be seen.
//
// A lens goes through three steps, and only the last touches a database:
//
//	l, err := lens.ParseJSON(text)            // or ParseYAML, or the Go builder
//	plan, err := l.Check(catalogue, scope)    // names and types against a catalogue
//	query, err := plan.Bind(params, time.Now()) // typed parameters, relative times
//	n, err := query.Count(ctx, source)        // parameterised SQL
//	page, err := query.Page(ctx, source, "", 0) // also First, Stream, Rows, Explain
//	yes, err := query.Matches(row)            // the same where, in memory
//
// What must hold:
//
//   - Nobody is read because a filter was empty, null, misspelt or failed. No
//     where, {}, null, an empty all, a leaf without a value, an unknown name, a value
//     of another type, a missing parameter, a hidden field: each is an error that
//     names its path. Every row is read only by {"everyone": true}, and a filter
//     that could only be true (notIn an empty list) is refused.
//   - A filter and its negation add up to every row: null is not equal to
//     anything, and "not equal" includes it. The database and [Query.Matches] agree,
//     row by row, in every dialect.
//   - Nothing of a lens is spliced into SQL. Identifiers come from the catalogue,
//     values are bound.
//   - A [Scope] is and-ed to every table that a lens touches, also inside
//     relations, and no lens can take it away. A narrowed lens reads no more rows
//     and no more fields than the one it narrows.
package lens
