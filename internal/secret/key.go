package secret

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

const (
	keySize   = 32
	keyIDSize = 8

	// maxKeyFile bounds what is read from a path that is no key file at all.
	maxKeyFile = 64 << 10
)

type keyID [keyIDSize]byte

// Keyring holds the key that seals and every key that still opens. It is safe
// for concurrent use.
type Keyring struct {
	current keyID
	boxes   map[keyID]cipher.AEAD
}

// Generate returns a new key in the form [ParseKeyring] reads.
func Generate() string {
	key := make([]byte, keySize)
	_, _ = rand.Read(key) // crypto/rand.Read never fails: it ends the process instead
	return base64.StdEncoding.EncodeToString(key)
}

// ParseKeyring reads keys in base64, one a line, the current one first. Empty
// lines and lines that start with "#" are skipped.
func ParseKeyring(text string) (*Keyring, error) {
	k := &Keyring{boxes: map[keyID]cipher.AEAD{}}
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		id, box, err := parseKey(line)
		if err != nil {
			return nil, fmt.Errorf("secret key on line %d %w", n, err)
		}
		if len(k.boxes) == 0 {
			k.current = id
		}
		if _, ok := k.boxes[id]; ok {
			return nil, fmt.Errorf("secret key on line %d is there twice", n)
		}
		k.boxes[id] = box
	}
	if len(k.boxes) == 0 {
		return nil, errors.New("secret key is empty")
	}
	return k, nil
}

// The errors hold no part of the text: it may be a key with a slip of the pen.
func parseKey(text string) (keyID, cipher.AEAD, error) {
	key, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		return keyID{}, nil, errors.New("is not base64")
	}
	if len(key) != keySize {
		return keyID{}, nil, fmt.Errorf("has %d bytes, not %d", len(key), keySize)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return keyID{}, nil, fmt.Errorf("is unusable: %w", err)
	}
	box, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return keyID{}, nil, fmt.Errorf("is unusable: %w", err)
	}
	digest := sha256.Sum256(append([]byte("postledger key id\x00"), key...))
	return keyID(digest[:keyIDSize]), box, nil
}

// LoadKeyring reads a keyring from a file that only its owner can read.
func LoadKeyring(path string) (*Keyring, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open secret key file: %w", err)
	}
	defer f.Close()
	// The open file is looked at, not the path: it cannot be exchanged between
	// the check and the read.
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("stat secret key file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("secret key file %s is not a regular file", path)
	}
	if mode := info.Mode().Perm(); mode&^0o600 != 0 {
		return nil, fmt.Errorf("secret key file %s has mode %04o: it must be 0600 or 0400", path, mode)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err != nil {
		return nil, fmt.Errorf("read secret key file: %w", err)
	}
	if len(text) > maxKeyFile {
		return nil, fmt.Errorf("secret key file %s is longer than %d bytes", path, maxKeyFile)
	}
	k, err := ParseKeyring(string(text))
	if err != nil {
		return nil, fmt.Errorf("read secret key file %s: %w", path, err)
	}
	return k, nil
}
