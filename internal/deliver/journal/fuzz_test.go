package journal_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/deliver/journal"
)

// FuzzOpen damages a journal anywhere, cuts or stretches it, raw and with the
// checksums made right again, so that what lies behind them is reached too.
// Its input is a list of patches, which the fuzzer can shrink; FuzzOpenRaw has
// whole files.
func FuzzOpen(f *testing.F) {
	var s ids
	owner := s.owner()
	j := create(f, f.TempDir(), owner, 2)
	boot := journalBoot(f, j)
	slot, err := j.Begun(s.next(), s.members(2), nil)
	must(f, err)
	must(f, j.Answered(slot, []postledger.Outcome{
		{Class: postledger.OutcomeAccepted, Phase: postledger.PhaseDot, Code: 250, Text: "ok", ProviderID: "1"},
		{Class: postledger.OutcomeRefused, Phase: postledger.PhaseRcpt, Code: 550, Reason: postledger.ReasonRejectedRecipient, Text: "nö"},
	}))
	known := make([]postledger.Outcome, 50)
	for i := range known {
		known[i] = postledger.Outcome{Class: postledger.OutcomeUnknown}
		if i%9 == 4 {
			known[i] = postledger.Outcome{Class: postledger.OutcomeRefused, Phase: postledger.PhaseRcpt, Code: 550, Text: "no"}
		}
	}
	_, err = j.Begun(s.next(), s.members(50), known)
	must(f, err)
	whole, err := os.ReadFile(j.Path())
	must(f, err)
	f.Add([]byte(nil), uint16(len(whole)), true)
	f.Add(patch(4096+4, 51), uint16(len(whole)), true)                                   // a member too many
	f.Add(patch(4096+64+1200, 9), uint16(len(whole)), true)                              // no such class
	f.Add(patch(4096+64+1200+12, 0xff), uint16(len(whole)), true)                        // a text beyond the heap
	f.Add(patch(4096+24, 1), uint16(len(whole)), true)                                   // decided, and written by the answer
	f.Add(patch(4096+8192+24, 0xff), uint16(len(whole)), true)                           // more decided
	f.Add(append(patch(4096+64, 1), patch(4096+64+24, 1)...), uint16(len(whole)), false) // checksum
	f.Add(patch(16, 1), uint16(4096+8192), true)
	f.Add([]byte(nil), uint16(90), false)
	path := filepath.Join(f.TempDir(), owner.Worker.String()+".journal")
	f.Fuzz(func(t *testing.T, patches []byte, size uint16, reseal bool) {
		data := make([]byte, size)
		copy(data, whole)
		for ; len(patches) >= 3; patches = patches[3:] {
			if at := int(patches[0])<<8 | int(patches[1]); at < len(data) {
				data[at] = patches[2]
			}
		}
		if reseal {
			journal.Reseal(data, owner.Worker, boot)
		}
		must(t, os.WriteFile(path, data, 0o600))
		defer os.Remove(path) // to overwrite it would make ext4 write it out
		openAny(t, path)
	})
}

// FuzzOpenRaw opens files of any content.
func FuzzOpenRaw(f *testing.F) {
	f.Add([]byte(nil))
	f.Add([]byte("PLWIREJ\n"))
	f.Add(make([]byte, 4096))
	path := filepath.Join(f.TempDir(), numbered('W', 1, 0).String()+".journal")
	f.Fuzz(func(t *testing.T, data []byte) {
		must(t, os.WriteFile(path, data, 0o600))
		defer os.Remove(path)
		openAny(t, path)
	})
}

// openAny fails when an opened journal says something impossible.
func openAny(t *testing.T, path string) {
	t.Helper()
	known := make(map[postledger.Reason]bool)
	for _, r := range postledger.Reasons() {
		known[r] = true
	}

	d, err := journal.Open(path)
	if err != nil {
		if !errors.Is(err, journal.ErrCorrupt) && !errors.Is(err, journal.ErrOtherBoot) {
			t.Fatalf("unexpected error: %v", err)
		}
		return
	}
	defer d.Close()
	if len(d.Records()) > d.Header().Slots {
		t.Fatalf("%d records of %d slots", len(d.Records()), d.Header().Slots)
	}
	for _, r := range d.Records() {
		if r.Envelope.IsZero() || len(r.Members) < 1 || len(r.Members) > journal.MaxMembers ||
			r.Answered && r.Outcomes == nil || r.Outcomes != nil && len(r.Outcomes) != len(r.Members) {
			t.Fatalf("impossible record %+v", r)
		}
		for _, m := range r.Members {
			if m.Delivery.IsZero() || m.Fence < 1 {
				t.Fatalf("impossible member %+v", m)
			}
		}
		for _, o := range r.Outcomes {
			if strings.HasPrefix(o.Class.String(), "class(") || strings.HasPrefix(o.Phase.String(), "phase(") ||
				o.Code < 0 || o.Code > 999 || o.Reason != "" && !known[o.Reason] ||
				len(o.Text) > journal.MaxText || !utf8.ValidString(o.Text) ||
				len(o.ProviderID) > journal.MaxProviderID || !utf8.ValidString(o.ProviderID) {
				t.Fatalf("impossible outcome %+v", o)
			}
		}
	}
}

// patch is the fuzzer's form of one changed byte.
func patch(at int, value byte) []byte { return []byte{byte(at >> 8), byte(at), value} }

// journalBoot reads the boot id a journal was written under.
func journalBoot(t testing.TB, j *journal.Journal) postledger.ID {
	t.Helper()
	entries, err := journal.List(filepath.Dir(j.Path()), numbered('?', 0, 0))
	must(t, err)
	if len(entries) != 0 {
		t.Fatal("a foreign ledger's journal was listed")
	}
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	must(t, err)
	boot, err := postledger.ParseID(strings.TrimSpace(string(text)))
	must(t, err)
	return boot
}
