package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/postledger/postledger/internal/app/config"
)

// FuzzLoad: a file is either refused, with an error that shows no secret, or
// what was made of it passes its own check; it never changes the defaults of the
// next.
func FuzzLoad(f *testing.F) {
	for _, s := range []string{
		"", "{}", "[]", "http", "data_dir: /srv/mail\n", "database: postgres://u:hunter2@db/ledger\n",
		"database: sqlite:///x\nencryption_key: file:/etc/key\n", "memory_budget: 64MiB\n", "memory_budget: 9999999999999999999TiB\n",
		"log: {level: warn, format: text}\n", "log: warn\n", "timings: {heartbeat: 1s, stale_after: 4s, lost_after: 12s}\n",
		"timings: {heartbeat: 60}\n", "limits: {key_rate: -1}\n", "trusted_proxies: [127.0.0.1, 10.0.0.0/8]\n", "trusted_proxies: 10.0.0.1/8\n",
		"blobs: s3://bucket/prefix\ns3: {region: eu}\n", "a: &a [*a]\n", "a: &a x\nhttp: *a\n", "? [1]\n: 2\n", "http: null\n", "http:\n",
		"data_dir: \"\\0\"\n", "1: 2\n", "data_dir: {a: b}\n", "DATA_DIR: /x\n", "data_dir.x: 1\n", "older_encryption_keys: [hunter2]\n",
	} {
		f.Add(s, "")
	}
	f.Add("", "POSTLEDGER_DATABASE=postgres://u:hunter2@db/ledger")
	f.Add("", "POSTLEDGER_LOG__LEVEL=debug")
	f.Add("log: x", "POSTLEDGER_LOG__LEVEL=debug")
	f.Add("", "POSTLEDGER_LOG=debug\x00POSTLEDGER_LIMITS__KEY_RATE=1e3\x00POSTLEDGER_TRUSTED_PROXIES=,")
	path := filepath.Join(f.TempDir(), "c.yaml")
	f.Fuzz(func(t *testing.T, content, environ string) {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := config.Load(path, strings.Split(environ, "\x00"))
		if err != nil {
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error shows a secret: %v", err)
			}
			return
		}
		if err := c.Check(); err != nil {
			t.Errorf("what was read breaks a rule: %v", err)
		}
		if next, err := config.Load(os.DevNull, nil); err != nil || next.HTTP != config.Default().HTTP || len(next.TrustedProxies) != len(config.Default().TrustedProxies) {
			t.Fatalf("an empty file after it is %+v, %v", next, err)
		}
	})
}
