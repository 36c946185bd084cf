package api

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/postledger/postledger/internal/accept"
)

// rules are the names that a field's rule may have, with what they say.
var rules = []struct {
	rule accept.Rule
	what string
}{
	{accept.RuleRequired, "it must be given"},
	{accept.RuleTooLong, "more bytes than a field may have"},
	{accept.RuleTooMany, "more entries than a list may have"},
	{accept.RuleTooLarge, "more bytes than a body may have"},
	{accept.RuleControl, "a line break, NUL or another control character"},
	{accept.RuleEncoding, "not valid UTF-8"},
	{accept.RuleSyntax, "not in the form that the field has"},
	{accept.RuleDuplicate, "it stands there already"},
	{accept.RuleReserved, "a header field that is not the caller's to set"},
	{accept.RuleUnknown, "not a name or value that exists"},
	{accept.RuleRange, "too early, late, small or large"},
	{accept.RuleNotAllowed, "not here, or not with another field"},
	{accept.RuleMismatch, "not what was declared elsewhere"},
	{ruleJSON, "not valid JSON, or not one value"},
	{ruleType, "another JSON type"},
	{ruleNull, "null, where leaving it out is meant"},
	{ruleEmpty, "empty, where leaving it out is meant"},
	{ruleOrder, "a part or member that stands in the wrong place"},
}

// ErrorsDoc is docs/errors.md, made from the code table.
func ErrorsDoc() []byte {
	var b strings.Builder
	b.WriteString(`# Errors

<!-- Made from internal/api/errors.go: go test ./internal/api -run TestVerifyErrorsDoc -update -->

Every refusal of the HTTP API is a problem document (RFC 9457, ` + "`application/problem+json`" + `):

` + "```json" + `
{
  "type": "/docs#bad_input",
  "title": "The request is not valid",
  "status": 400,
  "code": "bad_input",
  "request_id": "01960b5e-5f3c-7000-8a52-7f1d2b0c9e11",
  "errors": [
    {"field": "to[1].address", "rule": "syntax", "message": "is not valid: the domain has an empty label"}
  ]
}
` + "```" + `

` + "`code`" + ` is stable; ` + "`title`, `detail` and `message`" + ` are for people and may change. No document repeats a value of the
request. ` + "`Retry-After`" + ` is set where coming again helps.

## Codes

| status | code | when |
|---|---|---|
`)
	for _, e := range table {
		fmt.Fprintf(&b, "| %d %s | `%s` | **%s.** %s |\n", e.Status, http.StatusText(e.Status), e.Code, e.Title, e.When)
	}
	b.WriteString("\n## Rules of fields\n\n| rule | what it says |\n|---|---|\n")
	sorted := slices.Clone(rules)
	slices.SortFunc(sorted, func(a, b struct {
		rule accept.Rule
		what string
	},
	) int {
		return strings.Compare(string(a.rule), string(b.rule))
	})
	for _, r := range sorted {
		fmt.Fprintf(&b, "| `%s` | %s |\n", r.rule, r.what)
	}
	return []byte(b.String())
}
