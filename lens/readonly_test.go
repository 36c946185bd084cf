package lens_test

import (
	"regexp"
	"slices"
	"testing"

	"github.com/postledger/postledger/lens/catalogue"
)

// loosenings are what a session may be told that would like to write. Where a database
// takes one, the next transaction is read-only all the same.
var loosenings = map[catalogue.Dialect][]string{
	catalogue.PostgreSQL: {
		"SET TRANSACTION READ WRITE", "SELECT set_config('transaction_read_only', 'off', true)::text",
		"SELECT set_config('default_transaction_read_only', 'off', false)::text", "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",
	},
	catalogue.MySQL:  {"SET SESSION TRANSACTION READ WRITE", "SET @@session.transaction_read_only = 0", "COMMIT"},
	catalogue.SQLite: {"PRAGMA query_only = 0", "PRAGMA writable_schema = 1", "COMMIT"},
}

// writes all fail. In MySQL, what changes a table ends the transaction that it stands in:
// there the session alone is in the way, and a loosened one is not.
var writes = map[catalogue.Dialect][]string{
	catalogue.PostgreSQL: {
		"WITH gone AS (DELETE FROM user_tags RETURNING 1) SELECT 1 FROM gone", "COMMIT; DELETE FROM user_tags", "TRUNCATE user_tags",
		"SELECT 1 FROM tags FOR UPDATE", "DO $$ BEGIN DELETE FROM user_tags; END $$", "ALTER TABLE tags ADD x INT",
	},
	catalogue.MySQL: {
		"COMMIT; DELETE FROM user_tags", "REPLACE INTO tags VALUES (1, 'x')", "TRUNCATE TABLE user_tags", "DELETE user_tags FROM user_tags JOIN tags",
		"INSERT INTO tags VALUES (1, 'x') ON DUPLICATE KEY UPDATE label = 'x'", "RENAME TABLE user_tags TO gone",
	},
	catalogue.SQLite: {
		"COMMIT; DELETE FROM user_tags", "PRAGMA query_only = 0; DELETE FROM user_tags", "REPLACE INTO tags VALUES (1, 'x')", "ALTER TABLE tags ADD x INT",
		"PRAGMA user_version = 7", "REINDEX",
	},
}

var alters = regexp.MustCompile("^(TRUNCATE|RENAME|CREATE|DROP)")

// A login that may write cannot, through a source: neither by any lens nor by
// statements that no lens makes.
func (s shopDatabase) testReadsOnly(t *testing.T) {
	users, _ := s.catalogue.Table("users")
	before := s.everything(t)
	if writable, err := s.source.Writable(t.Context(), users); err != nil || !writable {
		t.Errorf("writable: %v, %v", writable, err)
	}
	ask := func(statement string) error {
		return s.source.Read(t.Context(), statement, nil, func(func(...any) error) error { return nil })
	}
	all := slices.Concat(writes[s.dialect], []string{
		"INSERT INTO tags VALUES (9, 'x')", "UPDATE tags SET label = 'x'", "DELETE FROM user_tags", "CREATE TABLE x (id INT)", "DROP TABLE user_tags",
	})
	for _, loosening := range append([]string{""}, loosenings[s.dialect]...) {
		for _, statement := range all {
			if loosening != "" && s.dialect == catalogue.MySQL && alters.MatchString(statement) {
				continue
			}
			if loosening != "" {
				_ = ask(loosening) // taken or not
			}
			if err := ask(statement); err == nil {
				t.Errorf("%s went through (after %q)", statement, loosening)
			}
		}
	}
	q := s.ask(t, `{"from": "users", "where": {"everyone": true}, "select": ["id", {"orders": {"select": ["id"]}}, {"tags": {"select": ["label"]}}]}`)
	for _, err := range q.Rows(t.Context(), s.source, "") {
		if err != nil {
			t.Fatal(err)
		}
	}
	if after := s.everything(t); !slices.EqualFunc(before, after, slices.Equal) {
		t.Errorf("the database was\n%v\nand is\n%v", before, after)
	}
}

// everything is each row of each table, read by the connection that may write.
func (s shopDatabase) everything(t *testing.T) [][]string {
	t.Helper()
	var all [][]string
	for _, table := range []string{"users", "organizations", "orders", "tags", "user_tags"} {
		rows, err := s.db.QueryContext(t.Context(), "SELECT * FROM "+table+" ORDER BY 1, 2")
		if err != nil {
			t.Fatal(err)
		}
		all = append(append(all, []string{table}), textRows(t, rows)...)
	}
	return all
}
