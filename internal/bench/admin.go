package main

import (
	"context"
	"fmt"
	"net/url"

	"github.com/jackc/pgx/v5"
)

// asAdmin runs fn on a connection of the superuser.
func (s *servers) asAdmin(fn func(context.Context, *pgx.Conn) error) error {
	ctx := context.Background()
	c, err := pgx.Connect(ctx, s.admin)
	if err != nil {
		return fmt.Errorf("connect as superuser: %w", err)
	}
	defer c.Close(ctx)
	return fn(ctx, c)
}

// exec runs statements as superuser, each alone.
func (s *servers) exec(statements ...string) error {
	return s.asAdmin(func(ctx context.Context, c *pgx.Conn) error {
		for _, q := range statements {
			if _, err := c.Exec(ctx, q); err != nil {
				return fmt.Errorf("%s: %w", q, err)
			}
		}
		return nil
	})
}

// has says whether the server could install an extension.
func (s *servers) has(extension string) (has bool, err error) {
	err = s.asAdmin(func(ctx context.Context, c *pgx.Conn) error {
		return c.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM pg_available_extensions WHERE name = $1)`, extension).Scan(&has)
	})
	return has, err
}

// create makes a database, in place of one of that name, as a copy of another.
// Nobody may be connected to that one; who has just left is waited for.
func (s *servers) create(name, template string) (string, error) {
	u, err := url.Parse(s.postgres)
	if err != nil {
		return "", fmt.Errorf("read the server's URL: %w", err)
	}
	owner := pgx.Identifier{u.User.Username()}.Sanitize()
	from := pgx.Identifier{template}.Sanitize()
	to := pgx.Identifier{name}.Sanitize()
	err = s.asAdmin(func(ctx context.Context, c *pgx.Conn) error {
		if _, err := c.Exec(ctx, "DROP DATABASE IF EXISTS "+to+" WITH (FORCE)"); err != nil {
			return err
		}
		if _, err := c.Exec(ctx, `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = $1`, template); err != nil {
			return err
		}
		_, err := c.Exec(ctx, "CREATE DATABASE "+to+" OWNER "+owner+" TEMPLATE "+from)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("create database %s: %w", name, err)
	}
	u.Path = "/" + name
	return u.String(), nil
}
