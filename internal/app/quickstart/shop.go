package quickstart

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // the shop is an SQLite file

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/client"
	"github.com/postledger/postledger/internal/app/config"
	"github.com/postledger/postledger/internal/secret"
)

// The shop's customers are made of these, always the same ones.
var (
	shopNames     = [...]string{"Ada", "Bjørn", "Chidi", "Dana", "Eero", "Fatima", "Gus", "Hanna", "Ivo", "Jun", "Kari", "Lena"}
	shopCountries = [...]string{"NO", "SE", "DK", "FI", ""}
)

const shopCustomers = 240

// makeShop writes a small database such as an application has, and configures it as
// the source "shop" of the app of that name.
func (s *show) makeShop() (err error) {
	path := filepath.Join(s.dir, "shop.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return fmt.Errorf("make the shop: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tx, err := db.BeginTx(s.ctx, nil)
	if err != nil {
		return fmt.Errorf("make the shop: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // nothing after the commit
	if err := fillShop(s.ctx, tx); err != nil {
		return fmt.Errorf("make the shop: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("make the shop: %w", err)
	}
	s.config.Sources = map[string]config.Source{"shop": {DSN: secret.NewValue("sqlite:" + path), Apps: []string{"shop"}}}
	return nil
}

func fillShop(ctx context.Context, tx *sql.Tx) error {
	exec := func(statement string, args ...any) error {
		_, err := tx.ExecContext(ctx, statement, args...)
		return err
	}
	err := errors.Join(
		exec(`CREATE TABLE customers (id INTEGER PRIMARY KEY, email TEXT, name TEXT NOT NULL, country TEXT, password_hash TEXT)`),
		exec(`CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers (id), total DECIMAL(10,2) NOT NULL)`),
	)
	for i := 1; i <= shopCustomers && err == nil; i++ {
		name := shopNames[i%len(shopNames)]
		email := any(fmt.Sprintf("%s%d@example.com", strings.ToLower(strings.ReplaceAll(name, "ø", "o")), i))
		switch {
		case i%60 == 1:
			email = nil
		case i%80 == 5:
			email = fmt.Sprintf("%s at example.com", name)
		case i%70 == 11: // the customer before, written otherwise
			email = fmt.Sprintf("%s%d@EXAMPLE.com", strings.ToUpper(shopNames[(i-1)%len(shopNames)]), i-1)
		}
		var country any
		if c := shopCountries[i%len(shopCountries)]; c != "" {
			country = c
		}
		err = exec(`INSERT INTO customers (id, email, name, country) VALUES (?, ?, ?, ?)`, i, email, name, country)
		for n := range i % 3 {
			err = errors.Join(err, exec(`INSERT INTO orders (customer_id, total) VALUES (?, ?)`, i, float64(i%40*5+n)+0.5))
		}
	}
	return err
}

// shopLens: everybody but Danes, also those whose country nobody knows, who have
// ordered for 20 or more.
const shopLens = `{"from": "customers", "where": {"country": {"ne": "DK"}, "orders": {"some": {"total": {"gte": 20}}}},
	"select": ["email", "name", {"orders": {"select": ["total"], "order": ["-total"], "limit": 1}}]}`

// audience saves an audience of the shop's customers, and shows whom it reaches.
func (s *show) audience() error {
	a, err := s.app.PutAudience(s.ctx, "regulars", client.AudienceChange{AudienceDefinition: postledger.AudienceDefinition{
		Source: "shop", Address: "email", Category: postledger.CategoryActivity, Lens: json.RawMessage(shopLens),
	}})
	if err != nil {
		return err
	}
	if err := s.app.Suppress(s.ctx, postledger.ID{}, "Kari10@example.com", "asked on the phone"); err != nil {
		return err
	}
	p, err := s.app.PreviewAudience(s.ctx, client.PreviewRequest{
		Audience: a.Name, Want: []client.Want{client.WantCounts, client.WantSample, client.WantExplanation},
	})
	if err != nil {
		return err
	}
	n := p.Counts
	s.say("\naudience %s, version %d: %s\n", a.Name, a.Revision, p.Explanation.English)
	s.say("  %d matched = %d mailable + %d no_address + %d invalid + %d duplicate + %d suppressed\n",
		n.Matched, n.Mailable, n.NoAddress, n.Invalid, n.Duplicate, n.Suppressed)
	for _, row := range p.Sample.Rows[:min(3, len(p.Sample.Rows))] {
		s.say("  %s\n", row)
	}
	if n.Matched != n.Mailable+n.NoAddress+n.Invalid+n.Duplicate+n.Suppressed {
		return errors.New("the audience's counts do not add up")
	}
	return s.refusedAudience()
}

// refusedAudience shows that a filter with a mistake reaches nobody.
func (s *show) refusedAudience() error {
	_, err := s.app.PreviewAudience(s.ctx, client.PreviewRequest{Definition: &postledger.AudienceDefinition{
		Source: "shop", Address: "email", Category: postledger.CategoryActivity,
		Lens: json.RawMessage(`{"from": "customers", "where": {"contry": {"ne": "DK"}}, "select": ["email"]}`),
	}})
	var refused *client.Error
	if !errors.As(err, &refused) || len(refused.Fields) == 0 {
		return fmt.Errorf("a filter with a mistake was not refused: %w", err)
	}
	s.say("  a filter with a mistake reaches nobody: %s: %s\n", refused.Fields[0].Field, refused.Fields[0].Message)
	return nil
}
