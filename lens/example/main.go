// Command example reads a small shop's database through a lens: who is to hear of
// a sale, with what their letter needs, and nothing else.
//
//	go run ./lens/example
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // registers the database/sql driver "sqlite"

	"github.com/postledger/postledger/lens"
	"github.com/postledger/postledger/lens/catalogue"
	"github.com/postledger/postledger/lens/source"
)

const shop = `
CREATE TABLE organizations (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE users (id INTEGER PRIMARY KEY, email TEXT, country TEXT, password_hash TEXT,
	organization_id INTEGER REFERENCES organizations (id));
CREATE TABLE orders (id INTEGER PRIMARY KEY, user_id INTEGER NOT NULL REFERENCES users (id), total REAL NOT NULL);
INSERT INTO organizations VALUES (1, 'Nordic Outfitters'), (2, 'Fjord Supplies');
INSERT INTO users VALUES (1, 'ada@example.com', 'NO', 'x', 1), (2, 'bo@example.com', 'SE', 'x', 1),
	(3, 'cy@example.com', NULL, 'x', 2), (4, NULL, 'NO', 'x', NULL);
INSERT INTO orders VALUES (1, 1, 40), (2, 1, 250.5), (3, 3, 120), (4, 2, 15);`

const spenders = `
from: users
where:
  email: {isNull: false}
  country: {ne: "SE"}
  orders: {some: {total: {gte: {param: least}}}}
select:
  - email
  - organization: [name]
  - orders: {select: [total], order: [-total], limit: 1}
params:
  least: {kind: float, default: 100}
`

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "lens-example-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "shop.db")
	if err := fill(ctx, path); err != nil {
		return err
	}
	s, err := source.Open(ctx, "sqlite:"+path, source.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	tables, err := s.Catalogue(ctx, catalogue.Model{})
	if err != nil {
		return err
	}
	l, err := lens.ParseYAML([]byte(spenders))
	if err != nil {
		return err
	}
	fmt.Println("lens:   ", l)
	plan, err := l.Check(tables, lens.Scope{})
	if err != nil {
		return err
	}
	query, err := plan.Bind(lens.Bindings{Params: map[string]any{"least": 100}, Now: time.Now()})
	if err != nil {
		return err
	}
	n, err := query.Count(ctx, s)
	if err != nil {
		return err
	}
	fmt.Println("matches:", n)
	for row, err := range query.Rows(ctx, s, "") {
		if err != nil {
			return err
		}
		text, err := query.AppendJSON(nil, row)
		if err != nil {
			return err
		}
		fmt.Println("row:    ", string(text))
	}
	// What a lens must not do is an error that says where, before any row is read.
	for _, where := range []string{`{}`, `{"contry": {"eq": "NO"}}`, `{"password_hash": {"startsWith": "x"}}`} {
		fmt.Printf("refused: %s\n         %v\n", where, refused(tables, where))
	}
	return nil
}

func refused(tables *catalogue.Catalogue, where string) error {
	l, err := lens.ParseJSON([]byte(`{"from": "users", "select": ["email"], "where": ` + where + `}`))
	if err != nil {
		return err
	}
	_, err = l.Check(tables, lens.Scope{})
	return err
}

func fill(ctx context.Context, path string) (err error) {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	_, err = db.ExecContext(ctx, shop)
	return err
}
