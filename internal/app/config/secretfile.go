package config

import (
	"fmt"
	"io"
	"os"
)

const (
	filePrefix = "file:"
	// secretFileLimit bounds what is read from a path that is no secret at all.
	secretFileLimit = 64 << 10
)

// ReadSecretFile reads a file that only its owner can read. The open file is
// looked at, not the path: it cannot be exchanged between check and read.
func ReadSecretFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("cannot be read: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("cannot be read: %w", err)
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("names %s, which is not a regular file", path)
	}
	if mode := info.Mode().Perm(); mode&^0o600 != 0 {
		return "", fmt.Errorf("names %s, which has mode %04o: it must be 0600 or 0400", path, mode)
	}
	content, err := io.ReadAll(io.LimitReader(f, secretFileLimit+1))
	if err != nil {
		return "", fmt.Errorf("cannot be read: %w", err)
	}
	if len(content) > secretFileLimit {
		return "", fmt.Errorf("names %s, which is longer than %d bytes", path, secretFileLimit)
	}
	return string(content), nil
}
