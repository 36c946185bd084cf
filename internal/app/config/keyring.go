package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/postledger/postledger/internal/secret"
)

// ErrNoKey: no encryption key is configured and none may be made.
var ErrNoKey = errors.New("encryption_key: is not set (make one with `postledger keys encryption --out FILE`, and set encryption_key: file:FILE)")

// Keyring gathers the configured keys, the current one first. Without any it
// reads the key that [Config.CreateKey] made, and fails with ErrNoKey when
// there is none.
func (c *Config) Keyring() (*secret.Keyring, error) {
	sources := append([]secret.Value{c.EncryptionKey}, c.OlderEncryptionKeys...)
	if c.EncryptionKey.IsZero() {
		if len(c.OlderEncryptionKeys) > 0 {
			return nil, errors.New("older_encryption_keys: need an encryption_key that seals")
		}
		if _, err := os.Stat(c.KeyFile()); errors.Is(err, fs.ErrNotExist) {
			return nil, ErrNoKey
		}
		sources = []secret.Value{secret.NewValue(filePrefix + c.KeyFile())}
	}
	var text strings.Builder
	for i, s := range sources {
		name := "encryption_key"
		if i > 0 {
			name = fmt.Sprintf("older_encryption_keys[%d]", i-1)
		}
		lines := s.Reveal()
		if path, ok := strings.CutPrefix(lines, filePrefix); ok {
			var err error
			if lines, err = ReadSecretFile(path); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		// Each by itself first, so that the error names the right key.
		if _, err := secret.ParseKeyring(lines); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		text.WriteString(lines)
		text.WriteByte('\n')
	}
	ring, err := secret.ParseKeyring(text.String())
	if err != nil {
		return nil, fmt.Errorf("encryption_key and older_encryption_keys together: %w", err)
	}
	return ring, nil
}

// CreateKey makes the key of an embedded ledger for which none is configured,
// and reports whether it did: a first start needs no preparation. The file is
// complete and durable before it has its name, so a crash leaves none or a
// whole one.
func (c *Config) CreateKey() (bool, error) {
	if !c.EncryptionKey.IsZero() || !c.Database.Embedded() {
		return false, nil
	}
	path := c.KeyFile()
	if _, err := os.Stat(path); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if err := WriteSecretFile(path, secret.Generate()+"\n"); err != nil {
		return false, fmt.Errorf("make encryption key: %w", err)
	}
	return true, nil
}

// WriteSecretFile makes a new file for its owner alone; one that exists is
// left as it is.
func WriteSecretFile(path, content string) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".secret-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.WriteString(content)
	if err == nil {
		err = tmp.Sync()
	}
	if closed := tmp.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	// Unlike a rename, a link does not replace what is there.
	if err := os.Link(tmp.Name(), path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}
