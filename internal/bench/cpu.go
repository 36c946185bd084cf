package main

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/postledger/postledger/internal/bench/cost"
)

// meter measures a part between start and stop.
type meter struct {
	*cost.Meter
	db *sql.DB // nil without PostgreSQL
}

// startMeter begins to measure. pg is the PostgreSQL database whose client
// backends are counted; "" when there is none.
func startMeter(pg string) (*meter, error) {
	m := &meter{}
	var source cost.Source
	if strings.HasPrefix(pg, "postgres") {
		var err error
		if m.db, err = sql.Open("pgx", pg); err != nil {
			return nil, fmt.Errorf("measure backends: %w", err)
		}
		source = cost.Postgres(m.db)
	}
	var err error
	m.Meter, err = cost.Start(source)
	return m, err
}

// stop returns what was used since start. It is called before the part closes
// its connections: a backend's time is gone with it.
func (m *meter) stop() (result, error) {
	used, err := m.Stop()
	if m.db != nil {
		err = errors.Join(err, m.db.Close())
	}
	return result{Seconds: used.Seconds, Self: used.Self, Server: used.Server}, err
}
