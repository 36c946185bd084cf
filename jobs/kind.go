package jobs

// Kind says where a job comes from.
type Kind uint8

const (
	// Adhoc jobs come from the application as work arises. Only they are
	// bounded by the overflow buffer.
	Adhoc Kind = iota
	// Cron jobs are made by a schedule at its time.
	Cron
	// Trigger jobs are a schedule's, started by hand.
	Trigger
)

var kindNames = [...]string{Adhoc: "adhoc", Cron: "cron", Trigger: "trigger"}

func (k Kind) valid() bool { return int(k) < len(kindNames) }

// String is the kind's stable name.
func (k Kind) String() string {
	if !k.valid() {
		return "unknown"
	}
	return kindNames[k]
}

// ParseKind is the inverse of String.
func ParseKind(name string) (Kind, error) {
	for k, known := range kindNames {
		if name == known {
			return Kind(k), nil
		}
	}
	return 0, badJob("kind", "is %q, want adhoc, cron or trigger", name)
}
