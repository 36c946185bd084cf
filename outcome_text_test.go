package postledger_test

import (
	"testing"

	"github.com/postledger/postledger"
)

// A profile that could not be used at all came to no phase.
func TestOutcomeTextWithoutAPhase(t *testing.T) {
	if got := (postledger.Outcome{Class: postledger.OutcomeMisconfigured}).String(); got != "misconfigured" {
		t.Errorf("%q", got)
	}
	if got := (postledger.Outcome{Class: postledger.OutcomeUnavailable, Phase: postledger.PhaseStartTLS}).String(); got != "unavailable at starttls" {
		t.Errorf("%q", got)
	}
}
