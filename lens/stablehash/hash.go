package stablehash

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

const prefix = "v1:"

// Hash is the versioned SHA-256 of a canonical form. The zero Hash belongs to
// no value. Hashes are comparable with ==.
type Hash struct {
	set bool
	sum [sha256.Size]byte
}

// ErrHash says that a text is no hash this version of the package can read.
var ErrHash = errors.New(`stablehash: hash is not "v1:" and 64 lower-case hex digits`)

// SumJSON returns the hash of one JSON text.
func SumJSON(text []byte) (Hash, error) {
	canonical, err := Canonical(text)
	if err != nil {
		return Hash{}, err
	}
	return Hash{set: true, sum: sha256.Sum256(canonical)}, nil
}

// Sum returns the hash of what encoding/json makes of v. Strings in v that are
// not valid UTF-8 are refused: encoding/json would replace their bytes and make
// different values equal.
func Sum(v any) (Hash, error) {
	canonical, err := encode(v)
	if err != nil {
		return Hash{}, err
	}
	return Hash{set: true, sum: sha256.Sum256(canonical)}, nil
}

// encode is the canonical form of what encoding/json makes of v.
func encode(v any) ([]byte, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode value to hash: %w", err)
	}
	if !validStrings(v) {
		return nil, &Error{Rule: RuleEncoding, Detail: "value has a string that is not valid UTF-8"}
	}
	return Canonical(text.Bytes())
}

// Parse reads the text form of a hash.
func Parse(s string) (Hash, error) {
	h := Hash{set: true}
	digits, ok := strings.CutPrefix(s, prefix)
	if !ok || len(digits) != 2*sha256.Size || strings.ToLower(digits) != digits {
		return Hash{}, ErrHash
	}
	if _, err := hex.Decode(h.sum[:], []byte(digits)); err != nil {
		return Hash{}, ErrHash
	}
	return h, nil
}

// IsZero reports whether h is the hash of nothing.
func (h Hash) IsZero() bool { return !h.set }

// String returns "v1:" and the digits, or "" for the zero Hash.
func (h Hash) String() string {
	if !h.set {
		return ""
	}
	return prefix + hex.EncodeToString(h.sum[:])
}
