package config

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"
)

// Check reports every rule the configuration breaks.
func (c *Config) Check() error {
	var faults []error
	fault := func(broken bool, key, format string, args ...any) {
		if broken {
			faults = append(faults, fmt.Errorf("%s: "+format, append([]any{key}, args...)...))
		}
	}
	fault(c.DataDir == "", "data_dir", "must not be empty")
	fault(c.DatabaseConnections < 6 || c.DatabaseConnections > 500, "database_connections",
		"is %d, and must be between 6 and 500 (heartbeats, leasing, settling, accepting and recovery have one each)", c.DatabaseConnections)
	fault(c.DatabaseTimeout < 500*time.Millisecond || c.DatabaseTimeout > 5*time.Minute, "database_timeout",
		"is %s, and must be between 500ms and 5m", c.DatabaseTimeout)
	if err := checkListen(c.HTTP); err != nil {
		fault(true, "http", "%w", err)
	}
	if c.AdminHTTP != Off {
		err := checkListen(c.AdminHTTP)
		switch {
		case err != nil:
			fault(true, "admin_http", "%w, or off", err)
		default:
			fault(c.AdminHTTP == c.HTTP && !portZero(c.HTTP), "admin_http", "must not be the address of http")
		}
	}
	const leastMemory = 16 << 20
	fault(c.MemoryBudget < leastMemory, "memory_budget", "is %s, and must be at least 16MiB", c.MemoryBudget)
	fault(c.MaxWaiting < 0, "max_waiting", "must not be negative (0 is no bound)")
	fault(c.StopTimeout < time.Second || c.StopTimeout > time.Hour, "stop_timeout", "is %s, and must be between 1s and 1h", c.StopTimeout)
	fault(c.Limits.KeyRate < 1, "limits.key_rate", "must be at least 1")
	fault(c.Limits.KeyBurst < c.Limits.KeyRate, "limits.key_burst", "is %d, and must be at least key_rate (%d)", c.Limits.KeyBurst, c.Limits.KeyRate)
	fault(c.Audiences.CountTimeout < time.Second || c.Audiences.CountTimeout > 24*time.Hour, "audiences.count_timeout",
		"is %s, and must be between 1s and 24h", c.Audiences.CountTimeout)
	fault(c.Audiences.Counts < 1 || c.Audiences.Counts > 100, "audiences.counts", "is %d, and must be between 1 and 100", c.Audiences.Counts)
	levels, formats := []string{"debug", "info", "warn", "error"}, []string{"json", "text"}
	fault(!slices.Contains(levels, c.Log.Level), "log.level", "is %q, and must be one of %v", c.Log.Level, levels)
	fault(!slices.Contains(formats, c.Log.Format), "log.format", "is %q, and must be one of %v", c.Log.Format, formats)
	c.checkBlobs(fault)
	c.checkSources(fault)
	c.checkJobs(fault)
	c.Timings.check(fault)
	return errors.Join(faults...)
}

// check keeps a process silent well before anybody takes it for lost.
func (t *Timings) check(fault func(bool, string, string, ...any)) {
	fault(t.Heartbeat < 50*time.Millisecond, "timings.heartbeat", "is %s, and must be at least 50ms", t.Heartbeat)
	fault(t.StaleAfter < 3*t.Heartbeat, "timings.stale_after", "is %s, and must be at least three heartbeats (%s)", t.StaleAfter, 3*t.Heartbeat)
	fault(t.LostAfter < 2*t.StaleAfter, "timings.lost_after", "is %s, and must be at least twice stale_after (%s)", t.LostAfter, 2*t.StaleAfter)
	for _, f := range []struct {
		key string
		d   time.Duration
	}{{"poll_immediate", t.PollImmediate}, {"poll_bulk", t.PollBulk}, {"recovery", t.Recovery}} {
		fault(f.d < 10*time.Millisecond || f.d > 10*time.Minute, "timings."+f.key, "is %s, and must be between 10ms and 10m", f.d)
	}
}

func checkListen(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("is %q, and must be an address and a port, such as 127.0.0.1:8025", addr)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("has the port %q, and must have one between 0 and 65535", port)
	}
	if host != "" && host != "localhost" && net.ParseIP(host) == nil {
		return fmt.Errorf("has the host %q, and must have an IP address, localhost, or none for all addresses", host)
	}
	return nil
}

func portZero(addr string) bool {
	_, port, _ := net.SplitHostPort(addr)
	return port == "0"
}
