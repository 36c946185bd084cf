package config

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/postledger/postledger/internal/secret"
)

// checkRedis looks at how several nodes are named.
func (c *Config) checkRedis(fault func(bool, string, string, ...any)) {
	j := &c.Jobs
	several := j.RedisCluster || j.RedisMaster != ""
	fault(several && j.Redis.url == "", "jobs.redis", "must name a node, since jobs.redis_cluster or jobs.redis_master is set")
	fault(j.RedisCluster && j.RedisMaster != "", "jobs.redis_master", "is set, and jobs.redis_cluster too: Sentinels lead to one server")
	fault(len(j.RedisAddrs) > 0 && !several, "jobs.redis_addrs", "is set, and neither jobs.redis_cluster nor jobs.redis_master says what these are")
	fault(!j.RedisSentinelPassword.IsZero() && j.RedisMaster == "", "jobs.redis_sentinel_password", "is set, and jobs.redis_master is not")
	for _, addr := range j.RedisAddrs {
		host, port, err := net.SplitHostPort(addr)
		fault(err != nil || host == "" || port == "", "jobs.redis_addrs", "holds %q, and each must be HOST:PORT", addr)
	}
	if o, err := redis.ParseURL(j.Redis.url); err == nil && j.RedisCluster {
		fault(o.DB != 0, "jobs.redis", "names database %d, and a cluster has only 0", o.DB)
	}
}

// RedisOptions gather what connects to the server, the cluster or the Sentinels. It
// reads the files that hold passwords.
func (j *Jobs) RedisOptions() (*redis.UniversalOptions, error) {
	o, err := redis.ParseURL(j.Redis.url)
	if err != nil {
		return nil, errors.New("jobs.redis: is not a valid URL")
	}
	password, err := revealed(j.RedisPassword)
	if err != nil {
		return nil, fmt.Errorf("jobs.redis_password: %w", err)
	}
	if password != "" {
		o.Password = password
	}
	sentinel, err := revealed(j.RedisSentinelPassword)
	if err != nil {
		return nil, fmt.Errorf("jobs.redis_sentinel_password: %w", err)
	}
	if o.TLSConfig != nil {
		o.TLSConfig.MinVersion = tls.VersionTLS12
		if len(j.RedisAddrs) > 0 || j.RedisCluster || j.RedisMaster != "" {
			// Each node by its own name.
			o.TLSConfig.ServerName = ""
		}
	}
	return &redis.UniversalOptions{
		Addrs: append([]string{o.Addr}, j.RedisAddrs...), IsClusterMode: j.RedisCluster, MasterName: j.RedisMaster,
		Protocol: o.Protocol, Username: o.Username, Password: o.Password, SentinelPassword: sentinel, DB: o.DB, TLSConfig: o.TLSConfig,
		MaxRetries: o.MaxRetries, MinRetryBackoff: o.MinRetryBackoff, MaxRetryBackoff: o.MaxRetryBackoff,
		DialTimeout: o.DialTimeout, ReadTimeout: o.ReadTimeout, WriteTimeout: o.WriteTimeout,
		PoolFIFO: o.PoolFIFO, PoolSize: o.PoolSize, PoolTimeout: o.PoolTimeout,
		MinIdleConns: o.MinIdleConns, MaxIdleConns: o.MaxIdleConns, MaxActiveConns: o.MaxActiveConns,
		ConnMaxIdleTime: o.ConnMaxIdleTime, ConnMaxLifetime: o.ConnMaxLifetime,
	}, nil
}

// revealed is a secret's text, or that of the file that it names.
func revealed(v secret.Value) (string, error) {
	text := v.Reveal()
	if path, ok := strings.CutPrefix(text, filePrefix); ok {
		content, err := ReadSecretFile(path)
		return strings.TrimSpace(content), err
	}
	return text, nil
}
