package transport

import "github.com/postledger/postledger"

// rows is the classification, first match wins. Codes are those of RFC 5321
// §4.2.3, RFC 4954 §6 and RFC 7504; enhanced codes those of RFC 3463, RFC 7372
// (authentication results), RFC 7505 (null MX) and the IANA registry, with the
// meaning large receivers give them.
var rows = [...]row{
	// Before MAIL: it is about the hop or about us, never about a message.
	{
		name:  "the only host we may use refuses to serve us",
		match: func(s situation) bool { return s.phase == postledger.PhaseGreeting && s.code(521, 554) },
		class: postledger.OutcomeMisconfigured,
	},
	{
		name:  "no session",
		match: situation.beforeMail,
		class: postledger.OutcomeUnavailable,
	},
	{
		name:  "login refused for now",
		match: func(s situation) bool { return s.phase == postledger.PhaseAuth && s.Code/100 == 4 || s.Code == 432 },
		class: postledger.OutcomeUnavailable,
	},
	{
		name:  "login refused",
		match: func(s situation) bool { return s.phase == postledger.PhaseAuth },
		class: postledger.OutcomeMisconfigured,
	},

	// The hop wants less. A 4yz to RCPT, except 421, is that recipient's alone.
	{
		name:  "service closing the channel",
		match: func(s situation) bool { return s.Code == 421 },
		class: postledger.OutcomeThrottled,
	},
	{
		name: "slow down",
		match: func(s situation) bool {
			return !s.atRcpt() && (s.code(429, 454) ||
				s.status(4, 7, 0, 28) || s.status(4, 2, 1) || s.status(4, 4, 5) || s.status(4, 3, 2))
		},
		class: postledger.OutcomeThrottled,
	},
	{
		name:  "domain takes no mail or does not exist",
		match: func(s situation) bool { return s.Code == 556 || s.status(5, 1, 2, 10) },
		class: postledger.OutcomeRefused,
		why:   postledger.ReasonRejectedRecipient,
	},
	{
		// RFC 5321 §4.5.3.1.10: old hops say 552 for 452.
		name: "transaction full: the rest goes in the next one",
		match: func(s situation) bool {
			return s.atRcpt() && s.accepted > 0 && s.code(452, 552) && (s.bare() || s.status(4, 5, 3) || s.status(5, 5, 3))
		},
		class: postledger.OutcomeReturned,
	},
	{
		name:  "our account's sending limit",
		match: func(s situation) bool { return s.status(5, 5, 3) || s.status(5, 4, 5) },
		class: postledger.OutcomeThrottled,
	},

	// Credentials, domain set-up and return path: an operator has to mend it.
	{
		name: "sender authentication missing, said as 4yz",
		match: func(s situation) bool {
			return s.status(4, 7, 23, 24, 25, 26, 27, 29, 30, 31, 32, 40)
		},
		class: postledger.OutcomeMisconfigured,
	},
	{
		name: "sender authentication missing",
		match: func(s situation) bool {
			return s.status(5, 7, 20, 21, 22, 23, 24, 25, 26, 27, 29, 30, 32, 515)
		},
		class: postledger.OutcomeMisconfigured,
	},
	{
		name:  "login or encryption demanded",
		match: func(s situation) bool { return s.code(523, 525, 530, 534, 535, 538) },
		class: postledger.OutcomeMisconfigured,
	},
	{
		name: "return path refused",
		match: func(s situation) bool {
			return s.status(5, 1, 7, 8) ||
				s.phase == postledger.PhaseMail && s.status(5, 7, 1) ||
				s.code(550, 553) && senderVerify(s.Text)
		},
		class: postledger.OutcomeMisconfigured,
	},
	{
		name:  "mail loop",
		match: func(s situation) bool { return s.status(5, 4, 6) },
		class: postledger.OutcomeMisconfigured,
	},

	// Refused for good.
	{
		name: "mailbox unknown, disabled, full or out of reach",
		match: func(s situation) bool {
			return s.status(5, 1, 1, 3, 6) || s.status(5, 2, 1, 2) || s.status(5, 6, 7)
		},
		class: postledger.OutcomeRefused,
		why:   postledger.ReasonRejectedRecipient,
	},
	{
		name: "too big, or its content is refused",
		match: func(s situation) bool {
			return s.status(5, 3, 4) || s.status(5, 2, 3) || s.Enhanced[0] == 5 && s.Enhanced[1] == 6
		},
		class: postledger.OutcomeRefused,
		why:   postledger.ReasonRejectedMessage,
	},
	{
		name:  "the hop says that we broke the protocol",
		match: func(s situation) bool { return s.code(500, 501, 502, 503, 504, 555) },
		class: postledger.OutcomeRefused,
		why:   postledger.ReasonRejectedMessage,
	},
	{
		name:  "any other 5yz to RCPT",
		match: func(s situation) bool { return s.Code/100 == 5 && s.atRcpt() },
		class: postledger.OutcomeRefused,
		why:   postledger.ReasonRejectedRecipient,
	},
	{
		name:  "any other 5yz",
		match: func(s situation) bool { return s.Code/100 == 5 },
		class: postledger.OutcomeRefused,
		why:   postledger.ReasonRejectedMessage,
	},
	{
		name:  "any other 4yz",
		match: func(s situation) bool { return s.Code/100 == 4 },
		class: postledger.OutcomeDeferred,
	},
}
