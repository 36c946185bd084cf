package ledger

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net"

	"github.com/jackc/pgx/v5/pgconn"
)

// unreachable reports whether err is the database's rather than a request's:
// then trying each of a group alone would keep all of them waiting, one timeout
// after the other, and ask the server in trouble once for each, to hear the
// same answer.
func (*Ledger) unreachable(err error) bool {
	var network net.Error
	var connect *pgconn.ConnectError
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, errUncommitted) || errors.Is(err, errClosed) || errors.Is(err, errTooSoon) || errors.As(err, &network) || errors.As(err, &connect) || serverFault(err)
}

// serverFault reports what a server says that cannot do its work, whatever was
// asked: connection exceptions, a session that must not write, no disk or
// memory or connections left, intervention, and faults of its system.
func serverFault(err error) bool {
	var refused *pgconn.PgError
	if !errors.As(err, &refused) || len(refused.Code) != 5 {
		return false
	}
	switch refused.Code[:2] {
	case "08", "53", "57", "58":
		return true
	default:
		return refused.Code == readOnlyTransaction
	}
}

// readOnlyTransaction is what a session of a standby answers to a write, or one
// whose database became read-only.
const readOnlyTransaction = "25006"

func readOnly(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && refused.Code == readOnlyTransaction
}
