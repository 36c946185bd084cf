package ledger

import (
	"time"

	"github.com/postledger/postledger"
)

// Summary is the state of a message, from those of its deliveries.
type Summary struct {
	Status postledger.Status
	// Counts holds the states that occur.
	Counts map[postledger.Status]int
	// Failures are the first MaxFailures deliveries, in recipient order, that
	// failed or were suppressed.
	Failures []Failure
}

// Failure is one recipient that did not get the message as far as is known, and why.
type Failure struct {
	DeliveryID postledger.ID
	Recipient  string
	Status     postledger.Status
	Reason     postledger.Reason
	At         time.Time
	// Resent says that an earlier copy is in doubt: it may have arrived all the same.
	Resent bool
}

// MaxFailures bounds the failures shown of one message.
const MaxFailures = 100

// Summarize derives a message's state from its deliveries in recipient order.
func Summarize(ds []postledger.Delivery) Summary {
	s := Summary{Counts: map[postledger.Status]int{}}
	for i := range ds {
		d := &ds[i]
		s.Counts[d.Status]++
		if (d.Status == postledger.StatusFailed || d.Status == postledger.StatusSuppressed) && len(s.Failures) < MaxFailures {
			s.Failures = append(s.Failures, Failure{d.ID, d.Address, d.Status, d.Reason, d.SettledAt, d.Resent})
		}
	}
	s.Status = MessageStatus(s.Counts)
	return s
}

// MessageStatus is the state of a message whose deliveries are in these
// states. The first that applies: any sending; any queued; any unconfirmed;
// any sent; the only state that they share; failed.
func MessageStatus(counts map[postledger.Status]int) postledger.Status {
	for _, s := range []postledger.Status{
		postledger.StatusSending, postledger.StatusQueued, postledger.StatusUnconfirmed, postledger.StatusSent,
	} {
		if counts[s] > 0 {
			return s
		}
	}
	var only postledger.Status
	for s, n := range counts {
		switch {
		case n == 0:
		case only == "":
			only = s
		default:
			return postledger.StatusFailed
		}
	}
	return only
}
