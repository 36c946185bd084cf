package journal_test

import (
	"testing"

	"github.com/postledger/postledger"
)

func benchmarkRecord(b *testing.B, recipients int) {
	var s ids
	j := create(b, b.TempDir(), s.owner(), 64)
	envelope, members := s.next(), s.members(recipients)
	outcomes := make([]postledger.Outcome, recipients)
	for i := range outcomes {
		outcomes[i] = postledger.Outcome{
			Class: postledger.OutcomeAccepted, Phase: postledger.PhaseDot, Code: 250,
			Enhanced: postledger.EnhancedCode{2, 0, 0}, Text: "2.0.0 Ok: queued as 4FhG2b1xYzz3s", ProviderID: "4FhG2b1xYzz3s",
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		slot, err := j.Begun(envelope, members, nil)
		if err != nil {
			b.Fatal(err)
		}
		if err := j.Answered(slot, outcomes); err != nil {
			b.Fatal(err)
		}
		if err := j.Free(slot); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOneRecipient(b *testing.B)    { benchmarkRecord(b, 1) }
func BenchmarkFiftyRecipients(b *testing.B) { benchmarkRecord(b, 50) }

func BenchmarkSixtyFourGoroutines(b *testing.B) {
	var s ids
	j := create(b, b.TempDir(), s.owner(), 256)
	envelope, members := s.next(), s.members(1)
	outcomes := []postledger.Outcome{{Class: postledger.OutcomeAccepted, Phase: postledger.PhaseDot, Code: 250, Text: "2.0.0 Ok: queued as 4FhG2b1xYzz3s"}}
	b.ReportAllocs()
	b.SetParallelism(64)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			slot, err := j.Begun(envelope, members, nil)
			if err != nil {
				b.Error(err)
				return
			}
			_ = j.Answered(slot, outcomes)
			_ = j.Free(slot)
		}
	})
}

func TestRecordsAllocateNothing(t *testing.T) {
	var s ids
	j := create(t, t.TempDir(), s.owner(), 1)
	envelope, members := s.next(), s.members(2)
	outcomes := []postledger.Outcome{{Class: postledger.OutcomeAccepted, Text: "ok", ProviderID: "1"}, {Class: postledger.OutcomeRefused, Text: "no"}}
	known := []postledger.Outcome{{Class: postledger.OutcomeUnknown}, outcomes[1]}
	allocs := testing.AllocsPerRun(100, func() {
		slot, _ := j.Begun(envelope, members, known)
		_ = j.Answered(slot, outcomes)
		_ = j.Free(slot)
	})
	if allocs != 0 {
		t.Errorf("%v allocations a record, want none", allocs)
	}
	if _, err := j.Begun(envelope, members, nil); err != nil {
		t.Errorf("the slot was not freed: %v", err)
	}
}
