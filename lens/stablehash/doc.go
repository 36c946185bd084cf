// Package stablehash gives every JSON value one byte form and one hash, so that
// two requests can be compared by fingerprint across processes, client
// libraries and years.
//
// # Canonical form, version 1
//
// The form is RFC 8785 (JCS) with two deliberate differences:
//
//   - Numbers are exact. JCS rounds to IEEE 754 doubles, which makes different
//     large integers equal. Here a number keeps all its digits; it is written
//     the way ECMAScript writes one (plain from 1e-6 up to below 1e21, else
//     with one digit before the point and a signed exponent), without trailing
//     zeros. 1, 1.0 and 10e-1 are one value, and -0 is 0.
//   - Members are ordered by the bytes of their names as they are written, in
//     UTF-8 and with the few escapes left. JCS orders by the UTF-16 code units
//     of the unescaped name, which differs only for names with a quote, a
//     backslash, a control character or a character above U+FFFF.
//
// The rest is as in JCS: no white space, strings in raw UTF-8 with only `"`,
// `\` and U+0000 to U+001F escaped (short form where JSON has one, else \u00xx
// in lower case). Strings are not Unicode-normalised: what is sent differs, so
// the hash differs.
//
// # What is refused
//
// Anything RFC 8259 does not allow, and what I-JSON (RFC 7493 §2) warns about
// because readers disagree on it: names that occur twice in one object (also
// when spelt with different escapes), invalid UTF-8, lone surrogates, a byte
// order mark. So are values nested deeper than [MaxDepth], texts longer than
// [MaxBytes] and exponents beyond nine digits. Every refusal is an [*Error] with its offset.
//
// # Hash
//
// [Hash] is the SHA-256 of the canonical bytes and nothing else, so that it can
// be checked with any tool. Its text form is "v1:" and 64 hex digits: a later
// version of the form gets another prefix, and stored hashes stay comparable
// within theirs. testdata/v1.json pins the form.
package stablehash
