// Package dkim signs messages (RFC 6376, RFC 8301, RFC 8463).
//
// Signatures are rsa-sha256 or ed25519-sha256, relaxed/relaxed, and have no l=
// tag: with one, anybody could append to the body (RFC 6376 §8.2). A [Signer]
// with two keys makes two signatures, so that receivers without Ed25519 are
// served while it spreads (RFC 8463 §4); they cover the same fields and the body
// is read once for both.
//
// # Fields covered
//
// From, Reply-To, To, Cc, Subject, Date and Content-Type are named once more
// than they occur, so that nobody can add one to a signed message without
// breaking it (RFC 6376 §5.4.2, §8.15). The other fields of RFC 6376 §5.4.1 that
// a message has are covered too: Sender, Message-ID, In-Reply-To, References, the
// MIME fields, Auto-Submitted, Feedback-ID, BIMI-Selector and every List field,
// as one-click unsubscription demands (RFC 8058 §4). Trace fields, DKIM-Signature
// itself and a caller's own fields are not: relays add to or drop them.
//
// # The same message, the same signature
//
// There is no t= or x= tag. Both algorithms are deterministic, so a message that
// is sent again has the same octets, which a timestamp would prevent; Date is
// covered and says when the message was made.
package dkim
