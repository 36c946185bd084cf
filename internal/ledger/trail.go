package ledger

import "time"

const (
	// nearAge is how far a look goes back behind what was claimed when nothing
	// more was due: accepts that commit at once do so in any order.
	nearAge = 2 * time.Second
	// farEvery is how often a look goes back further, to where the trail was
	// farAge ago: twice what a statement has until it is given up for lost.
	farEvery = 3 * time.Second
	farAge   = 30 * time.Second
	// wholeEvery is how often a look begins at the start.
	wholeEvery = 2 * time.Minute
)

// Trail is how far a key's deliveries were claimed, and when. It says where the
// next look begins, so that a claim does not walk over everything that was
// claimed since an old snapshot, which keeps each dead index entry alive.
//
// What can turn up behind the furthest delivery that was claimed? Every due time
// is written as the ledger's moment or later, and none that is still to come is
// claimed. So it is only:
//
//   - what was written before the claim and committed after it: an accept or a
//     settle, whose transactions take milliseconds, and seconds when the database
//     is slow;
//   - what the claim met locked and left out: a cancel that changed nothing, the
//     claim of a process that died, an envelope of which somebody held a part;
//   - what is written after the ledger's clock was set back.
//
// A retry, a delivery that was given back, one that is sent again and what was
// accepted for a profile at rest are due after it. The first two are behind the
// trail for as long as their transaction takes, so every few seconds a look goes
// back to where the trail was half a minute to a minute ago: what was hidden for
// less than half a minute is found within seconds of being seen. A cursor ahead
// of the ledger's clock is dropped ([Trail.Clock]). And for what is left, such as
// a transaction that hung for minutes, a look begins at the start every two
// minutes: nothing is missed for good.
//
// The zero value begins at the start. Moments are the caller's, of a clock that
// does not step.
type Trail struct {
	at, furthest Cursor
	near, far    mark
	// wentBack and wasWhole are when a look last went back so far.
	wentBack, wasWhole time.Time
	claimed            int
}

// mark is where a trail was at least its age ago, and at most about twice it.
type mark struct {
	older, newer Cursor
	since        time.Time
}

func (m *mark) note(now time.Time, age time.Duration, c Cursor) {
	if now.Sub(m.since) >= age {
		m.older, m.newer, m.since = m.newer, c, now
	}
}

// Begin is where a look begins now.
func (t *Trail) Begin(now time.Time) Cursor {
	t.near.note(now, nearAge, t.furthest)
	t.far.note(now, farAge, t.furthest)
	switch {
	case now.Sub(t.wasWhole) >= wholeEvery:
		t.at, t.wasWhole, t.wentBack = Cursor{}, now, now
	case now.Sub(t.wentBack) >= farEvery:
		t.wentBack = now
		t.back(t.far.older)
	}
	return t.at
}

// Claimed notes what a claim that began at Begin came to.
func (t *Trail) Claimed(c *Claimed) {
	t.claimed += len(c.Leased)
	t.at = c.After
	if t.at.after(t.furthest) {
		t.furthest = t.at
	}
	if c.Short {
		t.Nothing()
	}
}

// Nothing notes that nothing more is due, or waits, behind where a look began.
func (t *Trail) Nothing() {
	t.at = t.furthest
	t.back(t.near.older)
}

// Seen notes what somebody else's claim took, up to c: looks that claim nothing
// need not walk over it.
func (t *Trail) Seen(n int, c Cursor) {
	t.claimed += n
	if c.after(t.furthest) {
		t.furthest = c
	}
}

// Found notes that such a look met something at c, and nothing before.
func (t *Trail) Found(c Cursor) {
	t.at = c
	if c.after(t.furthest) {
		t.furthest = c
	}
}

// back lets the next look begin at c, if that is before where it would.
func (t *Trail) back(c Cursor) {
	if t.at.after(c) {
		t.at = c
	}
}

// Clock drops a trail that is ahead of the ledger's clock: that was set back, and
// what is written now would be behind all that was claimed.
func (t *Trail) Clock(ledgerNow int64) {
	if t.furthest.Due > ledgerNow {
		*t = Trail{claimed: t.claimed}
	}
}

// Long is how many deliveries were claimed along the trail.
func (t *Trail) Long() int { return t.claimed }

// Whole reports whether the next look will begin at the start, so that nothing is
// lost when the trail is forgotten.
func (t *Trail) Whole(now time.Time) bool { return now.Sub(t.wasWhole) >= wholeEvery }
