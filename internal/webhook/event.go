package webhook

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/jobs"
)

// EventID names an event: the UUIDv5 (RFC 9562 §5.5), in the endpoint's id as
// namespace, of the delivery, the state it reached and the fence it was reached
// under. It is the same whenever and by whomever it is computed, so that a success
// needs no row of its own and a replay is known for the event it repeats.
func EventID(endpoint, delivery postledger.ID, state postledger.Status, fence int64) postledger.ID {
	name := binary.BigEndian.AppendUint64(delivery[:len(delivery):len(delivery)], uint64(fence))
	name = append(name, state...)
	return postledger.ID(jobs.DeriveID(jobs.ID(endpoint), string(name)))
}

// Event is what a request's body says.
type Event struct {
	// Type is "delivery." and the state, in the specification's hierarchy.
	Type string `json:"type"`
	// Timestamp is when the state was reached.
	Timestamp time.Time `json:"timestamp"`
	Data      Data      `json:"data"`
}

// Data is the delivery, as it is when the event is sent; status and reason are those
// that the event is about.
type Data struct {
	DeliveryID postledger.ID     `json:"delivery_id"`
	MessageID  postledger.ID     `json:"message_id"`
	BatchID    postledger.ID     `json:"batch_id,omitzero"`
	AppID      postledger.ID     `json:"app_id"`
	Status     postledger.Status `json:"status"`
	Reason     postledger.Reason `json:"reason,omitempty"`
	Attempts   int               `json:"attempts"`
	// Resent says that an earlier copy is in doubt, so that the recipient may have
	// one whatever the state, and two if it is sent.
	Resent   bool                     `json:"resent,omitempty"`
	Profile  string                   `json:"profile"`
	Lane     postledger.Lane          `json:"lane"`
	Category postledger.Category      `json:"category"`
	RefScope string                   `json:"ref_scope,omitempty"`
	RefID    string                   `json:"ref_id,omitempty"`
	Kind     postledger.RecipientKind `json:"kind"`
	// Address and Response (the next hop's last reply) are there when the endpoint
	// asks for addresses.
	Address  string `json:"address,omitempty"`
	Response string `json:"response,omitempty"`
}

// eventOf is what an endpoint is told of a job's delivery.
func eventOf(e *Endpoint, job *Job, f *ledger.DeliveryFacts) Event {
	out := Event{
		Type: TypeOf(job.State), Timestamp: time.UnixMicro(job.At).UTC(),
		Data: Data{
			DeliveryID: f.ID, MessageID: f.MessageID, BatchID: f.BatchID, AppID: f.AppID,
			Status: job.State, Reason: job.Reason, Attempts: f.Attempts, Resent: f.Resent,
			Profile: f.Profile, Lane: f.Lane, Category: f.Category,
			RefScope: f.RefScope, RefID: f.RefID, Kind: f.Kind,
		},
	}
	if f.Status == job.State && f.Fence == job.Fence {
		// The row's own moment, so that a replay says the same.
		out.Timestamp = f.SettledAt
	}
	if e.WithAddress {
		out.Data.Address, out.Data.Response = f.Address, f.Response
	}
	return out
}

// Body is the event's JSON.
func (e *Event) Body() ([]byte, error) {
	body, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("write event: %w", err)
	}
	return body, nil
}

// TypeOf is the type of a state's events.
func TypeOf(state postledger.Status) string { return "delivery." + string(state) }
