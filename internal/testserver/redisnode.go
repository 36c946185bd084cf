package testserver

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// redisNode is how a Redis server is reached.
type redisNode struct {
	Data     string `json:"data"`
	Port     int    `json:"port"`
	Password string `json:"password"`
}

func newRedisNode(owner osUser, dir, name string, port int) (redisNode, error) {
	n := redisNode{Data: filepath.Join(dir, name), Port: port, Password: randomHex(16)}
	if err := os.Mkdir(n.Data, 0o700); err != nil {
		return n, fmt.Errorf("create data directory: %w", err)
	}
	if err := owner.own(n.Data); err != nil {
		return n, fmt.Errorf("hand over data directory: %w", err)
	}
	// In a file, because arguments can be read by every user of the machine.
	if err := os.WriteFile(n.config(), []byte("requirepass "+n.Password+"\n"), 0o600); err != nil {
		return n, fmt.Errorf("write configuration: %w", err)
	}
	if err := owner.own(n.config()); err != nil {
		return n, fmt.Errorf("hand over configuration: %w", err)
	}
	return n, nil
}

func (n redisNode) config() string { return n.Data + ".conf" }

func (n redisNode) pidFile() string { return filepath.Join(n.Data, "redis.pid") }

// args are the server's arguments. Further settings win over these.
func (n redisNode) args(settings ...string) []string {
	settings = append([]string{
		"bind=127.0.0.1",
		fmt.Sprintf("port=%d", n.Port),
		"dir=" + n.Data,
		"pidfile=" + n.pidFile(),
		"daemonize=no",
		"set-proc-title=no", // the directory in it tells a stale server
		"save=",             // no snapshots: only what a test asks for is kept
	}, settings...)
	args := []string{n.config()}
	for _, setting := range settings {
		name, value, _ := strings.Cut(setting, "=")
		args = append(args, "--"+name, value)
	}
	return args
}

func (n redisNode) url() string {
	u := url.URL{Scheme: "redis", User: url.UserPassword("default", n.Password), Host: loopback(n.Port), Path: "/0"}
	return u.String()
}

func (n redisNode) ready() bool { return listening(n.Port) && n.answers(time.Second) }

// answers tells whether a server that knows this password runs and has read
// its data.
func (n redisNode) answers(patience time.Duration) bool {
	options, err := redis.ParseURL(n.url())
	if err != nil {
		return false
	}
	options.MaxRetries = -1
	client := redis.NewClient(options)
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return client.Ping(ctx).Err() == nil
}
