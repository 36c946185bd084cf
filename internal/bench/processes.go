package main

import (
	"errors"
	"fmt"
	"time"
)

const (
	oneProcess   = "one process"
	twoProcesses = "two processes"
)

func (b *bench) prepareProcesses() error {
	_, err := b.database("processes")
	return err
}

// processes lets one process deliver, and then two at once, with as many
// connections each.
func (b *bench) processes(i int) error {
	for k := range 2 {
		n := 1 + (i+k)%2
		r, err := b.together(i, n)
		if err != nil {
			return err
		}
		b.figures.add(map[int]string{1: oneProcess, 2: twoProcesses}[n], b.o.n, r)
	}
	return nil
}

func (b *bench) judgeProcesses() error {
	b.figures.atLeast("rate of two processes on one PostgreSQL, of one's", twoProcesses, oneProcess, rateOf, 1.0)
	return nil
}

// together lets several processes deliver what load has left. Its rate is that
// of the middle four fifths: no process's start or end is in it.
func (b *bench) together(i, n int) (total result, err error) {
	p := b.own["processes"]
	j := b.bulkJob(fmt.Sprintf("together-%d-%d", i, n))
	j.URL, j.World, j.Run = p.url, p.world, 2*i+n-1
	if _, err := run("load", j); err != nil {
		return total, err
	}
	before, err := b.s.sink.state()
	if err != nil {
		return total, err
	}
	var parts []*attended
	defer func() {
		for _, part := range parts {
			err = errors.Join(err, part.end())
		}
	}()
	for k := range n {
		at := j
		at.Dir = fmt.Sprint(j.Dir, "-", k)
		part, err := startAttended(deliverPart, &at)
		if err != nil {
			return total, err
		}
		parts = append(parts, part)
	}
	const patience = 5 * time.Minute
	reach := func(share float64) (time.Time, error) {
		err := b.s.sink.await(before.Messages+int64(share*float64(j.N)), patience)
		return time.Now(), err
	}
	began, err1 := reach(0.1)
	ended, err2 := reach(0.9)
	_, err3 := reach(1)
	if err := errors.Join(err1, err2, err3); err != nil {
		return total, err
	}
	for len(parts) > 0 {
		r, err := parts[0].finish()
		parts = parts[1:]
		if err != nil {
			return total, err
		}
		total.Self += r.Self
		total.Server = max(total.Server, r.Server) // each sees the backends of all
		total.Peak = max(total.Peak, r.Peak)
	}
	total.Seconds = ended.Sub(began).Seconds() / 0.8
	return total, nil
}
