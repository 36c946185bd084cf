package stablehash

import "fmt"

// Limits of a JSON text.
const (
	// MaxDepth bounds the recursion: arrays and objects inside each other.
	MaxDepth = 128
	// MaxBytes is twice the largest request, because a text written by
	// another encoder may escape more than the request did.
	MaxBytes = 64 << 20
)

// Rule names the requirement a JSON text broke.
type Rule string

// The rules.
const (
	RuleSyntax    Rule = "syntax"    // RFC 8259
	RuleEncoding  Rule = "encoding"  // valid UTF-8 and whole surrogate pairs
	RuleDuplicate Rule = "duplicate" // names are unique within their object
	RuleDepth     Rule = "depth"     // at most MaxDepth levels
	RuleSize      Rule = "size"      // at most MaxBytes octets
	RuleNumber    Rule = "number"    // an exponent of at most nine digits
)

// Error says which rule a JSON text broke and where. It holds nothing of the
// text itself.
type Error struct {
	Rule   Rule
	Offset int // bytes from the start
	Detail string
}

func (e *Error) Error() string {
	return fmt.Sprintf("stablehash: %s at byte %d", e.Detail, e.Offset)
}
