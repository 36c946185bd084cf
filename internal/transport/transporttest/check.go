package transporttest

import (
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/transport"
)

// CheckOutcomes checks what holds for the result of every Send, whatever the
// hop did.
func CheckOutcomes(tb testing.TB, e *transport.Envelope, w *Wire, out []postledger.Outcome) {
	tb.Helper()
	if len(out) != len(e.Recipients) {
		tb.Fatalf("%d outcomes for %d recipients", len(out), len(e.Recipients))
	}
	certain := true
	for i, o := range out {
		checkText(tb, e, i, o)
		switch o.Class {
		case postledger.OutcomeAccepted:
			if !w.WasBegun() {
				tb.Errorf("recipient %d accepted, and Wire.Begun was never called", i)
			}
		case postledger.OutcomeUnknown:
			certain = false
			if !w.WasBegun() {
				tb.Errorf("recipient %d unknown, and Wire.Begun was never called", i)
			}
		}
		if (o.Reason == "") != (o.Class == postledger.OutcomeAccepted) && o.Reason != postledger.ReasonSandbox {
			tb.Errorf("recipient %d: class %v with reason %q", i, o.Class, o.Reason)
		}
	}
	checkKnown(tb, e, w.Known(), out)
	switch answer := w.Answer(); {
	case !certain && answer != nil:
		tb.Error("Wire.Answered was called, and an outcome is unknown")
	case answer != nil && !reflect.DeepEqual(answer, out):
		tb.Errorf("Wire.Answered was told %v, Send returned %v", answer, out)
	case answer == nil && accepted(out):
		tb.Error("accepted, and Wire.Answered was never called")
	}
}

// checkKnown compares what Wire.Begun was told with what became of it.
func checkKnown(tb testing.TB, e *transport.Envelope, known, out []postledger.Outcome) {
	tb.Helper()
	if known == nil {
		return
	}
	if len(known) != len(e.Recipients) {
		tb.Fatalf("Wire.Begun was told %d outcomes for %d recipients", len(known), len(e.Recipients))
		return
	}
	doubt := false
	for i, o := range known {
		switch {
		case !o.Class.Certain():
			doubt = true
		case o.Class == postledger.OutcomeAccepted:
			tb.Errorf("recipient %d was accepted before Wire.Begun", i)
		default:
			checkText(tb, e, i, o)
			if end := out[i]; end.Class != o.Class || end.Phase != o.Phase || end.Reason != o.Reason || end.Code != o.Code {
				tb.Errorf("recipient %d was decided as %v at Wire.Begun, and ended as %v", i, o, end)
			}
		}
	}
	if !doubt {
		tb.Error("Wire.Begun was called, and no recipient was in doubt")
	}
}

func accepted(out []postledger.Outcome) bool {
	for _, o := range out {
		if o.Class == postledger.OutcomeAccepted {
			return true
		}
	}
	return false
}

func checkText(tb testing.TB, e *transport.Envelope, i int, o postledger.Outcome) {
	tb.Helper()
	if len(o.Text) > postledger.MaxReplyText || !utf8.ValidString(o.Text) ||
		strings.ContainsFunc(o.Text, unicode.IsControl) {
		tb.Errorf("recipient %d: text is not one bounded line of UTF-8: %q", i, o.Text)
	}
	for _, addr := range e.Recipients {
		if addr != "" && strings.Contains(strings.ToLower(o.Text), strings.ToLower(addr)) {
			tb.Errorf("recipient %d: text holds the address %q: %q", i, addr, o.Text)
		}
	}
}
