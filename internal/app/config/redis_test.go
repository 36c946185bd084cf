package config_test

import (
	"slices"
	"testing"

	"github.com/postledger/postledger/internal/app/config"
)

// What leads to the server behind Sentinels is the Sentinels' addresses, the name and two
// logins: the URL's is the server's.
func TestRedisOptionsOfSentinels(t *testing.T) {
	c, err := config.Load(write(t, "c.yaml", `
jobs:
  driver: redis
  redis: rediss://worker@one.example.org:26379/3
  redis_password: file:`+write(t, "password", "of the server\n")+`
  redis_addrs: [two.example.org:26379, "three.example.org:26380"]
  redis_master: queue
  redis_sentinel_password: file:`+write(t, "sentinel", "of the Sentinels\n")), nil)
	if err != nil {
		t.Fatal(err)
	}
	o, err := c.Jobs.RedisOptions()
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"one.example.org:26379", "two.example.org:26379", "three.example.org:26380"}; !slices.Equal(o.Addrs, want) {
		t.Errorf("the Sentinels are %q", o.Addrs)
	}
	if o.MasterName != "queue" || o.IsClusterMode || o.Username != "worker" || o.Password != "of the server" || o.SentinelPassword != "of the Sentinels" || o.DB != 3 {
		t.Errorf("the server is %q of %v as %q, %q, %q, database %d", o.MasterName, o.IsClusterMode, o.Username, o.Password, o.SentinelPassword, o.DB)
	}
	// Each is asked for its own certificate.
	if o.TLSConfig == nil || o.TLSConfig.ServerName != "" {
		t.Errorf("TLS is %+v", o.TLSConfig)
	}
}
