package config

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/postledger/postledger/internal/secret"
	"github.com/postledger/postledger/jobs"
)

// Jobs says how background work is queued and run. Its rows are in the ledger's
// database; a part of them, which these limits bound, is where workers get at it.
type Jobs struct {
	// Driver is where that part is: memory (of one process) or redis.
	Driver string `koanf:"driver"`
	// Redis is redis:// or rediss://HOST:PORT/NUMBER, or file:PATH of a file that
	// holds one.
	Redis Redis `koanf:"redis"`
	// RedisPassword stands over a password in the URL: a text, or file:PATH.
	RedisPassword secret.Value `koanf:"redis_password"`
	// RedisAddrs are HOST:PORT of further nodes: of a Redis Cluster when RedisCluster
	// says that it is one, or of the Sentinels that know RedisMaster by that name.
	// Redis names the first, and how to log in to what they lead to.
	RedisAddrs   []string `koanf:"redis_addrs"`
	RedisCluster bool     `koanf:"redis_cluster"`
	RedisMaster  string   `koanf:"redis_master"`
	// RedisSentinelPassword logs in to the Sentinels, which have users of their own: a
	// text, or file:PATH.
	RedisSentinelPassword secret.Value `koanf:"redis_sentinel_password"`
	// HotMaxJobs and HotMaxBytes bound what is in memory or in Redis, GroupShare
	// the jobs of one group in it. They must be the same for all processes.
	HotMaxJobs  int  `koanf:"hot_max_jobs"`
	HotMaxBytes Size `koanf:"hot_max_bytes"`
	GroupShare  int  `koanf:"group_share"`
	// Slots is how many jobs this process runs at a time; with 0 it hands over
	// and runs none. SlowPercent is the part of them, and of what is hot, that
	// slow work may use.
	Slots       int `koanf:"slots"`
	SlowPercent int `koanf:"slow_percent"`
	// MaxBacklog and MaxBacklogAge refuse new jobs while so many wait, or one for
	// so long; 0 is no bound. What follows from mail is never refused.
	MaxBacklog    int64         `koanf:"max_backlog"`
	MaxBacklogAge time.Duration `koanf:"max_backlog_age"`
	// Connections bounds the PostgreSQL connections of the queue, which are apart
	// from the ledger's own.
	Connections int `koanf:"connections"`
	// KeepSetAside is how long jobs are kept that were given up.
	KeepSetAside time.Duration `koanf:"keep_set_aside"`
}

// The drivers.
const (
	MemoryDriver = "memory"
	RedisDriver  = "redis"
)

func defaultJobs() Jobs {
	return Jobs{
		Driver: MemoryDriver, HotMaxJobs: jobs.DefaultHotJobs, HotMaxBytes: jobs.DefaultHotBytes, GroupShare: jobs.DefaultGroupShare,
		Slots: 64, SlowPercent: 50, Connections: 5, KeepSetAside: 30 * 24 * time.Hour,
	}
}

// Limits are what bounds the hot set.
func (j *Jobs) Limits() jobs.Limits {
	return jobs.Limits{
		Jobs: j.HotMaxJobs, Bytes: int64(j.HotMaxBytes), GroupShare: j.GroupShare, SlowShare: j.SlowShare(),
	}.WithDefaults()
}

// SlowShare is the part of slots and of what is hot that slow work may use.
func (j *Jobs) SlowShare() float64 { return float64(j.SlowPercent) / 100 }

func (c *Config) checkJobs(fault func(bool, string, string, ...any)) {
	j := &c.Jobs
	drivers := []string{MemoryDriver, RedisDriver}
	fault(!slices.Contains(drivers, j.Driver), "jobs.driver", "is %q, and must be one of %v", j.Driver, drivers)
	fault(j.Driver == RedisDriver && j.Redis.url == "", "jobs.redis", "must be set, since jobs.driver is redis")
	fault(j.Driver == MemoryDriver && j.Redis.url != "", "jobs.redis", "is set, and jobs.driver is memory")
	fault(j.Redis.url == "" && !j.RedisPassword.IsZero(), "jobs.redis_password", "is set, and jobs.redis is not")
	c.checkRedis(fault)
	fault(j.HotMaxJobs < 10 || j.HotMaxJobs > 1_000_000, "jobs.hot_max_jobs", "is %d, and must be between 10 and 1000000", j.HotMaxJobs)
	const least = 1 << 20
	fault(j.HotMaxBytes < least, "jobs.hot_max_bytes", "is %s, and must be at least 1MiB", j.HotMaxBytes)
	fault(j.GroupShare < 1 || j.GroupShare > j.HotMaxJobs, "jobs.group_share", "is %d, and must be between 1 and hot_max_jobs (%d)", j.GroupShare, j.HotMaxJobs)
	fault(j.Slots < 0 || j.Slots > jobs.MaxTake, "jobs.slots", "is %d, and must be between 0 and %d", j.Slots, jobs.MaxTake)
	fault(j.Slots == 0 && c.Database.Embedded(), "jobs.slots", "is 0, and no other process can run the jobs of an embedded ledger")
	fault(j.SlowPercent < 1 || j.SlowPercent > 100, "jobs.slow_percent", "is %d, and must be between 1 and 100", j.SlowPercent)
	fault(j.MaxBacklog < 0, "jobs.max_backlog", "must not be negative (0 is no bound)")
	fault(j.MaxBacklogAge < 0, "jobs.max_backlog_age", "must not be negative (0 is no bound)")
	fault(j.Connections < 3 || j.Connections > 100, "jobs.connections", "is %d, and must be between 3 and 100 (the drain, what is handed over and what is finished have one each)", j.Connections)
	fault(j.KeepSetAside < time.Hour, "jobs.keep_set_aside", "is %s, and must be at least 1h", j.KeepSetAside)
	// Bounds that are right each by itself and not together.
	if j.HotMaxJobs >= 10 && j.HotMaxBytes >= least && j.GroupShare >= 1 && j.SlowPercent >= 1 && j.SlowPercent <= 100 {
		if err := j.Limits().Validate(); err != nil {
			fault(true, "jobs.hot_max_bytes", "does not go with slow_percent: %w", err)
		}
	}
}

// Redis is a server's URL. Printing it hides the password.
type Redis struct{ url string }

// UnmarshalText reads a URL, or takes it from a file.
func (r *Redis) UnmarshalText(text []byte) error {
	s := string(text)
	if path, ok := strings.CutPrefix(s, filePrefix); ok {
		content, err := ReadSecretFile(path)
		if err != nil {
			return err
		}
		s = strings.TrimSpace(content)
	}
	// The parser's own words may quote the URL, password included.
	if !strings.HasPrefix(s, "redis://") && !strings.HasPrefix(s, "rediss://") {
		return errors.New("must be a redis:// or rediss:// URL, or file:PATH of a file that holds one")
	}
	if u, err := url.Parse(s); err != nil || u.Hostname() == "" {
		return errors.New("is not a valid URL (want redis://USER:PASSWORD@HOST:PORT/NUMBER; characters such as % / ? # @ in a password are percent-encoded)")
	}
	if _, err := redis.ParseURL(s); err != nil {
		return errors.New("has a path that is no number of a database, or an option that is not known")
	}
	*r = Redis{s}
	return nil
}

// String is the URL without its password.
func (r Redis) String() string {
	if r.url == "" {
		return ""
	}
	u, err := url.Parse(r.url)
	if err != nil {
		return "redis://" + secret.Value{}.String()
	}
	if _, has := u.User.Password(); has {
		u.User = url.UserPassword(u.User.Username(), hidden)
	}
	return u.String()
}

// GoString hides the password from %#v.
func (r Redis) GoString() string { return r.String() }

// MarshalText hides the password from encoders.
func (r Redis) MarshalText() ([]byte, error) { return []byte(r.String()), nil }
