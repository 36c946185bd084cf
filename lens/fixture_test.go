package lens_test

import (
	"strings"
	"testing"

	"github.com/postledger/postledger/lens"
	"github.com/postledger/postledger/lens/catalogue"
)

// fixture is a small shop with the addresses of the reported cases, a view, and
// names that only quoting keeps harmless.
var fixture = []string{
	`CREATE TABLE organizations (id BIGINT NOT NULL PRIMARY KEY, name VARCHAR(40))`,
	`CREATE TABLE users (id BIGINT NOT NULL PRIMARY KEY, email VARCHAR(80) NOT NULL, country VARCHAR(2), born DATE, prefs JSON,
		score $double, password_hash VARCHAR(80), organization_id BIGINT, FOREIGN KEY (organization_id) REFERENCES organizations (id))`,
	`CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, user_id BIGINT NOT NULL, total DECIMAL(10,2), FOREIGN KEY (user_id) REFERENCES users (id))`,
	`CREATE TABLE tags (id BIGINT NOT NULL PRIMARY KEY, label VARCHAR(20))`,
	`CREATE TABLE user_tags (user_id BIGINT NOT NULL, tag_id BIGINT NOT NULL, PRIMARY KEY (user_id, tag_id))`,
	`CREATE TABLE $odd (id BIGINT NOT NULL PRIMARY KEY, $evil VARCHAR(40))`,
	`CREATE VIEW norwegians AS SELECT id, email FROM users WHERE country = 'NO'`,
	`INSERT INTO organizations VALUES (1, 'Holt'), (2, 'Berg')`,
	`INSERT INTO users (id, email, country, organization_id, prefs) VALUES
		(1, 'Mira.Holt@RCV.test', 'NO', 1, '{"mail": {"weekly": true}, "langs": ["nb", "en"]}'),
		(2, 'mira.holt@rcv.test', 'SE', 1, '{"mail": {"weekly": false}}'),
		(3, 'a_b@rcv.test', NULL, 2, NULL), (4, 'acb@rcv.test', 'NO', 2, 'null'),
		(5, $backslash, NULL, NULL, NULL), (6, '50%off@rcv.test', 'SE', NULL, NULL), (7, '50xoff@rcv.test', 'no', NULL, NULL)`,
	`INSERT INTO orders VALUES (1, 1, 100.00), (2, 1, 5.50), (3, 2, 7.00), (4, 4, 100.00), (5, 4, NULL)`,
	`INSERT INTO tags VALUES (1, 'vip'), (2, 'new')`,
	`INSERT INTO user_tags VALUES (1, 1), (1, 2), (2, 2)`,
	`INSERT INTO $odd VALUES (1, 'x'), (2, 'y')`,
}

const (
	oddTable  = "od\"d`; DROP TABLE users; --"
	oddColumn = "ev\"il` = `evil` OR 1=1"
)

const fixtureModel = `
tables:
  users:
    relations:
      tags: {to: tags, through: {table: user_tags, on: {id: user_id}, to: {tag_id: id}}}
  norwegians: {key: [id]}
  "od\"d` + "`" + `; DROP TABLE users; --":
    name: odd
    columns:
      "ev\"il` + "`" + ` = ` + "`" + `evil` + "`" + ` OR 1=1": {name: evil}
`

type shopDatabase struct {
	*database
	catalogue *catalogue.Catalogue
}

func shopDatabases(t *testing.T) []shopDatabase {
	t.Helper()
	m, err := catalogue.ParseModel([]byte(fixtureModel))
	if err != nil {
		t.Fatal(err)
	}
	var shops []shopDatabase
	for _, d := range databases(t) {
		words := strings.NewReplacer(
			"$odd", d.dialect.Quote(oddTable), "$evil", d.dialect.Quote(oddColumn),
			"$double", map[bool]string{true: "DOUBLE PRECISION", false: "DOUBLE"}[d.dialect == catalogue.PostgreSQL],
			"$backslash", map[bool]string{true: `'c\\d@rcv.test'`, false: `'c\d@rcv.test'`}[d.dialect == catalogue.MySQL],
		)
		for _, statement := range fixture {
			d.exec(t, words.Replace(statement))
		}
		shops = append(shops, shopDatabase{d, d.open(t, m)})
	}
	return shops
}

// query checks and binds a lens on a table with a where in JSON.
func (s shopDatabase) query(t *testing.T, from, where string, scope lens.Scope, with lens.Bindings) (*lens.Query, error) {
	t.Helper()
	l, err := lens.ParseJSON([]byte(`{"from": "` + from + `", "select": ["id"], "zone": "Europe/Oslo", "where": ` + where + `}`))
	if err != nil {
		return nil, err
	}
	plan, err := l.Check(s.catalogue, scope)
	if err != nil {
		return nil, err
	}
	with.Now = worldNow
	return plan.Bind(with)
}

// ids are the keys of a lens's rows, joined, in order.
func (s shopDatabase) ids(t *testing.T, q *lens.Query) string {
	t.Helper()
	rows, err := lens.Rows(t.Context(), q, s.source)
	if err != nil {
		t.Fatalf("%s: %v", s.dialect, err)
	}
	n, err := q.Count(t.Context(), s.source)
	if err != nil || int(n) != len(rows) {
		t.Errorf("%s counts %d (%v), and reads %d", s.dialect, n, err, len(rows))
	}
	held := make([]bool, 20)
	for _, row := range rows {
		held[atoi(row["id"].(string))] = true
	}
	var ids strings.Builder
	for id, yes := range held {
		if yes {
			ids.WriteString(string(rune('0' + id)))
		}
	}
	return ids.String()
}
