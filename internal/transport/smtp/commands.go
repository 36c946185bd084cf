package smtp

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/postledger/postledger/internal/transport"
)

// appendMail writes MAIL with the parameters that e needs and the hop offers
// (RFC 1870 §6, RFC 6152 §3, RFC 6531 §3.4, RFC 3461 §4.3). bare leaves out
// all that can be left out. It reports whether there were any of those.
func appendMail(b []byte, e *transport.Envelope, ext extensions, bare bool) ([]byte, bool) {
	b = append(b, "MAIL FROM:<"...)
	b = append(b, e.ReturnPath...)
	b = append(b, '>')
	if e.NeedsSMTPUTF8 {
		b = append(b, " SMTPUTF8"...)
	}
	length := len(b)
	if !bare {
		if ext.size {
			b = append(b, " SIZE="...)
			b = strconv.AppendInt(b, e.Message.Size(), 10)
		}
		if e.Has8Bit && ext.eightBit {
			b = append(b, " BODY=8BITMIME"...)
		}
		if e.RequestDSN && ext.dsn {
			b = append(b, " RET=HDRS ENVID="...)
			b = append(b, e.ID.Token()...)
		}
	}
	optional := len(b) > length
	return append(b, "\r\n"...), optional
}

// appendRcpt writes RCPT (RFC 3461 §4.1, §4.2); the result is as appendMail's.
func appendRcpt(b []byte, addr string, e *transport.Envelope, ext extensions, bare bool) ([]byte, bool) {
	b = append(b, "RCPT TO:<"...)
	b = append(b, addr...)
	b = append(b, '>')
	optional := !bare && e.RequestDSN && ext.dsn
	if optional {
		b = append(b, " NOTIFY=FAILURE ORCPT="...)
		b = appendORCPT(b, addr)
	}
	return append(b, "\r\n"...), optional
}

// appendORCPT encodes an original recipient as xtext (RFC 3461 §4), or as
// utf-8-addr-unitext if it is not ASCII (RFC 6533 §3; SMTPUTF8 is in use then).
func appendORCPT(b []byte, addr string) []byte {
	const hex = "0123456789ABCDEF"
	if !isASCII(addr) {
		b = append(b, "utf-8;"...)
		for _, r := range addr {
			if r <= ' ' || r == 0x7f || r == '\\' || r == '+' || r == '=' {
				b = append(b, `\x{`...)
				b = append(b, hex[r>>4&15], hex[r&15], '}')
				continue
			}
			b = utf8.AppendRune(b, r)
		}
		return b
	}
	b = append(b, "rfc822;"...)
	for i := range len(addr) {
		c := addr[i]
		if c <= ' ' || c >= 0x7f || c == '+' || c == '=' {
			b = append(b, '+', hex[c>>4], hex[c&15])
			continue
		}
		b = append(b, c)
	}
	return b
}

// unsafePath reports an address that could end its command or its angle
// brackets early. Callers parse addresses; this is the last line of defence.
func unsafePath(addr string) bool {
	return !utf8.ValidString(addr) || strings.ContainsFunc(addr, func(r rune) bool {
		return r < ' ' || r == 0x7f || r == '<' || r == '>'
	})
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
