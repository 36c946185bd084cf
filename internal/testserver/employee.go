package testserver

import (
	"os"
	"path/filepath"
	"testing"
)

// EmployeeScript is the SQL script of Firebird's sample database EMPLOYEE (staff,
// departments, projects and sales of a small company), as a distribution ships it.
// It is written in Firebird's SQL: whoever wants its rows must translate.
func EmployeeScript(tb testing.TB) string {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join(checkoutRoot(tb), ".deps", "employee.sql"))
	if err != nil {
		tb.Fatalf("Firebird's sample database is not installed (.deps/employee.sql): run `make deps`: %v", err)
	}
	return string(text)
}
