// Package smtp sends envelopes to one SMTP relay (RFC 5321).
//
// It is a session of our own and not a library's, because what the ledger
// needs is what a session knows and a call that returns an error does not: how
// far the transaction got, what each recipient was told, and whether the last
// byte of the final dot may have left.
//
// # One message
//
//   - With PIPELINING (RFC 2920) MAIL, every RCPT and DATA leave in one write,
//     at most 4 KiB at a time, and their replies are counted, never matched by
//     text. The message and its final dot are the second write. Without it,
//     one command a round trip.
//   - The last bytes of the message and the final dot are one write, made
//     after Wire.Begun. Larger messages are streamed in blocks before it.
//   - A bare CR or LF never leaves: each becomes CRLF, before lines that start
//     with a dot get another (RFC 5321 §2.3.8, §4.5.2), so no part of a message
//     can end it early.
//   - SIZE (RFC 1870), 8BITMIME (RFC 6152) and SMTPUTF8 (RFC 6531) are checked
//     before MAIL; a message that the hop cannot take is refused with
//     not_supported. DSN parameters (RFC 3461) go out when asked for and offered.
//   - 455, 501, 504 or 555 to a command that had parameters: once more without.
//   - If no recipient is left and DATA was answered 354 all the same, a lone
//     dot ends it (RFC 2920 §3.1); that cannot be an acceptance.
//
// # What became of it
//
// Up to Wire.Begun every failure is certainly not an acceptance: a connection
// lost before MAIL was answered is unavailable, later it counts as a 451
// (RFC 5321 §3.8). After it, only a readable reply is certain, however late
// within the dot's time limit (10 minutes, RFC 5321 §4.5.3.2.6).
//
// A connection that was used before and is then answered 421, or found dropped
// or out of step, says nothing about this message: it is sent once more, at
// once, on a fresh connection. That holds for a 421 to the final dot too, which
// is a refusal (RFC 5321 §4.2.5); nothing else is repeated after the dot. What
// was refused at RCPT before Wire.Begun stays so: the record of the first try
// stands for the second.
//
// # Connections
//
// A pool of at most MaxConnections, the last used taken first, so that the
// surplus grows old and is closed. Idle connections have no goroutine: their
// age is looked at when one is taken and in Prune. A transaction that was not
// finished is cleared with RSET in front of the next MAIL, in the same write;
// if RSET fails, that costs the connection only.
//
// # TLS and login
//
// implicit and required verify the hop's name and never send mail without TLS.
// opportunistic tries TLS if it is offered; if that fails the broken connection
// is dropped and a new one is used in plain text (RFC 7435 §3), which the log
// and each outcome's text say. Bytes received before the handshake are
// forgotten (RFC 3207 §4.2). Credentials need implicit or required.
package smtp
