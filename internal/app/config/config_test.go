package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/postledger/postledger/internal/app/config"
	"github.com/postledger/postledger/internal/secret"
)

func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAnEmptyFileIsTheDefault(t *testing.T) {
	c, err := config.Load(write(t, "c.yaml", ""), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Database.String(); got != "sqlite:///var/lib/postledger/postledger.db" {
		t.Errorf("database: %s", got)
	}
	if c.Blobs != "/var/lib/postledger/blobs" || c.JournalDir != "/var/lib/postledger/journal" {
		t.Errorf("paths: %s, %s", c.Blobs, c.JournalDir)
	}
	if c.HTTP != "127.0.0.1:8025" || c.AdminHTTP != "127.0.0.1:8026" {
		t.Errorf("it must listen on loopback: %s, %s", c.HTTP, c.AdminHTTP)
	}
}

func TestTheEnvironmentStandsOverTheFile(t *testing.T) {
	file := write(t, "c.yaml", `
data_dir: /srv/mail
memory_budget: 64MiB
max_waiting: 500
log: {level: warn}
timings:
  heartbeat: 1s
  stale_after: 4s
  lost_after: 12s
`)
	c, err := config.Load(file, []string{
		"POSTLEDGER_LOG__LEVEL=debug", "POSTLEDGER_MAX_WAITING=7", "POSTLEDGER_ALLOW_SANDBOX=true",
		"POSTLEDGER_STOP_TIMEOUT=5s", "POSTLEDGER_DATABASE=postgres://u:pw@db/ledger",
		"POSTLEDGER_OLDER_ENCRYPTION_KEYS=a,b", "POSTLEDGER_TRUSTED_PROXIES=127.0.0.1,10.0.0.0/8", "POSTLEDGER_LIMITS__KEY_RATE=3",
		// Not the configuration's:
		"POSTLEDGER_API_KEY=x", "POSTLEDGER_SERVER=y", "POSTLEDGER_TEST_POSTGRES_URL=z", "HOME=/", "POSTLEDGER_KILL_AT=a:1",
	})
	if err != nil {
		t.Fatal(err)
	}
	if c.Log.Level != "debug" || c.Log.Format != "json" || c.MaxWaiting != 7 || !c.AllowSandbox || c.StopTimeout != 5*time.Second ||
		c.MemoryBudget != 64<<20 || c.Timings.Heartbeat != time.Second || c.Timings.PollBulk != 2*time.Second || len(c.OlderEncryptionKeys) != 2 || fmt.Sprint(c.TrustedProxies) != "[127.0.0.1/32 10.0.0.0/8]" || c.Limits.KeyRate != 3 {
		t.Errorf("%+v", c)
	}
	if c.Database.Reveal() != "postgres://u:pw@db/ledger" || c.Blobs != "/srv/mail/blobs" {
		t.Errorf("%s %s", c.Database, c.Blobs)
	}
}

func TestFaultsNameTheKeyAndTheRule(t *testing.T) {
	open := write(t, "open", "x")
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		file string
		env  []string
		want []string
	}{
		"a misspelt key":              {"databse: x", nil, []string{"databse: is no key", "did you mean database?"}},
		"a misspelt key in a group":   {"log: {levle: info}", nil, []string{"log.levle: is no key", "did you mean log.level?"}},
		"a strange key":               {"quux: 1", nil, []string{"quux: is no key of the configuration"}},
		"a misspelt variable":         {"", []string{"POSTLEDGER_LOG_LEVEL=info"}, []string{"POSTLEDGER_LOG_LEVEL: is no variable", "did you mean POSTLEDGER_LOG__LEVEL?"}},
		"no value":                    {"http:", nil, []string{"http: has no value"}},
		"a number without a unit":     {"stop_timeout: 60", nil, []string{"stop_timeout: must be a time with its unit"}},
		"a time of the wrong size":    {"stop_timeout: 2h", nil, []string{"stop_timeout: is 2h0m0s, and must be between 1s and 1h"}},
		"a list for a text":           {"http: [a]", nil, []string{"http: must be a text"}},
		"a text for a group":          {"log: debug", nil, []string{"log: must be a group of keys"}},
		"a text for a number":         {"max_waiting: many", nil, []string{"max_waiting: must be a whole number"}},
		"a truth for a number":        {"max_waiting: true", nil, []string{"max_waiting: must be a whole number"}},
		"a number for a truth":        {"allow_sandbox: 1", nil, []string{"allow_sandbox: must be true or false"}},
		"a word for a truth":          {"", []string{"POSTLEDGER_ALLOW_SANDBOX=yes"}, []string{"allow_sandbox: must be true or false"}},
		"a bad level":                 {"log: {level: loud}", nil, []string{`log.level: is "loud", and must be one of`}},
		"a bad format":                {"log: {format: xml}", nil, []string{`log.format: is "xml"`}},
		"a bad size":                  {"memory_budget: 1MB", nil, []string{"memory_budget: must be a number of bytes"}},
		"too little memory":           {"memory_budget: 1MiB", nil, []string{"memory_budget: is 1MiB, and must be at least 16MiB"}},
		"a bad address":               {"http: localhost", nil, []string{`http: is "localhost"`}},
		"a bad port":                  {"admin_http: 127.0.0.1:99999", nil, []string{"admin_http: has the port"}},
		"a host name":                 {"http: mail.example.org:80", nil, []string{"http: has the host"}},
		"one address for both":        {"admin_http: 127.0.0.1:8025", nil, []string{"admin_http: must not be the address of http"}},
		"a bad network":               {"trusted_proxies: [10.0.0.1/8]", nil, []string{"trusted_proxies[0]: must be addresses and networks"}},
		"a small burst":               {"limits: {key_rate: 500}", nil, []string{"limits.key_burst: is 400, and must be at least key_rate (500)"}},
		"no requests":                 {"limits: {key_rate: 0}", nil, []string{"limits.key_rate: must be at least 1"}},
		"a bad database":              {"database: mysql://x", nil, []string{"database: must be sqlite://PATH"}},
		"a database without a file":   {"database: 'sqlite://'", nil, []string{"database: names no file"}},
		"a database file for all":     {"database: 'file:" + open + "'", nil, []string{"database: names", "0644", "0600"}},
		"a missing database file":     {"database: 'file:/nowhere/url'", nil, []string{"database: cannot be read"}},
		"few connections":             {"database_connections: 1", nil, []string{"database_connections: is 1, and must be between 6 and 500"}},
		"a negative bound":            {"max_waiting: -1", nil, []string{"max_waiting: must not be negative"}},
		"an impatient process":        {"timings: {stale_after: 10s}", nil, []string{"timings.stale_after: is 10s, and must be at least three heartbeats (15s)"}},
		"a process that is lost soon": {"timings: {lost_after: 30s}", nil, []string{"timings.lost_after: is 30s, and must be at least twice stale_after (40s)"}},
		"a poll without a pause":      {"timings: {poll_bulk: 0s}", nil, []string{"timings.poll_bulk: is 0s"}},
		"the placeholder of a secret": {"encryption_key: '[secret]'", nil, []string{"encryption_key: ", "stands for a secret"}},
		"a text for all sources":      {"sources: shop", nil, []string{"sources: must be a group of keys"}},
		"a text for a source":         {"sources: {shop: x}", nil, []string{"sources.shop: must be a group of keys"}},
		"a misspelt key of a source":  {"sources: {shop: {dns: x}}", nil, []string{"sources.shop.dns: is no key"}},
		"a source without a DSN":      {"sources: {shop: {rows: 5}}", nil, []string{"sources.shop.dsn: must be set"}},
		"a source of a strange sort":  {"sources: {shop: {dsn: 'oracle://x'}}", nil, []string{"sources.shop.dsn: bad data source name", "postgres, mysql, mariadb or sqlite"}},
		"a source of a strange name":  {"sources: {Shop: {dsn: 'sqlite:x'}}", nil, []string{"sources.Shop: must have a name"}},
		"a source with a bad bound":   {"sources: {shop: {dsn: 'sqlite:x', rows: -1}}", nil, []string{"sources.shop.rows: is -1"}},
		"a source with a bare time":   {"sources: {shop: {dsn: 'sqlite:x', timeout: 5}}", nil, []string{"sources.shop.timeout: must be a time with its unit"}},
		"a source with too many":      {"sources: {shop: {dsn: 'sqlite:x', connections: many}}", nil, []string{"sources.shop.connections: must be a whole number"}},
		"a strange driver":            {"jobs: {driver: kafka}", nil, []string{`jobs.driver: is "kafka", and must be one of [memory redis]`}},
		"a driver without a server":   {"jobs: {driver: redis}", nil, []string{"jobs.redis: must be set"}},
		"a server without a driver":   {"jobs: {redis: 'redis://h:1'}", nil, []string{"jobs.redis: is set, and jobs.driver is memory"}},
		"a password without a server": {"jobs: {redis_password: x}", nil, []string{"jobs.redis_password: is set, and jobs.redis is not"}},
		"a server of another sort":    {"jobs: {driver: redis, redis: 'http://h'}", nil, []string{"jobs.redis: must be a redis:// or rediss:// URL"}},
		"a server without a host":     {"jobs: {driver: redis, redis: 'redis:///3'}", nil, []string{"jobs.redis: is not a valid URL"}},
		"a database with a name":      {"jobs: {driver: redis, redis: 'redis://h/mail'}", nil, []string{"jobs.redis: has a path that is no number"}},
		"nodes of what":               {"jobs: {driver: redis, redis: 'redis://h:1', redis_addrs: ['i:1']}", nil, []string{"jobs.redis_addrs: is set, and neither"}},
		"a node without a port":       {"jobs: {driver: redis, redis: 'redis://h:1', redis_cluster: true, redis_addrs: [i]}", nil, []string{"jobs.redis_addrs: holds", "HOST:PORT"}},
		"a cluster's database":        {"jobs: {driver: redis, redis: 'redis://h:1/3', redis_cluster: true}", nil, []string{"jobs.redis: names database 3"}},
		"a cluster with sentinels":    {"jobs: {driver: redis, redis: 'redis://h:1', redis_cluster: true, redis_master: m}", nil, []string{"jobs.redis_master: is set, and jobs.redis_cluster too"}},
		"a password of no sentinel":   {"jobs: {driver: redis, redis: 'redis://h:1', redis_sentinel_password: x}", nil, []string{"jobs.redis_sentinel_password: is set"}},
		"sentinels without a name":    {"jobs: {driver: memory, redis_master: m}", nil, []string{"jobs.redis: must name a node"}},
		"a server's file for all":     {"jobs: {driver: redis, redis: 'file:" + open + "'}", nil, []string{"jobs.redis: names", "0644"}},
		"few hot jobs":                {"jobs: {hot_max_jobs: 1}", nil, []string{"jobs.hot_max_jobs: is 1, and must be between 10 and 1000000", "jobs.group_share: is 500"}},
		"few hot bytes":               {"jobs: {hot_max_bytes: 1KiB}", nil, []string{"jobs.hot_max_bytes: is 1KiB, and must be at least 1MiB"}},
		"no room for a slow job":      {"jobs: {hot_max_bytes: 1MiB, slow_percent: 1}", nil, []string{"jobs.hot_max_bytes: does not go with slow_percent"}},
		"too large a share":           {"jobs: {hot_max_jobs: 100, group_share: 101}", nil, []string{"jobs.group_share: is 101, and must be between 1 and hot_max_jobs (100)"}},
		"too many slots":              {"jobs: {slots: 501}", nil, []string{"jobs.slots: is 501, and must be between 0 and 500"}},
		"nobody for embedded jobs":    {"jobs: {slots: 0}", nil, []string{"jobs.slots: is 0, and no other process"}},
		"more than all":               {"jobs: {slow_percent: 101}", nil, []string{"jobs.slow_percent: is 101, and must be between 1 and 100"}},
		"a negative backlog":          {"jobs: {max_backlog: -1, max_backlog_age: -1s}", nil, []string{"jobs.max_backlog: must not", "jobs.max_backlog_age: must not"}},
		"one job connection":          {"jobs: {connections: 1}", nil, []string{"jobs.connections: is 1, and must be between 3 and 100"}},
		"a short memory":              {"jobs: {keep_set_aside: 5m}", nil, []string{"jobs.keep_set_aside: is 5m0s, and must be at least 1h"}},
		"bad YAML":                    {"a: [", nil, []string{"read configuration"}},
		"a key twice":                 {"http: 127.0.0.1:1\nhttp: 127.0.0.1:2", nil, []string{"already defined"}},
		"several at once":             {"databse: x\nmax_waiting: -1\nstop_timeout: 1", nil, []string{"databse", "stop_timeout"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := config.Load(write(t, "c.yaml", tt.file), tt.env)
			if err == nil {
				t.Fatal("no fault")
			}
			for _, w := range tt.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not say %q", err, w)
				}
			}
		})
	}
	if _, err := config.Load("/nowhere/postledger.yaml", nil); err == nil || !strings.Contains(err.Error(), "/nowhere/postledger.yaml") {
		t.Errorf("a file that is named and missing: %v", err)
	}
}

