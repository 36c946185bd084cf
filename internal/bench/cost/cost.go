// Package cost tells what a part of the bench used: time, and CPU of its own process
// and of a server. The rivals' module uses it too, so that both sides are measured
// alike.
package cost

import (
	"errors"
	"time"
)

const (
	// Payload is how many bytes a job carries, Many how many jobs are handed over
	// at a time where that can be done.
	Payload = 300
	Many    = 1000
)

// Used is what a part used; Self and Server are µs of CPU.
type Used struct {
	Seconds, Self, Server float64
}

// Source reads the CPU time of a server's processes so far, in µs.
type Source func() (map[int]float64, error)

// Meter measures between Start and Stop.
type Meter struct {
	source Source
	Began  time.Time
	self   float64
	server map[int]float64
}

// Start begins to measure. source is nil where there is no server.
func Start(source Source) (*Meter, error) {
	if source == nil {
		source = func() (map[int]float64, error) { return nil, nil }
	}
	m := &Meter{source: source}
	var err1, err2 error
	m.server, err1 = source()
	m.self, err2 = Self()
	m.Began = time.Now()
	return m, errors.Join(err1, err2)
}

// Stop tells what was used. It is called before the part closes its connections: a
// backend's time is gone with it.
func (m *Meter) Stop() (Used, error) {
	u := Used{Seconds: time.Since(m.Began).Seconds()}
	self, err1 := Self()
	u.Self = self - m.self
	now, err2 := m.source()
	for pid, used := range now {
		u.Server += used - m.server[pid]
	}
	return u, errors.Join(err1, err2)
}
