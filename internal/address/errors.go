package address

// Rule names the requirement an address broke.
type Rule string

// The rules, each with the reference that defines it.
const (
	RuleEmpty        Rule = "empty"         // there is nothing between the quotes, or before or after the "@"
	RuleEncoding     Rule = "encoding"      // valid UTF-8 (RFC 3629)
	RuleControl      Rule = "control"       // no control, separator or text-reordering character
	RuleBracket      Rule = "bracket"       // no "<" or ">"
	RuleAt           Rule = "at"            // a local part, "@", and a domain (RFC 5321 §4.1.2)
	RuleLocal        Rule = "local"         // Dot-string or Quoted-string (RFC 5321 §4.1.2, RFC 6531 §3.3)
	RuleLocalLength  Rule = "local_length"  // RFC 5321 §4.5.3.1.1
	RuleDomain       Rule = "domain"        // LDH labels (RFC 1035 §2.3.1) or IDN (RFC 5891)
	RuleDomainLength Rule = "domain_length" // RFC 5321 §4.5.3.1.2, RFC 1035 §2.3.4
	RuleLength       Rule = "length"        // RFC 5321 §4.5.3.1.3
	RuleLiteral      Rule = "literal"       // no address literal
	RuleName         Rule = "name"          // display name: one line, at most 255 octets
	RuleMailbox      Rule = "mailbox"       // name <address>
)

// Error says which rule an address broke. Its text never holds the address,
// so that it can go into logs and API answers.
type Error struct {
	Rule   Rule
	Detail string
}

func (e *Error) Error() string { return "address: " + e.Detail }

func broken(rule Rule, detail string) error { return &Error{Rule: rule, Detail: detail} }