func TestSecretsAreNeverShown(t *testing.T) {
	key := secret.Generate()
	const password = "S3cr3tPassw0rd"
	c, err := config.Load(write(t, "c.yaml", fmt.Sprintf(`
database: postgres://mail:%s@db.example.org:5433/ledger?sslmode=verify-full&sslpassword=%s
jobs: {driver: redis, redis: "rediss://mail:%s@queue.example.org:6380/2", redis_password: %s}
encryption_key: %s
older_encryption_keys: [%s, "file:/etc/postledger/old.key"]
`, password, password, password, password, key, secret.Generate())), nil)
	if err != nil {
		t.Fatal(err)
	}
	shown, err := c.Show()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{shown, fmt.Sprintf("%v %+v %#v", c, c, c)} {
		if strings.Contains(text, password) || strings.Contains(text, key) {
			t.Errorf("a secret is shown: %s", text)
		}
	}
	for _, w := range []string{"db.example.org:5433/ledger", "sslmode=verify-full", "encryption_key: '[secret]'", "file:/etc/postledger/old.key", "heartbeat: 5s", "rediss://mail:xxxxx@queue.example.org:6380/2", "redis_password: '[secret]'", "memory_budget: 128MiB"} {
		if !strings.Contains(shown, w) {
			t.Errorf("does not show %q:\n%s", w, shown)
		}
	}
	for _, bad := range []string{"database: postgres://u:" + password + "@h:x%zz/d", "encryption_key: 'file:" + write(t, "k", password) + "x'"} {
		c, err := config.Load(write(t, "c.yaml", bad), nil)
		if err == nil {
			_, err = c.Keyring()
		}
		if err == nil || strings.Contains(err.Error(), password) {
			t.Errorf("%v", err)
		}
	}
}

func TestTheExampleIsCompleteAndValid(t *testing.T) {
	path := filepath.Join("..", "..", "..", "deploy", "postledger.example.yaml")
	c, err := config.Load(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	shown, err := c.Show()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// Every key is in it, set or as a comment, under its default.
	defaults, err := config.Load(write(t, "c.yaml", ""), nil)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := defaults.Show()
	if err != nil {
		t.Fatal(err)
	}
	if shown != plain {
		t.Errorf("the example is not the default:\n%s\n%s", shown, plain)
	}
	for line := range strings.Lines(plain) {
		key, _, _ := strings.Cut(strings.TrimSpace(line), ":")
		if !strings.Contains(string(content), key+":") {
			t.Errorf("the example does not explain %s", key)
		}
	}
}
