// Package address parses, compares and writes single e-mail addresses.
//
// # What is accepted
//
// [Parse] takes one Mailbox of RFC 5321 §4.1.2, extended by RFC 6531 §3.3
// (SMTPUTF8), without display name, comments or surrounding white space:
//
//	local part  Dot-string, or Quoted-string; UTF-8 is allowed in both
//	domain      host name of LDH labels (RFC 1035 §2.3.1), or an IDN that the
//	            Lookup profile of UTS 46 maps to A-labels (RFC 5891)
//
// Limits are those of RFC 5321 §4.5.3.1, counted in octets of the wire form:
// local part 64, domain 255, path 256 with its angle brackets, hence 254
// without. A label has at most 63 octets.
//
// # What is refused although a grammar would allow it
//
//   - "<" and ">" anywhere, also inside a quoted local part. A next hop that
//     reads `RCPT TO:<"a@in.test> NOTIFY=NEVER"@out.test>` carelessly would
//     route it elsewhere or take an ESMTP parameter from it.
//   - CR, LF, NUL and every other control character (C0, DEL, C1), line and
//     paragraph separators, and characters that reorder text.
//   - Address literals (`[192.0.2.1]`) and host names with an all-numeric top
//     label, which some resolvers read as an address (RFC 3696 §2). Relays and
//     providers refuse them, and a delivery service should not be pointed at
//     bare addresses of its own network.
//   - The empty quoted local part (`""@out.test`).
//
// A single-label domain (`root@localhost`) is syntactically fine (RFC 5321
// §2.3.5 leaves it to policy) and is accepted.
//
// # Three forms
//
// [Address.String] is the address exactly as given. [Address.Wire] is what
// MAIL and RCPT carry: the local part's content untouched (RFC 5321 §2.4) in
// the least quoting that expresses it (RFC 5321 §4.1.2), the domain as
// lower-case A-labels. [Address.Fold] is the identity used for duplicates,
// suppression and search: the local part in NFC and lower case as well.
// Folding is one-way; a folded address is never put on the wire.
package address
