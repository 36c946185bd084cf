// Package catalogue describes what a database holds, in the words in which a
// lens speaks of it: tables with columns of a closed set of kinds, keys, and
// relations between tables.
//
// A catalogue is made in two steps. Package source reads a [Schema] from the
// database: bare facts under the database's own names. [Build] turns it into a
// [Catalogue] with the help of a [Model], the file in which people rename, hide,
// allow and add.
//
// What must hold:
//
//   - Identifiers in SQL come from here and from nowhere else. The names a lens
//     uses are looked up, never quoted and sent.
//   - A column that looks like a secret is hidden until the model allows it.
//   - A column of a type that no kind describes is listed as [Unsupported], and
//     cannot be read.
//   - What could not be named or related without doubt is left out and said in
//     [Catalogue.Notes]; a model that speaks of something that does not exist is
//     an error.
package catalogue
