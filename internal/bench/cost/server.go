package cost

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Postgres is the CPU of a database's client backends. Those that write the log,
// check points and vacuum are the server's, not a client's.
func Postgres(db *sql.DB) Source {
	return func() (map[int]float64, error) {
		rows, err := db.QueryContext(context.Background(), `SELECT pid FROM pg_stat_activity
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
			used, err := Process(pid)
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
}

// Redis is the CPU of a server, its threads for input and output among them.
func Redis(client *redis.Client) Source {
	return func() (map[int]float64, error) {
		info, err := client.Info(context.Background(), "cpu").Result()
		if err != nil {
			return nil, fmt.Errorf("read the server's CPU time: %w", err)
		}
		used := 0.0
		for line := range strings.Lines(info) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
			if name != "used_cpu_user" && name != "used_cpu_sys" {
				continue
			}
			seconds, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return nil, fmt.Errorf("read the server's CPU time: %w", err)
			}
			used += seconds * 1e6
		}
		return map[int]float64{0: used}, nil
	}
}

// Together is the CPU of several servers.
func Together(sources ...Source) Source {
	return func() (map[int]float64, error) {
		out := map[int]float64{}
		for _, source := range sources {
			some, err := source()
			if err != nil {
				return nil, err
			}
			for pid, used := range some {
				out[pid] += used
			}
		}
		return out, nil
	}
}
