package mime

import (
	"math/bits"
	"slices"
	"strings"
)

const (
	upperHex = "0123456789ABCDEF"
	// qpLine is the room for content in a line of quoted-printable: 76 octets
	// less the "=" of a soft break (RFC 2045 §6.7 rule 5).
	qpLine = 75
)

// appendQuotedPrintable appends s, a text with any kind of line ends, in
// quoted-printable with CRLF line ends. Decoding gives s with its line ends
// made CRLF and nothing else changed.
//
// A "." and a "From " at the start of a line are escaped: the one would be
// doubled on the wire, the other is changed by software that keeps mail in mbox
// files, and that would break the signature.
func appendQuotedPrintable(dst []byte, s string) []byte {
	dst = slices.Grow(dst, len(s)+len(s)/8+16)
	lineStart := len(dst)
	for i := 0; i < len(s); {
		c := s[i]
		col := len(dst) - lineStart
		switch {
		case c == '\r' || c == '\n':
			dst = closeLine(dst, lineStart)
			dst = append(dst, '\r', '\n')
			lineStart = len(dst)
			i++
			if c == '\r' && i < len(s) && s[i] == '\n' {
				i++
			}
		case isPlain(c) && !(col == 0 && mangled(s[i:])):
			if col == qpLine {
				dst = append(dst, "=\r\n"...)
				lineStart = len(dst)
				continue
			}
			n := plainPrefix(s[i:min(len(s), i+qpLine-col)])
			dst = append(dst, s[i:i+n]...)
			i += n
		default:
			if col+3 > qpLine {
				dst = append(dst, "=\r\n"...)
				lineStart = len(dst)
			}
			dst = append(dst, '=', upperHex[c>>4], upperHex[c&15])
			i++
		}
	}
	return closeLine(dst, lineStart)
}

// closeLine escapes a blank at the end of a line, which gateways strip (rule 3).
func closeLine(dst []byte, lineStart int) []byte {
	last := len(dst) - 1
	if last < lineStart || !isWSP(dst[last]) {
		return dst
	}
	c := dst[last]
	dst = dst[:last]
	if last-lineStart+3 > qpLine+1 {
		dst = append(dst, "=\r\n"...)
	}
	return append(dst, '=', upperHex[c>>4], upperHex[c&15])
}

// isPlain reports whether c may stand for itself.
func isPlain(c byte) bool { return c >= ' ' && c <= '~' && c != '=' || c == '\t' }

// mangled reports whether a line of mail that begins like s would be changed.
func mangled(s string) bool { return s[0] == '.' || strings.HasPrefix(s, "From ") }

// plainPrefix returns the length of a prefix of s whose characters stand for
// themselves, given that the first does. It looks at eight of them at a time,
// because this is most of the cost of composing a message. It may stop early at
// a TAB, which is rare.
func plainPrefix(s string) int {
	const (
		ones = 0x0101010101010101
		high = 0x8080808080808080
	)
	n := 1
	for len(s)-n >= 8 {
		x := load64(s[n : n+8])
		eq := x ^ ones*'='
		below := (x - ones*' ') &^ x // the high bit is set for a byte below space,
		equal := (eq - ones) &^ eq   // for "=",
		above := x + ones            // and for DEL; the lowest such bit is exact
		if found := (below | equal | above | x) & high; found != 0 {
			return n + bits.TrailingZeros64(found)/8
		}
		n += 8
	}
	for n < len(s) && isPlain(s[n]) {
		n++
	}
	return n
}

// load64 reads eight octets; the compiler makes it one load.
func load64(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}
