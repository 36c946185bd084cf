package ledger

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// keptMemory is how large a value a backend is shown once.
const keptMemory = 1 << 20

// keepMemory has a backend keep the memory that a group of rows takes. The C
// library of most servers (glibc) gives whatever is free above 128 KiB back to
// the kernel, and takes it anew for the next group, a page fault for every 4
// KiB; once a value of a megabyte was freed it keeps twice as much. On a virtual
// machine those faults were a third of what accepting cost PostgreSQL. Where
// memory is managed in another way it does nothing.
func keepMemory(ctx context.Context, c *pgx.Conn) error {
	var n int
	if err := c.QueryRow(ctx, `SELECT length($1::text)`, strings.Repeat(" ", keptMemory)).Scan(&n); err != nil {
		return fmt.Errorf("show the backend a large value: %w", err)
	}
	return nil
}
