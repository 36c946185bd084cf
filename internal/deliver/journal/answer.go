package journal

import (
	"encoding/binary"
	"strings"
	"unicode/utf8"

	"github.com/postledger/postledger"
)

// span is where a text lies in a slot's heap.
type span struct {
	at, len uint16
}

// heap packs texts into a slot. A text equal to the one before it is stored
// once: fifty recipients mostly share one reply.
type heap struct {
	b      []byte
	used   int
	last   string
	lastIn span
}

// add stores s whole, or reports that there is no room.
func (h *heap) add(s string) (span, bool) {
	switch {
	case s == "":
		return span{}, true
	case s == h.last:
		return h.lastIn, true
	case len(s) > len(h.b)-h.used:
		return span{}, false
	}
	in := span{at: uint16(h.used), len: uint16(len(s))}
	h.used += copy(h.b[h.used:], s)
	h.last, h.lastIn = s, in
	return in, true
}

// fillAnswered writes all of an answer but the state: the outcomes of the
// members that were in doubt at Begun.
func fillAnswered(b []byte, outcomes []postledger.Outcome) {
	decided := binary.NativeEndian.Uint64(b[slotDecided:])
	h := heap{b: b[heapAt:slotSize], used: int(binary.NativeEndian.Uint32(b[slotKnownLen:]))}
	fillOutcomes(b, &h, outcomes, ^decided)
	binary.NativeEndian.PutUint32(b[slotHeapLen:], uint32(h.used))
	binary.NativeEndian.PutUint32(b[slotReplySum:], replySum(b, len(outcomes), h.used))
}

// fillOutcomes writes the outcomes of the members whose bit is set. Provider
// ids go first, since feedback is matched by them; texts take what is left.
func fillOutcomes(b []byte, h *heap, outcomes []postledger.Outcome, which uint64) {
	for i := range outcomes {
		if which>>i&1 == 0 {
			continue
		}
		o := &outcomes[i]
		r := b[replyAt+i*replySize : replyAt+(i+1)*replySize]
		fillCodes(r, o)
		var in span
		if len(o.ProviderID) <= MaxProviderID && utf8.ValidString(o.ProviderID) {
			in, _ = h.add(o.ProviderID)
		}
		putSpan(r[replyProvider:], in)
	}
	h.last, h.lastIn = "", span{}
	for i := range outcomes {
		if which>>i&1 == 0 {
			continue
		}
		r := b[replyAt+i*replySize : replyAt+(i+1)*replySize]
		text := clip(outcomes[i].Text, MaxText)
		in, ok := h.add(text)
		if !ok {
			in, _ = h.add(clip(text, len(h.b)-h.used))
		}
		putSpan(r[replyText:], in)
	}
}

// fillCodes writes the fixed part of one outcome. What no transport may report
// is recorded as the nearest thing that promises nothing.
func fillCodes(r []byte, o *postledger.Outcome) {
	class, phase, code, enhanced, reason := o.Class, o.Phase, o.Code, o.Enhanced, o.Reason
	if class > postledger.OutcomeUnknown {
		class = postledger.OutcomeUnknown
	}
	if phase > postledger.PhaseDot {
		phase = postledger.PhaseNone
	}
	if code < 0 || code > maxCode {
		code = 0
	}
	if !validEnhanced(enhanced) {
		enhanced = postledger.EnhancedCode{}
	}
	if len(reason) > maxReason {
		reason = ""
	}
	r[replyClass], r[replyPhase] = byte(class), byte(phase)
	binary.NativeEndian.PutUint16(r[replyCode:], uint16(code))
	for i, n := range enhanced {
		binary.NativeEndian.PutUint16(r[replyEnhanced+2*i:], n)
	}
	r[replyReasonLen] = byte(len(reason))
	clear(r[replyReason+copy(r[replyReason:], reason):])
}

// validEnhanced knows that no part of an enhanced code has more than three
// digits (RFC 3463 §2).
func validEnhanced(e postledger.EnhancedCode) bool {
	return e[0] <= maxCode && e[1] <= maxCode && e[2] <= maxCode
}

func putSpan(b []byte, in span) {
	binary.NativeEndian.PutUint16(b, in.at)
	binary.NativeEndian.PutUint16(b[2:], in.len)
}

func getSpan(b []byte) span {
	return span{at: binary.NativeEndian.Uint16(b), len: binary.NativeEndian.Uint16(b[2:])}
}

// clip cuts s to at most n bytes at the edge of a character. A transport gives
// valid UTF-8; should one not, its bytes must not make the record unreadable.
func clip(s string, n int) string {
	if len(s) > n {
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n]
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "?")
	}
	return s
}
