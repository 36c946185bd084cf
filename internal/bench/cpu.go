package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// meter measures a part between start and stop.
type meter struct {
	db     *sql.DB // nil without PostgreSQL
	began  time.Time
	self   float64
	server map[int]float64
}

// startMeter begins to measure. pg is the PostgreSQL database whose client
// backends are counted; "" when there is none.
func startMeter(pg string) (*meter, error) {
	m := &meter{}
	if strings.HasPrefix(pg, "postgres") {
		var err error
		if m.db, err = sql.Open("pgx", pg); err != nil {
			return nil, fmt.Errorf("measure backends: %w", err)
		}
		if m.server, err = m.backends(); err != nil {
			return nil, err
		}
	}
	var err error
	m.self, err = selfCPU()
	m.began = time.Now()
	return m, err
}

// stop returns what was used since start. It is called before the part closes
// its connections: a backend's time is gone with it.
func (m *meter) stop() (result, error) {
	r := result{Seconds: time.Since(m.began).Seconds()}
	self, err := selfCPU()
	if err != nil {
		return r, err
	}
	r.Self = self - m.self
	if m.db == nil {
		return r, nil
	}
	now, err := m.backends()
	for pid, used := range now {
		r.Server += used - m.server[pid]
	}
	return r, errors.Join(err, m.db.Close())
}

// backends reads the CPU time of the database's client backends. Those that
// write the log, check points and vacuum are the server's, not a client's.
func (m *meter) backends() (map[int]float64, error) {
	rows, err := m.db.QueryContext(context.Background(), `SELECT pid FROM pg_stat_activity
		WHERE backend_type = 'client backend' AND datname = current_database() AND pid <> pg_backend_pid()`)
	if err != nil {
		return nil, fmt.Errorf("list backends: %w", err)
	}
	defer rows.Close()
	out := map[int]float64{}
	for rows.Next() {
		var pid int
		if err := rows.Scan(&pid); err != nil {
			return nil, fmt.Errorf("list backends: %w", err)
		}
		used, err := processCPU(pid)
		if errors.Is(err, os.ErrNotExist) {
			continue // it has just ended
		}
		if err != nil {
			return nil, err
		}
		out[pid] = used
	}
	return out, rows.Err()
}

// selfCPU is this process's CPU time in µs.
func selfCPU() (float64, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("getrusage: %w", err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1000, nil
}

// tick is a unit of /proc/PID/stat: USER_HZ, 100 on every Linux.
const tick = 10_000 // µs

// processCPU is a process's CPU time in µs, from fields 14 and 15 of its stat;
// the second field, a name in parentheses, may hold spaces.
func processCPU(pid int) (float64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat: %q", pid, b)
	}
	user, err1 := strconv.ParseFloat(f[11], 64)
	system, err2 := strconv.ParseFloat(f[12], 64)
	return (user + system) * tick, errors.Join(err1, err2)
}

// peakKiB is this process's largest resident size.
func peakKiB() (int, error) {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			return strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(v), " kB"))
		}
	}
	return 0, errors.New("/proc/self/status has no VmHWM")
}
