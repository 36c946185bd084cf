package client

import (
	"time"

	"github.com/postledger/postledger"
)

// newKey makes an idempotency key: a UUIDv7, so 74 bits of it are random and
// two clients do not meet in one.
func newKey() string {
	var ids postledger.IDSource
	return ids.Next(time.Now()).String()
}
