// Package killpoint ends the process at a chosen instruction, so that tests
// can prove what a crash there leaves behind, in the binary that users run.
//
// The variable POSTLEDGER_KILL_AT holds name:n: the n-th time the named point
// is passed, the process sends itself SIGKILL. Without the variable a point
// costs a nil check.
package killpoint

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// Variable is the environment variable that arms a point.
const Variable = "POSTLEDGER_KILL_AT"

// Names lists the points, in the order a message meets them.
func Names() []string {
	return []string{
		"accept_blob_stored", "accept_committed", "lease_committed",
		"wire_mail", "wire_rcpt", "wire_data", "wire_body", "wire_before_dot", "wire_after_dot", "wire_answered",
		"answer_journaled", "settle_before", "settle_committed", "recovery_read",
	}
}

// Point is an armed kill point; a nil one is inert.
type Point struct {
	name string
	left atomic.Int64
}

// Parse reads name:n; "" arms nothing.
func Parse(value string) (*Point, error) {
	if value == "" {
		return nil, nil
	}
	name, count, _ := strings.Cut(value, ":")
	n, err := strconv.Atoi(count)
	if err != nil || n < 1 || !slices.Contains(Names(), name) {
		return nil, fmt.Errorf("%s=%q: want NAME:N with N ≥ 1 and NAME one of %s", Variable, value, strings.Join(Names(), " "))
	}
	p := &Point{name: name}
	p.left.Store(int64(n))
	return p, nil
}

// At kills the process if it is the armed point's turn.
func (p *Point) At(name string) {
	if p == nil || p.name != name || p.left.Add(-1) != 0 {
		return
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}
