package deliver_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/ledger/ledgertest"
	"github.com/postledger/postledger/internal/testserver"
	"github.com/postledger/postledger/internal/transport/transporttest"
)

// What Postfix's smtp-sink does to a worker, option by option: each delivery
// ends as the rules for outcomes say, whoever has taken it has taken it once,
// and the books balance. The sink's own files are the witness.
func TestPostfixSinkBreaksAWorker(t *testing.T) {
	t.Parallel()
	sent := postledger.Delivery{Status: postledger.StatusSent, Attempts: 1}
	deferred := postledger.Delivery{Status: postledger.StatusQueued, Reason: postledger.ReasonDeferred, Attempts: 1}
	refusedMail := postledger.Delivery{Status: postledger.StatusFailed, Reason: postledger.ReasonRejectedMessage, Attempts: 1}
	doubt := postledger.Delivery{Status: postledger.StatusUnconfirmed, Reason: postledger.ReasonNoAnswer, Attempts: 1}
	throttled := postledger.Delivery{Status: postledger.StatusQueued, Reason: postledger.ReasonThrottled}
	away := postledger.Delivery{Status: postledger.StatusQueued, Reason: postledger.ReasonUnavailable}
	for _, c := range []struct {
		args string
		want postledger.Delivery
		// mayKeep: the sink keeps what it has read before it drops or refuses.
		mayKeep bool
	}{
		{"", sent, false},
		{"-M 1000 -m 2", sent, false},
		{"-W DATA:1", sent, false}, // slow
		{"-W .:1", sent, false},
		{"-w 1", sent, false},
		{"-q .", doubt, true},
		{"-Q .", throttled, true},
		{"-r .", deferred, true},
		{"-f .", refusedMail, true},
		{"-q CONNECT", away, false},
		{"-Q CONNECT", away, false},
		{"-q EHLO", away, false},
		{"-Q EHLO", away, false},
		{"-f EHLO -f HELO", away, false},
		{"-q MAIL", away, false},
		{"-Q MAIL", throttled, false},
		{"-r MAIL", deferred, false},
		{"-f MAIL", refusedMail, false},
		{"-q RCPT", deferred, false},
		{"-Q RCPT", throttled, false},
		{"-r RCPT", deferred, false},
		{"-f RCPT", refusedMail, false}, // it says 500, as to a command it does not know
		{"-q DATA", deferred, false},
		{"-Q DATA", throttled, false},
		{"-r DATA", deferred, false},
		{"-f DATA", refusedMail, false},
	} {
		t.Run(cmp.Or(c.args, "no option"), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(t *testing.T) *ledger.Ledger { return openLedger(t, database(t, "sqlite")) }, transporttest.HopConfig{}, nil)
			taken := t.TempDir()
			addr := testserver.SMTPSink(t, append([]string{"-d", filepath.Join(taken, "%M.")}, strings.Fields(c.args)...)...)
			_, port, err := net.SplitHostPort(addr)
			must(t, err)
			n, err := strconv.Atoi(port)
			must(t, err)
			p := r.Profile
			p.Config.Settings, err = json.Marshal(settings{n})
			must(t, err)
			r.putProfile(p)
			var ids []postledger.ID
			for i := range 4 {
				to := []string{fmt.Sprintf("a%d@x.example", i), fmt.Sprintf("b%d@x.example", i)}
				ids = append(ids, r.Send(to[:1+i%2], ledgertest.WithLane([]postledger.Lane{postledger.LaneImmediate, postledger.LaneBulk}[i/2]))...)
			}
			r.start()
			r.until("each has been tried and is where it belongs", func() bool {
				for _, id := range ids {
					d := r.Row(id)
					if d.Status != c.want.Status || c.want.Reason != "" && d.Reason != c.want.Reason && d.Reason != postledger.ReasonReturned && d.Reason != "" {
						return false
					}
					if c.want.Attempts != d.Attempts {
						return false
					}
				}
				return r.worker != nil
			})
			if c.want.Attempts == 0 {
				r.until("somebody was told why", func() bool {
					for _, id := range ids {
						if r.Row(id).Reason == c.want.Reason {
							return true
						}
					}
					return false
				})
			}
			r.stop()
			for _, id := range ids {
				d := r.Row(id)
				if d.Status == postledger.StatusSending {
					t.Errorf("%s is sending after the stop", d.Address)
				}
				if d.Status != c.want.Status || d.Attempts != c.want.Attempts {
					t.Errorf("%s is %s/%s, attempt %d", d.Address, d.Status, d.Reason, d.Attempts)
				}
			}
			copies := sinkCopies(t, taken)
			for _, id := range ids {
				a := r.Row(id).Address
				switch k := copies[a]; {
				case c.want.Status == postledger.StatusSent && k != 1:
					t.Errorf("%s is sent and the sink has %d copies", a, k)
				case !c.mayKeep && c.want.Status != postledger.StatusSent && k != 0:
					t.Errorf("the sink has %d copies of %s", k, a)
				case c.want.Status == postledger.StatusUnconfirmed && k > 1:
					t.Errorf("%s is in doubt and was sent %d times", a, k)
				}
			}
			r.balanced()
		})
	}
}

// sinkCopies counts recipients in the files that smtp-sink has kept.
func sinkCopies(t *testing.T, dir string) map[string]int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	must(t, err)
	n := map[string]int{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if errors.Is(err, os.ErrNotExist) {
			continue // the sink removes what it began for a sender that left
		}
		must(t, err)
		if !strings.Contains(string(b), "hello") {
			continue // made for a DATA that was refused: no message followed
		}
		for line := range strings.Lines(string(b)) {
			if to, ok := strings.CutPrefix(line, "X-Rcpt-Args: <"); ok {
				to, _, _ = strings.Cut(to, ">")
				n[to]++
			}
		}
	}
	return n
}
