package lens_test

import (
	"testing"
	"time"

	"github.com/postledger/postledger/lens"
	"github.com/postledger/postledger/lens/catalogue"
)

// testIncludesByOtherKeys: a key that can be no value of its column is an error and not
// a no, and bytes are what a driver gives for text.
func (s shopDatabase) testIncludesByOtherKeys(t *testing.T) {
	instant, blob, moment, x := "DATETIME", "BLOB", "2026-01-31 10:00:00", "x'78'"
	switch s.dialect {
	case catalogue.PostgreSQL:
		instant, blob, moment, x = "TIMESTAMPTZ", "BYTEA", moment+"+00", "'x'"
	case catalogue.MySQL:
		instant, blob = "TIMESTAMP", "VARBINARY(9)"
		s.db.SetMaxOpenConns(1)
		s.exec(t, "SET time_zone = '+00:00'")
	}
	tables := map[string][2]string{"by_time": {instant, "'" + moment + "'"}, "by_day": {"DATE", "'2026-01-31'"}, "by_text": {"VARCHAR(40)", "'x'"}, "by_bytes": {blob, x}}
	for name, of := range tables {
		s.exec(t, "CREATE TABLE "+name+" (k "+of[0]+" NOT NULL PRIMARY KEY)")
		s.exec(t, "INSERT INTO "+name+" VALUES ("+of[1]+")")
	}
	c := s.open(t, catalogue.Model{})
	for _, test := range []struct {
		table string
		key   any
		want  string // yes, no, or an error
	}{
		{"by_time", time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC), "yes"},
		{"by_time", []byte("2026-01-31T10:00:00Z"), "yes"},
		{"by_time", "2026-01-31T10:00:01Z", "no"},
		{"by_time", "now", "key[0]: must be a time, not one relative to now"},
		{"by_time", "now-1h", "key[0]: must be a time, not one relative to now"},
		{"by_time", []byte("now"), "key[0]: must be a time, not one relative to now"},
		{"by_day", "2026-01-31", "yes"},
		{"by_day", "now", "key[0]: must be a time, not one relative to now"},
		{"by_text", "x", "yes"},
		{"by_text", []byte("x"), "yes"},
		{"by_text", "now", "no"},
		{"by_text", []byte{0xff}, "key[0]: the text is not UTF-8"},
		{"by_bytes", []byte("x"), "yes"},
		{"by_bytes", "eA==", "yes"},
		{"by_bytes", []byte("eA=="), "no"},
		{"by_bytes", "x", "key[0]: the field holds bytes: must be base64 text, not text"},
	} {
		yes, err := bindTo(t, lens.Where(test.table, lens.Everyone{}).Selecting("k"), c).Includes(t.Context(), s.source, test.key)
		got := map[bool]string{true: "yes", false: "no"}[yes]
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s includes %v: %s, want %s", test.table, test.key, got, test.want)
		}
	}
	for name := range tables {
		s.exec(t, "DROP TABLE "+name)
	}
}
