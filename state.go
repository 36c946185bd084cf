package postledger

import "slices"

// Status is the stage of a delivery's life. Why it is there is its Reason.
type Status string

// The states of a delivery. docs/states.md draws the same table.
const (
	// StatusQueued waits for its time, the profile's pace or health, or a worker.
	StatusQueued Status = "queued"
	// StatusSending is leased under a fence: bytes may be on the wire.
	StatusSending Status = "sending"
	// StatusSent says that the next hop took responsibility.
	StatusSent Status = "sent"
	// StatusUnconfirmed says that the final dot left and no answer is known,
	// or that the fate of the worker that held the lease is unknown.
	StatusUnconfirmed Status = "unconfirmed"
	// StatusFailed says refused for good, expired, or retries exhausted.
	StatusFailed Status = "failed"
	// StatusSuppressed says that we decided not to send to this address.
	StatusSuppressed Status = "suppressed"
	// StatusCanceled says that the app or an operator took it back in time.
	StatusCanceled Status = "canceled"
)

// Mover is who moves a delivery from one state to another.
type Mover string

// The movers, each with the guard its write must carry.
const (
	// MoverWorker holds the lease: its write names the fence.
	MoverWorker Mover = "worker"
	// MoverGate is the lease holder before its first byte; it names the fence.
	MoverGate Mover = "gate"
	// MoverSweep acts on rows nobody holds (expiry, cancel, removed profile):
	// its write demands the state it read.
	MoverSweep Mover = "sweep"
	// MoverRecovery acts for an owner proven dead or lost: it names owner and fence.
	MoverRecovery Mover = "recovery"
	// MoverOperator decides about an unconfirmed delivery, or policy does.
	MoverOperator Mover = "operator"
)

// Transition is one allowed move.
type Transition struct {
	From, To Status
	By       []Mover
	When     string
}

// transitions is the whole table; nothing moves a delivery any other way.
var transitions = [...]Transition{
	{StatusQueued, StatusSending, []Mover{MoverWorker}, "leased"},
	{StatusQueued, StatusSuppressed, []Mover{MoverSweep}, "address suppressed"},
	{StatusQueued, StatusCanceled, []Mover{MoverSweep}, "canceled, or its profile or grant removed"},
	{StatusQueued, StatusFailed, []Mover{MoverSweep}, "deadline passed"},
	{StatusQueued, StatusUnconfirmed, []Mover{MoverRecovery}, "ledger restored from a backup"},
	{StatusSending, StatusSent, []Mover{MoverWorker, MoverRecovery}, "accepted by the next hop"},
	{StatusSending, StatusQueued, []Mover{MoverWorker, MoverRecovery}, "proven not accepted, to be tried again"},
	{StatusSending, StatusFailed, []Mover{MoverWorker, MoverRecovery}, "refused for good, expired, or retries exhausted"},
	{StatusSending, StatusUnconfirmed, []Mover{MoverWorker, MoverRecovery}, "the final dot left and no answer is known"},
	{StatusSending, StatusSuppressed, []Mover{MoverGate}, "address suppressed"},
	{StatusSending, StatusCanceled, []Mover{MoverGate, MoverWorker, MoverRecovery}, "cancel was asked for and nothing was accepted"},
	{StatusUnconfirmed, StatusSent, []Mover{MoverWorker, MoverOperator}, "late answer, or resolved as sent"},
	{StatusUnconfirmed, StatusFailed, []Mover{MoverWorker}, "late refusal"},
	{StatusUnconfirmed, StatusCanceled, []Mover{MoverWorker}, "late proof that nothing was accepted, after a cancel"},
	{StatusUnconfirmed, StatusQueued, []Mover{MoverWorker, MoverOperator}, "late proof, policy or an operator sends it again"},
}

// Transitions lists every allowed move.
func Transitions() []Transition { return slices.Clone(transitions[:]) }

// Statuses lists every state in the order of a delivery's life.
func Statuses() []Status {
	return []Status{
		StatusQueued, StatusSending, StatusSent, StatusUnconfirmed,
		StatusFailed, StatusSuppressed, StatusCanceled,
	}
}

// CanMove reports whether mover may take a delivery from one state to another.
func CanMove(from, to Status, mover Mover) bool {
	for _, t := range transitions {
		if t.From == from && t.To == to {
			return slices.Contains(t.By, mover)
		}
	}
	return false
}

// Valid reports whether s is one of the states.
func (s Status) Valid() bool { return slices.Contains(Statuses(), s) }

// Settled reports whether we will do nothing more by ourselves. An
// unconfirmed delivery is settled with doubt: waiting callers and messages
// are done with it, and it may still move until its resolve-by time.
func (s Status) Settled() bool { return s != StatusQueued && s != StatusSending }
