package cost

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Self is this process's CPU time in µs.
func Self() (float64, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("getrusage: %w", err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1000, nil
}

// tick is a unit of /proc/PID/stat: USER_HZ, 100 on every Linux.
const tick = 10_000 // µs

// Process is a process's CPU time in µs, from fields 14 and 15 of its stat; the
// second field, a name in parentheses, may hold spaces.
func Process(pid int) (float64, error) {
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

// PeakKiB is this process's largest resident size.
func PeakKiB() (int, error) {
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
