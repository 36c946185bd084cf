package main

import "testing"

// A sample belongs to the step whose function is the innermost one, whoever
// called it.
func TestSharesFollowTheInnermostStep(t *testing.T) {
	const rule = "-----------+-------------------------------------------------------\n"
	shares, err := sharesOfTraces("File: bench\nType: cpu\n" +
		rule + "      30ms   internal/runtime/syscall.Syscall6\n             github.com/postledger/postledger/internal/transport/smtp.(*conn).flush\n" +
		"             github.com/postledger/postledger/internal/deliver.(*Worker).send\n" +
		rule + "      1.17s   github.com/postledger/postledger/internal/mime.(*Message).WriteTo\n             github.com/postledger/postledger/internal/transport/smtp.(*Transport).Send\n" +
		rule + "     300ms   runtime.findRunnable\n             runtime.mcall\n" + rule)
	if err != nil {
		t.Fatal(err)
	}
	for step, want := range map[string]float64{"wire": 0.02, "MIME": 0.78, "scheduler and the rest": 0.2} {
		if got := shares[step]; got < want-1e-9 || got > want+1e-9 {
			t.Errorf("%s has %v, want %v", step, got, want)
		}
	}
	for _, bad := range []string{"", rule + "   soon   runtime.mcall\n", rule} {
		if got, err := sharesOfTraces(bad); err == nil {
			t.Errorf("%q: %v, want an error", bad, got)
		}
	}
}

// -only refuses what there is not.
func TestOnlyNamesSections(t *testing.T) {
	for only, want := range map[string]int{"wire,sign": 2, "memory": 1, "": len(sections()) - 1} {
		got, err := chosen(options{only: only})
		if err != nil || len(got) != want {
			t.Errorf("-only %q: %d sections, %v; want %d", only, len(got), err, want)
		}
	}
	if _, err := chosen(options{only: "wires"}); err == nil {
		t.Error("-only wires was taken")
	}
}
