package jobs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// recordVersion is the first byte of a record. A binary that meets a version it
// does not know sets the record aside and never guesses.
const recordVersion = 1

const (
	flagBypass = 1 << iota
	flagDurable
	flagSlow
)

var errBadRecord = errors.New("not a job's record")

// headerSize: version, flags, kind; id, rev, attempts, enqueued at, run at,
// max attempts, timeout; the three lengths.
const headerSize = 3 + 16 + 8 + 4 + 8 + 8 + 4 + 8 + 3*2

func recordSize(e *Entry) int {
	return headerSize + len(e.Handler) + len(e.DedupeKey) + len(e.Group) + len(e.Payload)
}

// EncodeEntry appends the entry's record: what a hot driver outside the process
// stores. The payload is its last part.
func EncodeEntry(to []byte, e *Entry) []byte {
	flags := byte(0)
	if e.Bypass {
		flags |= flagBypass
	}
	if e.Durable {
		flags |= flagDurable
	}
	if e.Lane == Slow {
		flags |= flagSlow
	}
	to = append(to, recordVersion, flags, byte(e.Kind))
	to = append(to, e.ID[:]...)
	to = binary.BigEndian.AppendUint64(to, uint64(e.Rev))
	to = binary.BigEndian.AppendUint32(to, uint32(e.Attempts))
	to = binary.BigEndian.AppendUint64(to, uint64(micros(e.EnqueuedAt)))
	to = binary.BigEndian.AppendUint64(to, uint64(micros(e.RunAt)))
	to = binary.BigEndian.AppendUint32(to, uint32(e.MaxAttempts))
	to = binary.BigEndian.AppendUint64(to, uint64(e.Timeout))
	for _, text := range [...]string{e.Handler, e.DedupeKey, e.Group} {
		to = binary.BigEndian.AppendUint16(to, uint16(len(text)))
	}
	to = append(to, e.Handler...)
	to = append(to, e.DedupeKey...)
	to = append(to, e.Group...)
	return append(to, e.Payload...)
}

// DecodeEntry is the inverse of EncodeEntry. The payload is a part of the record,
// not a copy.
func DecodeEntry(record []byte) (Entry, error) {
	var e Entry
	switch {
	case len(record) == 0:
		return e, fmt.Errorf("%w: it is empty", errBadRecord)
	case record[0] != recordVersion:
		return e, fmt.Errorf("%w: its version is %d, want %d", errBadRecord, record[0], recordVersion)
	case len(record) < headerSize:
		return e, fmt.Errorf("%w: it ends within its header", errBadRecord)
	}
	flags := record[1]
	e.Bypass, e.Durable, e.Lane = flags&flagBypass != 0, flags&flagDurable != 0, Fast
	if flags&flagSlow != 0 {
		e.Lane = Slow
	}
	e.Kind = Kind(record[2])
	rest := record[3:]
	copy(e.ID[:], rest)
	rest = rest[len(e.ID):]
	word := func() uint64 {
		v := binary.BigEndian.Uint64(rest)
		rest = rest[8:]
		return v
	}
	half := func() uint32 {
		v := binary.BigEndian.Uint32(rest)
		rest = rest[4:]
		return v
	}
	e.Rev = int64(word())
	e.Attempts = int(half())
	e.EnqueuedAt = fromMicros(int64(word()))
	e.RunAt = fromMicros(int64(word()))
	e.MaxAttempts = int(half())
	e.Timeout = time.Duration(word())
	var lengths [3]int
	for i := range lengths {
		lengths[i] = int(binary.BigEndian.Uint16(rest))
		rest = rest[2:]
	}
	for i, field := range [...]*string{&e.Handler, &e.DedupeKey, &e.Group} {
		if len(rest) < lengths[i] {
			return e, fmt.Errorf("%w: it ends within its text", errBadRecord)
		}
		*field, rest = string(rest[:lengths[i]]), rest[lengths[i]:]
	}
	e.Payload = rest
	if err := e.Validate(); err != nil {
		return e, fmt.Errorf("%w: %w", errBadRecord, err)
	}
	return e, nil
}

// micros keeps the zero time as zero.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func fromMicros(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}
