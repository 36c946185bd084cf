// Package secret keeps credentials unreadable at rest and out of sight
// everywhere else.
//
// # Boxes
//
// [Keyring.Seal] encrypts with AES-256-GCM (NIST SP 800-38D) under the current
// key. A box is
//
//	version (1 byte, 0x01) · key id (8 bytes) · nonce (12 bytes) · ciphertext · tag (16 bytes)
//
// Version, key id and the caller's binding (the id of the row the box is stored
// in, the host the credential is meant for) are authenticated with it: a box
// copied to another row, or used after the host was changed, does not open.
// The nonce is random, so one key must not seal more than 2^32 boxes (SP
// 800-38D §8.3); credentials are sealed when an operator changes them.
//
// # Keys and rotation
//
// A key is 32 random bytes, written in base64 (RFC 4648 §4). Its id is derived
// from it, so nobody can give two keys one id. A keyring text holds one key a
// line: the first seals, all open. To rotate, put a new line on top, restart,
// reseal what [Keyring.NeedsReseal] reports, remove the old line.
//
// # Tokens
//
// API tokens are 256 random bits. Only the SHA-256 is stored: a token has too
// much entropy to be guessed from it, so a slow password hash would only slow
// every request down.
package secret
