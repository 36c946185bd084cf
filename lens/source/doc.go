// Package source opens an application's own database to be read, and only read.
//
// What must hold:
//
//   - Every statement runs in a transaction that the database itself keeps
//     read-only, on a connection whose session is read-only too. (What a login may
//     do is the login's right: give it SELECT and nothing else. [Source.Writable]
//     tells whether it could write.)
//   - Every call ends: each has a deadline, the server has a statement timeout, and
//     a result has a largest number of rows.
//   - A session's zone, encoding and modes are set by us, never inherited.
//   - No password appears in an error, and no value of a row.
package source
