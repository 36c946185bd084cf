package jobs

// Lane is one of two lines in which jobs wait.
type Lane string

const (
	// Fast work is picked first and never waits behind slow work.
	Fast Lane = "fast"
	// Slow work uses at most its share of the hot set and of a worker's slots.
	Slow Lane = "slow"
)

// Lanes are all lanes in the order in which they are served.
var Lanes = [...]Lane{Fast, Slow}

// Valid reports whether the lane is one of Lanes.
func (l Lane) Valid() bool { return l == Fast || l == Slow }

// ResolveLane decides a job's lane: what its producer asked for, else what the
// client was told for that handler, else the handler's default, else fast.
func ResolveLane(request, option, handler Lane) Lane {
	for _, lane := range [...]Lane{request, option, handler} {
		if lane.Valid() {
			return lane
		}
	}
	return Fast
}
