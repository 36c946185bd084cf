package sandbox

import (
	"strings"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/transport"
)

// action is what a recipient's address asks of the hop.
type action uint8

const (
	accept action = iota
	reply         // a negative reply to RCPT
	timeout
	unknown
	slow
)

// parse reads the detail of an address and the reply it asks for, if any.
func parse(addr string) (action, transport.Reply) {
	local := addr
	if at := strings.LastIndexByte(addr, '@'); at >= 0 {
		local = addr[:at]
	}
	plus := strings.LastIndexByte(local, '+')
	if plus < 0 {
		return accept, transport.Reply{}
	}
	detail := strings.ToLower(strings.TrimSuffix(local[plus+1:], `"`))
	switch detail {
	case "rejected":
		return reply, transport.Reply{Code: 550, Enhanced: postledger.EnhancedCode{5, 1, 1}, Text: "no such mailbox, as +rejected asks"}
	case "deferred":
		return reply, transport.Reply{Code: 451, Enhanced: postledger.EnhancedCode{4, 7, 1}, Text: "try again later, as +deferred asks"}
	case "timeout":
		return timeout, transport.Reply{}
	case "unknown":
		return unknown, transport.Reply{}
	case "slow":
		return slow, transport.Reply{}
	}
	if code, ok := negative(detail); ok {
		return reply, transport.Reply{Code: code, Text: "refused, as +" + detail + " asks"}
	}
	return accept, transport.Reply{}
}

// negative reads a reply code from 400 to 599.
func negative(s string) (int, bool) {
	if len(s) != 3 || s[0] != '4' && s[0] != '5' || s[1] < '0' || s[1] > '9' || s[2] < '0' || s[2] > '9' {
		return 0, false
	}
	return int(s[0]-'0')*100 + int(s[1]-'0')*10 + int(s[2]-'0'), true
}
