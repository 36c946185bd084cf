package ledger_test

import (
	"testing"
	"time"

	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/ledger/ledgertest"
)

// walk is a trail along deliveries that are due a millisecond after the other.
type walk struct {
	ledger.Trail
	began time.Time
}

func at(ms int64) ledger.Cursor {
	return ledger.Cursor{Due: 1000 * ms, ID: ledgertest.DeliveryID(int(ms))}
}

// claim lets a worker that has claimed up to ms after s seconds claim there.
func (w *walk) claim(s float64, ms int64, short bool) {
	w.begin(s)
	w.Claimed(&ledger.Claimed{Leased: make([]ledger.Leased, 10), After: at(ms), Short: short})
}

func (w *walk) begin(s float64) ledger.Cursor {
	return w.Begin(w.began.Add(time.Duration(s * float64(time.Second))))
}

func newWalk() *walk { return &walk{began: time.Unix(1_780_000_000, 0)} }

// busy claims ten times a second, a hundred deliveries each, from one moment to another.
func (w *walk) busy(from, to int) {
	for i := 10 * from; i < 10*to; i++ {
		w.claim(float64(i)/10, int64(100*(i+1)), false)
	}
}

func TestTrailLooksBackBoundedly(t *testing.T) {
	w := newWalk()
	if c := w.begin(0); c != (ledger.Cursor{}) {
		t.Fatalf("a new trail begins at %v", c)
	}
	w.busy(0, 100)
	// What a second of looks begins at, by seconds behind the furthest claim.
	var back, whole int
	for i := range 300 {
		s := 100 + float64(i)/10
		c := w.begin(s)
		switch behind := time.Duration(100_000+100*int64(i))*time.Millisecond - time.Duration(c.Due)*time.Microsecond; {
		case c == ledger.Cursor{}:
			whole++
		case behind > 61*time.Second:
			t.Errorf("after %v s a look goes back %v", s, behind)
		case behind >= 29*time.Second:
			back++
		case behind > 0:
			t.Errorf("after %v s a look goes back %v", s, behind)
		}
		w.Claimed(&ledger.Claimed{Leased: make([]ledger.Leased, 10), After: at(100_000 + 100*int64(i+1))})
	}
	if back < 8 || back > 11 || whole != 1 {
		t.Errorf("in 30 s %d looks went back and %d began at the start; want about 9, and 1 for it is 2 minutes", back, whole)
	}
}

// What became visible late, or was locked when a claim came by, is found within
// seconds when that took less than half a minute, and within minutes in any case.
func TestTrailFindsWhatTurnsUpBehind(t *testing.T) {
	for _, c := range []struct {
		name         string
		hidden, most float64 // seconds: behind the trail, and then until a look begins before it
	}{
		{"a moment", 0.5, 3.2},
		{"as long as a statement may take", 15, 3.2},
		{"half a minute, nearly", 26, 3.2},
		{"minutes", 300, 121},
	} {
		t.Run(c.name, func(t *testing.T) {
			for phase := range 20 {
				w := newWalk()
				w.busy(0, 70)
				left := 70 + float64(phase)/4 // when the claim came by
				place := at(int64(1000 * left))
				for i := 0; ; i++ {
					s := 70 + float64(i)/10
					begins := w.begin(s)
					before := begins.Due < place.Due
					if before && s > left+c.hidden {
						if s > left+c.hidden+c.most {
							t.Errorf("phase %d: found %.1f s after it was to be seen", phase, s-left-c.hidden)
						}
						break
					}
					w.Claimed(&ledger.Claimed{Leased: make([]ledger.Leased, 10), After: at(int64(1000 * (s + 0.1)))})
				}
			}
		})
	}
}

// A key that is emptied again and again does not look back far each time, and yet
// finds accepts that committed in another order than they were written.
func TestTrailOfATrickle(t *testing.T) {
	w := newWalk()
	far := 0
	for i := range 1000 {
		s := float64(i) / 10
		c := w.begin(s)
		behind := 1000*int64(s*10)/10 - c.Due/1000
		if i > 50 && behind < 1900 {
			t.Fatalf("after %v s the look begins %d ms behind", s, behind)
		}
		if behind > 4200 {
			far++
		}
		w.Claimed(&ledger.Claimed{Leased: make([]ledger.Leased, 1), After: at(int64(100 * (i + 1))), Short: true})
	}
	if far > 35+50 {
		t.Errorf("%d of 1000 looks went back further than four seconds", far)
	}
}

func TestTrailOfADrainedKey(t *testing.T) {
	w := newWalk()
	w.busy(0, 60)
	w.claim(60, 60_100, true)
	for i := range 600 {
		s := 60 + float64(i)/4
		c := w.begin(s)
		if s > 125 && c != at(60_100) && c != (ledger.Cursor{}) {
			t.Fatalf("after %v s a look walks over what was drained a minute ago: from %v", s, c)
		}
		w.Nothing()
	}
	if w.Long() != 6010 {
		t.Errorf("the trail is %d long", w.Long())
	}
	if w.Whole(w.began.Add(200*time.Second)) || !w.Whole(w.began.Add(241*time.Second)) {
		t.Error("when the next look begins at the start is not known")
	}
}

// The database's clock is set back: what is accepted then is due before all that was claimed.
func TestTrailAheadOfTheClock(t *testing.T) {
	w := newWalk()
	w.busy(0, 10)
	w.Clock(at(10_000).Due)
	if c := w.begin(10); c == (ledger.Cursor{}) {
		t.Fatal("a trail that ends at the clock was dropped")
	}
	w.Clock(at(10_000).Due - 1)
	if c := w.begin(10.1); c != (ledger.Cursor{}) {
		t.Errorf("a trail ahead of the clock begins at %v", c)
	}
	if w.Long() != 1000 {
		t.Errorf("the trail is %d long", w.Long())
	}
}
