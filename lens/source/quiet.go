package source

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
)

// quiet keeps the values of rows out of errors. What a database says when a statement
// fails on a row quotes what it found there (invalid input syntax for type integer: "…"),
// and whoever writes a view or a function may put anything into it. So its words are kept
// where they speak of connections, rights and names only, and of all else its code alone:
// what is kept is listed, what is dropped need not be known.
func quiet(err error) error {
	var postgres *pgconn.PgError
	var maria *mysql.MySQLError
	var lite *sqlite.Error
	switch {
	case errors.As(err, &postgres):
		if postgresSpeaks(postgres) {
			return err
		}
		return coded("PostgreSQL error "+postgres.Code, postgres.Code)
	case errors.As(err, &maria):
		if slices.Contains(mysqlSpeaks, maria.Number) {
			return err
		}
		return coded(fmt.Sprintf("error %d", maria.Number), string(maria.SQLState[:]))
	case errors.As(err, &lite):
		if sqliteSpeaks(lite) {
			return err
		}
		return fmt.Errorf("%w (SQLite error %d)", ErrValue, lite.Code())
	}
	return err
}

// coded is the error of a code: [ErrValue] when it is about a value.
func coded(code, state string) error {
	class := state[:min(2, len(state))]
	if name := cmp.Or(conditions[state], conditions[class]); name != "" {
		code += ", " + name
	}
	if inner := []string{"XX", "F0", "58"}; slices.Contains(inner, class) {
		return errors.New(code)
	}
	return fmt.Errorf("%w (%s)", ErrValue, code)
}

// postgresSpeaks tells whether an error's message has names only: of connections and
// logins (08, 28, 3D, 3F), of what was interrupted or not to be had (25, 40, 53, 55, 57), of
// rights (42501), and of the statement itself (42), which is ours: those have a place in it.
// A row that is cast to a name fails with the same codes, and without one.
func postgresSpeaks(e *pgconn.PgError) bool {
	switch e.Code[:min(2, len(e.Code))] {
	case "08", "25", "28", "3D", "3F", "40", "53", "55", "57":
		return true
	case "42":
		return e.Position > 0 || e.Code == "42501"
	}
	return false
}

// mysqlSpeaks are the errors whose messages have names and figures only.
var mysqlSpeaks = []uint16{
	1040, 1041, 1043, 1129, 1130, 1152, 1158, 1159, 1160, 1161, 1184, 1203, 1226, 1927, 3159, // connections
	1044, 1045, 1142, 1143, 1227, 1370, 1449, 1698, 1820, 1862, 3118, 4151, // rights
	1046, 1049, 1051, 1054, 1064, 1109, 1146, 1193, 1305, 1356, // names, and the statement itself
	1053, 1205, 1213, 1290, 1317, 1792, 1836, 1969, 3024, // interrupted, locked, read only
	1021, 1030, 1037, 1038, 1114, 1135, // out of room
}

// sqliteSpeaks: the generic code is that of missing tables, and of functions that quote
// what they were given.
func sqliteSpeaks(e *sqlite.Error) bool {
	const (
		generic, tooBig, constraint, mismatch, misuse, outOfRange = 1, 18, 19, 20, 21, 25
		primary                                                   = 0xff
	)
	switch e.Code() & primary {
	case generic:
		for _, what := range []string{"table", "column", "function", "module", "collation sequence"} {
			if strings.Contains(e.Error(), "error: no such "+what+": ") {
				return true
			}
		}
		return false
	case tooBig, constraint, mismatch, misuse, outOfRange:
		return false
	}
	return true
}

// conditions are the names of SQLSTATEs and of their classes.
var conditions = map[string]string{
	"0A": "feature not supported", "42": "syntax error or access rule violation",
	"21": "cardinality violation", "22": "data exception", "23": "integrity constraint violation", "45": "raised by a function",
	"54": "program limit exceeded", "58": "system error", "F0": "configuration file error", "P0": "PL/pgSQL error", "XX": "internal error",
	"22001": "string data right truncation", "22003": "numeric value out of range", "22004": "null value not allowed",
	"22007": "invalid datetime format", "22008": "datetime field overflow", "22009": "invalid time zone displacement value",
	"2200F": "zero length character string", "22011": "substring error", "22012": "division by zero", "22015": "interval field overflow",
	"2201B": "invalid regular expression", "2201E": "invalid argument for logarithm", "2201F": "invalid argument for power function",
	"22021": "character not in repertoire", "22023": "invalid parameter value", "22025": "invalid escape sequence",
	"22030": "duplicate JSON object key value", "22032": "invalid JSON text", "22033": "invalid JSON subscript",
	"2203A": "JSON member not found", "2203G": "JSON item cannot be cast", "22P01": "floating point exception",
	"22P02": "invalid text representation", "22P03": "invalid binary representation", "22P05": "untranslatable character",
	"2202E": "array subscript error", "23502": "not null violation", "23505": "unique violation", "23514": "check violation",
	"P0001": "raised by a function", "XX001": "data corrupted", "XX002": "index corrupted",
}
