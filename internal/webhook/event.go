package webhook

import (
	"crypto/sha1"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	"github.com/postledger/postledger"
)

// EventID names an event: the UUIDv5 (RFC 9562 §5.5), in the endpoint's id as
// namespace, of the delivery, the state it reached and the fence it was reached
// under. It is the same whenever and by whomever it is computed, so that a success
// needs no row of its own and a replay is known for the event it repeats.
func EventID(endpoint, delivery postledger.ID, state postledger.Status, fence int64) postledger.ID {
	h := sha1.New()
	h.Write(endpoint[:])
	h.Write(delivery[:])
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(fence)))
	h.Write([]byte(state))
	var id postledger.ID
	copy(id[:], h.Sum(nil))
	id[6] = id[6]&0x0f | 0x50
	id[8] = id[8]&0x3f | 0x80
	return id
}

// Event is what a request's body says.
type Event struct {
	// Type is "delivery." and the state, in the specification's hierarchy.
	Type string `json:"type"`
	// Timestamp is when the state was reached.
	Timestamp time.Time `json:"timestamp"`
	Data      Data      `json:"data"`
}

// Data is the delivery as it was when it reached the state.
type Data struct {
	DeliveryID postledger.ID     `json:"delivery_id"`
	MessageID  postledger.ID     `json:"message_id"`
	BatchID    string            `json:"batch_id,omitempty"`
	Status     postledger.Status `json:"status"`
	Reason     postledger.Reason `json:"reason,omitempty"`
	Address    string            `json:"address"`
	Kind       string            `json:"kind"`
	Profile    string            `json:"profile"`
	Category   string            `json:"category"`
	RefScope   string            `json:"ref_scope,omitempty"`
	RefID      string            `json:"ref_id,omitempty"`
	Attempts   int               `json:"attempts"`
	Response   string            `json:"response,omitempty"`
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
