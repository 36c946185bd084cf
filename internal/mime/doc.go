// Package mime builds the bytes of a message.
//
// It is a function from an [Input] to wire bytes and nothing else: no clock, no
// randomness, no configuration. The same input gives the same bytes in every
// process and on every retry, because a receiver may recognise a repeated
// message by them and a DKIM signature covers them.
//
// # What is promised about the bytes
//
//   - Lines end with CRLF; a bare CR or LF never occurs (RFC 5321 §2.3.8).
//   - No line is longer than 998 octets, and lines are kept within 78 wherever
//     the grammar has a place to break (RFC 5322 §2.1.1). Encoded body lines are
//     at most 76 (RFC 2045 §6.7, §6.8).
//   - Everything outside an SMTPUTF8 address is ASCII, so no relay has a reason
//     to re-encode the message under its signature. [Message.NeedsSMTPUTF8] says
//     whether an address with a non-ASCII local part is shown (RFC 6531 §3.2,
//     RFC 6532 §3.2).
//   - From, Date, Message-ID and MIME-Version occur exactly once; Reply-To, To,
//     Cc and Subject at most once (RFC 5322 §3.6). There is no way to state a
//     Bcc recipient. When neither To nor Cc is given, To is the empty group
//     "undisclosed-recipients:;" (RFC 5322 §3.4, §3.6.3).
//   - A value with CR, LF, NUL or another control character is refused, never
//     repaired: the caller gets a [FieldError] that names the field and the rule.
//
// # Encodings
//
//   - Text and HTML are UTF-8 in quoted-printable, always, also when they are
//     ASCII: no line length, trailing blank, leading dot or "From " of the
//     content can then reach the wire (RFC 2045 §6.7).
//   - Attachments are base64, streamed from their openers and never held.
//   - An attached message/* may not be base64 or quoted-printable (RFC 2045
//     §6.4, RFC 2046 §5.2.1). It is read once before composing: if it is 7-bit
//     with lines of at most 998 octets it is sent as it is, as 7bit, with its
//     line ends made CRLF; if not, it is sent as application/octet-stream in
//     base64, which keeps every byte and loses only the inline view.
//   - Header text is RFC 2047 encoded-words of whole characters when it needs
//     them; of an address only the display name is ever encoded. File names are
//     RFC 2231; an ASCII fallback stands in the content type only.
//
// # Boundaries
//
// Boundaries derive from [Input.Seed] and begin with "=_". That pair cannot
// occur in quoted-printable, where "=" is followed by two hexadecimal digits or
// a line end, and base64 has no "-", with which a delimiter line begins. The
// 7bit parts, attached messages, are searched for the delimiter and fall back
// to base64 if they contain it. So no content can end its part early.
//
// # Shape
//
//	mixed { alternative { text/plain, related { text/html, inline parts },
//	        text/calendar }, attachments }
//
// with every level of fewer than two parts left out (RFC 2046 §5.1.3, §5.1.4,
// RFC 2387), except that attachments always stand in a mixed.
//
// # Memory
//
// A [Message] holds its header and text parts, encoded, in one buffer that goes
// back to the [Composer] with [Message.Release]. Attachments pass through a
// scratch buffer of a few kilobytes each time the message is written or signed.
package mime
