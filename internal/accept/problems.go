package accept

import (
	"fmt"
	"strconv"
	"strings"
)

// Rule names what a field broke.
type Rule string

// The rules.
const (
	RuleRequired   Rule = "required"    // it must be given
	RuleTooLong    Rule = "too_long"    // more bytes than a field may have
	RuleTooMany    Rule = "too_many"    // more entries than a list may have
	RuleTooLarge   Rule = "too_large"   // more bytes than a body may have
	RuleControl    Rule = "control"     // a line break, NUL or another control character
	RuleEncoding   Rule = "encoding"    // not valid UTF-8
	RuleSyntax     Rule = "syntax"      // not in the form that the field has
	RuleDuplicate  Rule = "duplicate"   // it stands there already
	RuleReserved   Rule = "reserved"    // a header field that is not the caller's to set
	RuleUnknown    Rule = "unknown"     // not one of the values that exist
	RuleRange      Rule = "range"       // a moment or number that is too early, late, small or large
	RuleNotAllowed Rule = "not_allowed" // not here, or not with another field
	RuleMismatch   Rule = "mismatch"    // the content is not what was declared
)

// Problem is one thing wrong with a request.
type Problem struct {
	// Field is a path such as "to[1].address" or "messages[3].subject".
	Field string `json:"field"`
	Rule  Rule   `json:"rule"`
	// Message says in words what to do; it never repeats the value, which may
	// be an address or a secret.
	Message string `json:"message"`
}

// InvalidError refuses a request for what it says. It lists all problems at
// once, up to MaxProblems; nothing was changed.
type InvalidError struct {
	Problems []Problem
	// More is how many further problems were found and are not listed.
	More int
}

func (e *InvalidError) Error() string {
	var b strings.Builder
	b.WriteString("invalid request: ")
	for i, p := range e.Problems {
		if i == 3 {
			fmt.Fprintf(&b, " (and %d more)", len(e.Problems)-i+e.More)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(p.Field + " " + p.Message)
	}
	return b.String()
}

// Code is bad_input.
func (e *InvalidError) Code() Code { return CodeBadInput }

// invalid is a refusal for one reason.
func invalid(field string, rule Rule, message string) *InvalidError {
	return &InvalidError{Problems: []Problem{{Field: field, Rule: rule, Message: message}}}
}

// problems gathers what is wrong with the fields below one path.
type problems struct {
	prefix string
	list   *[]Problem
	more   *int
}

func newProblems() problems { return problems{list: new([]Problem), more: new(int)} }

// under puts further problems below a path, such as "messages[3].".
func (p problems) under(prefix string) problems {
	p.prefix += prefix
	return p
}

func (p problems) add(field string, rule Rule, message string) {
	if len(*p.list) >= MaxProblems {
		*p.more++
		return
	}
	*p.list = append(*p.list, Problem{Field: p.prefix + field, Rule: rule, Message: message})
}

func (p problems) count() int { return len(*p.list) + *p.more }

func (p problems) full() bool { return len(*p.list) >= MaxProblems }

// err is nil when there is no problem.
func (p problems) err() error {
	if len(*p.list) == 0 {
		return nil
	}
	return &InvalidError{Problems: *p.list, More: *p.more}
}

// at is the path of a list's entry.
func at(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }
