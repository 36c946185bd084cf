package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/postledger/postledger"
)

// knownReasons are the codes a record may hold. One this version does not know
// is left out: the class decides what happens, the reason only explains.
func knownReasons() map[postledger.Reason]bool {
	known := make(map[postledger.Reason]bool)
	for _, r := range postledger.Reasons() {
		known[r] = true
	}
	return known
}

// decodeSlot reads one slot. A taken slot is believed whole or not at all.
func decodeSlot(b []byte, reasons map[postledger.Reason]bool) (r Record, taken bool, err error) {
	state := binary.NativeEndian.Uint32(b[slotState:])
	switch state {
	case stateFree:
		return Record{}, false, nil
	case stateBegun, stateAnswered:
	default:
		return Record{}, false, fmt.Errorf("state %#x", state)
	}
	n := binary.NativeEndian.Uint32(b[slotMembers:])
	if n < 1 || n > MaxMembers {
		return Record{}, false, fmt.Errorf("%d members", n)
	}
	decided, known := binary.NativeEndian.Uint64(b[slotDecided:]), binary.NativeEndian.Uint32(b[slotKnownLen:])
	if decided>>n != 0 || known > heapSize {
		return Record{}, false, fmt.Errorf("decided %#x of %d members, with %d bytes of text", decided, n, known)
	}
	if binary.NativeEndian.Uint32(b[slotBegunSum:]) != begunSum(b, int(n), decided, int(known)) {
		return Record{}, false, errors.New("checksum of the envelope")
	}
	r.Envelope = postledger.ID(b[slotEnvelope:slotFixed])
	if r.Envelope.IsZero() {
		return Record{}, false, errors.New("envelope id is zero")
	}
	if r.Members, err = decodeMembers(b, int(n)); err != nil {
		return Record{}, false, err
	}
	if state == stateAnswered {
		r.Answered = true
		r.Outcomes, err = decodeAnswer(b, int(n), reasons)
	} else if decided != 0 {
		r.Outcomes, err = decodeOutcomes(b, int(n), decided, int(known), reasons)
	}
	if err != nil {
		return Record{}, false, err
	}
	return r, true, nil
}

func decodeMembers(b []byte, n int) ([]Member, error) {
	members := make([]Member, n)
	for i := range members {
		m := b[memberAt+i*memberSize : memberAt+(i+1)*memberSize]
		members[i].Delivery = postledger.ID(m[memberDelivery:memberFence])
		members[i].Fence = int64(binary.NativeEndian.Uint64(m[memberFence:]))
		if members[i].Delivery.IsZero() || members[i].Fence < 1 {
			return nil, fmt.Errorf("member %d: delivery %s, fence %d", i, members[i].Delivery, members[i].Fence)
		}
	}
	return members, nil
}

func decodeAnswer(b []byte, n int, reasons map[postledger.Reason]bool) ([]postledger.Outcome, error) {
	used := binary.NativeEndian.Uint32(b[slotHeapLen:])
	if used > heapSize {
		return nil, fmt.Errorf("heap of %d bytes", used)
	}
	if binary.NativeEndian.Uint32(b[slotReplySum:]) != replySum(b, n, int(used)) {
		return nil, errors.New("checksum of the answer")
	}
	return decodeOutcomes(b, n, ^uint64(0), int(used), reasons)
}

// decodeOutcomes reads the outcomes of the members whose bit is set; the
// others are in doubt.
func decodeOutcomes(b []byte, n int, which uint64, used int, reasons map[postledger.Reason]bool) ([]postledger.Outcome, error) {
	texts := b[heapAt : heapAt+used]
	outcomes := make([]postledger.Outcome, n)
	for i := range outcomes {
		if which>>i&1 == 0 {
			outcomes[i].Class = postledger.OutcomeUnknown
			continue
		}
		o, err := decodeOutcome(b[replyAt+i*replySize:replyAt+(i+1)*replySize], texts, reasons)
		if err != nil {
			return nil, fmt.Errorf("outcome %d: %w", i, err)
		}
		outcomes[i] = o
	}
	return outcomes, nil
}

func decodeOutcome(r, texts []byte, reasons map[postledger.Reason]bool) (o postledger.Outcome, err error) {
	o.Class = postledger.OutcomeClass(r[replyClass])
	o.Phase = postledger.Phase(r[replyPhase])
	o.Code = int(binary.NativeEndian.Uint16(r[replyCode:]))
	for i := range o.Enhanced {
		o.Enhanced[i] = binary.NativeEndian.Uint16(r[replyEnhanced+2*i:])
	}
	switch {
	case o.Class > postledger.OutcomeUnknown:
		return o, fmt.Errorf("class %d", o.Class)
	case o.Phase > postledger.PhaseDot:
		return o, fmt.Errorf("phase %d", o.Phase)
	case o.Code > maxCode || !validEnhanced(o.Enhanced):
		return o, fmt.Errorf("code %d, enhanced %v", o.Code, o.Enhanced)
	case r[replyReasonLen] > maxReason:
		return o, fmt.Errorf("reason of %d bytes", r[replyReasonLen])
	}
	if reason := postledger.Reason(r[replyReason : replyReason+int(r[replyReasonLen])]); reasons[reason] {
		o.Reason = reason
	}
	if o.Text, err = textAt(texts, getSpan(r[replyText:]), MaxText); err != nil {
		return o, fmt.Errorf("text: %w", err)
	}
	if o.ProviderID, err = textAt(texts, getSpan(r[replyProvider:]), MaxProviderID); err != nil {
		return o, fmt.Errorf("provider id: %w", err)
	}
	return o, nil
}

func textAt(texts []byte, in span, longest int) (string, error) {
	end := int(in.at) + int(in.len)
	if end > len(texts) || int(in.len) > longest {
		return "", fmt.Errorf("bytes %d to %d", in.at, end)
	}
	s := string(texts[in.at:end])
	if !utf8.ValidString(s) {
		return "", errors.New("not UTF-8")
	}
	return s, nil
}
