package secret

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
)

const tokenBytes = 32

// tokenText has no padding and no character that ends a word, so that a double
// click selects a whole token.
var tokenText = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// NewToken returns a new token, "pl_" + kind + "_" + 256 random bits, and the
// sum to store. The token itself is shown once and never stored.
func NewToken(kind string) (token string, sum [sha256.Size]byte) {
	random := make([]byte, tokenBytes)
	_, _ = rand.Read(random) // crypto/rand.Read never fails: it ends the process instead
	token = "pl_" + kind + "_" + tokenText.EncodeToString(random)
	return token, SumToken(token)
}

// SumToken returns the sum under which a token is stored and found.
func SumToken(token string) [sha256.Size]byte { return sha256.Sum256([]byte(token)) }
