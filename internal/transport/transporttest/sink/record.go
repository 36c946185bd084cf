package sink

import (
	"fmt"
	"os"
	"sync"
)

// record appends lines to a file, in groups that share one write and one fsync.
type record struct {
	f     *os.File
	fsync bool
	in    chan entry // bounded by the number of connections, each waits for its own
	wg    sync.WaitGroup
}

type entry struct {
	lines []byte
	done  chan<- error
}

// maxGroup bounds the entries of one write.
const maxGroup = 256

func openRecord(path string, fsync bool) (*record, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open record: %w", err)
	}
	r := &record{f: f, fsync: fsync, in: make(chan entry, maxGroup)}
	r.wg.Go(r.run)
	return r, nil
}

// add returns when lines are in the file, and on disk if asked for.
func (r *record) add(lines []byte, done chan error) error {
	r.in <- entry{lines, done}
	return <-done
}

func (r *record) run() {
	var buf []byte
	var group []chan<- error
	for e := range r.in {
		buf, group = append(buf[:0], e.lines...), append(group[:0], e.done)
	more:
		for len(group) < maxGroup {
			select {
			case e, ok := <-r.in:
				if !ok {
					break more
				}
				buf, group = append(buf, e.lines...), append(group, e.done)
			default:
				break more
			}
		}
		_, err := r.f.Write(buf)
		if err == nil && r.fsync {
			err = r.f.Sync()
		}
		for _, done := range group {
			done <- err
		}
	}
}

func (r *record) close() error {
	close(r.in)
	r.wg.Wait()
	return r.f.Close()
}
