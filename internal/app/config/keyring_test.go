package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/postledger/postledger/internal/app/config"
	"github.com/postledger/postledger/internal/secret"
)

func TestTheFirstKeySealsAndAllOpen(t *testing.T) {
	current, older, inFile := secret.Generate(), secret.Generate(), secret.Generate()
	ring := func(lines string) *secret.Keyring {
		k, err := secret.ParseKeyring(lines)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	c := config.Default()
	c.EncryptionKey = secret.NewValue(current)
	c.OlderEncryptionKeys = []secret.Value{secret.NewValue(older), secret.NewValue("file:" + write(t, "keys", "# old\n"+inFile+"\n"))}
	got, err := c.Keyring()
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{current, older, inFile} {
		box := ring(key).Seal([]byte("x"), "row")
		if _, err := got.Open(box, "row"); err != nil {
			t.Error(err)
		}
		if got.NeedsReseal(box) != (key != current) {
			t.Error("the wrong key seals")
		}
	}
}

func TestKeyringFaults(t *testing.T) {
	good := secret.Generate()
	open := write(t, "open", good)
	if err := os.Chmod(open, 0o640); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		key   string
		older []string
		want  string
	}{
		"none":              {"", nil, "encryption_key: is not set"},
		"older ones only":   {"", []string{good}, "older_encryption_keys: need an encryption_key"},
		"not base64":        {"passw0rd!", nil, "encryption_key: secret key on line 1 is not base64"},
		"short":             {"c2hvcnQ=", nil, "encryption_key: secret key on line 1 has 5 bytes, not 32"},
		"a bad older one":   {good, []string{"x"}, "older_encryption_keys[0]: "},
		"one twice":         {good, []string{good}, "is there twice"},
		"a file for others": {"file:" + open, nil, "mode 0640"},
		"a directory":       {"file:" + t.TempDir(), nil, "not a regular file"},
		"a missing file":    {"file:/nowhere/key", nil, "encryption_key: cannot be read"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := config.Default()
			c.DataDir = t.TempDir()
			c.EncryptionKey = secret.NewValue(tt.key)
			for _, o := range tt.older {
				c.OlderEncryptionKeys = append(c.OlderEncryptionKeys, secret.NewValue(o))
			}
			if _, err := c.Keyring(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

func TestAnEmbeddedLedgerMakesItsKeyOnce(t *testing.T) {
	dir := t.TempDir()
	c := config.Default()
	c.DataDir, c.Database = dir, config.SQLite(filepath.Join(dir, "l.db"))
	for _, want := range []bool{true, false} {
		made, err := c.CreateKey()
		if err != nil || made != want {
			t.Fatalf("made %v, %v", made, err)
		}
	}
	if _, err := c.Keyring(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(c.KeyFile())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatal(info, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatalf("left behind: %v %v", entries, err)
	}
	if err := config.WriteSecretFile(c.KeyFile(), "other"); !errors.Is(err, os.ErrExist) {
		t.Errorf("a key was overwritten: %v", err)
	}

	remote := config.Default()
	remote.DataDir = t.TempDir()
	if remote.Database, err = config.ParseDatabase("postgres://h/d"); err != nil {
		t.Fatal(err)
	}
	if made, err := remote.CreateKey(); made || err != nil {
		t.Fatalf("a key of one process alone: %v, %v", made, err)
	}
	if _, err := remote.Keyring(); !errors.Is(err, config.ErrNoKey) {
		t.Errorf("%v", err)
	}
}
