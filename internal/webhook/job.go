package webhook

import (
	"encoding/json"
	"fmt"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/jobs"
)

// HandlerName is the handler of jobs that send one event to one endpoint.
const HandlerName = "webhook"

// Job is a job's payload: one event for one endpoint. What the event says beside it
// is read when it is sent.
type Job struct {
	Endpoint postledger.ID     `json:"endpoint"`
	Delivery postledger.ID     `json:"delivery"`
	State    postledger.Status `json:"state"`
	Reason   postledger.Reason `json:"reason,omitempty"`
	Fence    int64             `json:"fence"`
	// At is when the state was reached, in microseconds; 0 when it was when the job
	// was written.
	At int64 `json:"at_us,omitempty"`
}

func (j *Job) payload() []byte {
	payload, err := json.Marshal(j)
	if err != nil {
		panic(fmt.Sprintf("texts and numbers do not encode: %v", err)) // they always do
	}
	return payload
}

// EventID is the event's, which every try and every replay has.
func (j *Job) EventID() postledger.ID { return EventID(j.Endpoint, j.Delivery, j.State, j.Fence) }

// row is the job that is written with the settlement. Its id is the event's, so that
// a settlement that is derived twice is told once.
func (j *Job) row() ledger.JobRow {
	return ledger.JobRow{
		ID: j.EventID(), Handler: HandlerName, Slow: true, Group: j.Endpoint.String(),
		Payload: j.payload(), MaxAttempts: len(Schedule),
	}
}

// queued is the same job, for a replay. Without an id it gets one of its own, and
// does not wait for a try of the event that is due later.
func (j *Job) queued(id jobs.ID) jobs.Job {
	return jobs.Job{
		ID: id, Handler: HandlerName, Lane: jobs.Slow, Group: j.Endpoint.String(),
		Payload: j.payload(), MaxAttempts: len(Schedule),
	}
}

// jobOf is the event of the state that a delivery is in now.
func jobOf(endpoint postledger.ID, f *ledger.DeliveryFacts) Job {
	return Job{Endpoint: endpoint, Delivery: f.ID, State: f.Status, Reason: f.Reason, Fence: f.Fence, At: f.SettledAt.UnixMicro()}
}
