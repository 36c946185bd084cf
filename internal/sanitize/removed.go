package sanitize

import "strings"

// Removed is the set of kinds of things that were removed. It says what kind,
// never what exactly, so its size is bounded whatever the input.
type Removed uint16

// The kinds.
const (
	Script    Removed = 1 << iota // script elements
	Embed                         // embedded documents, plugins, foreign markup (svg, math)
	Form                          // forms and their controls
	Event                         // on… attributes
	URL                           // a URL that is relative or has another scheme
	CSS                           // a declaration, rule or at-rule
	Element                       // any other element that is not allowed
	Attribute                     // any other attribute that is not allowed
	Meta                          // a meta element that is not about display
	Comment                       // a comment that is not conditional
	Doctype                       // a second or odd DOCTYPE
	Control                       // control characters, invalid UTF-8
)

var codes = [...]string{
	"script", "embed", "form", "event", "url", "css",
	"element", "attribute", "meta", "comment", "doctype", "control",
}

// Codes lists the kinds in a fixed order as short words, for events and API
// answers.
func (r Removed) Codes() []string {
	var out []string
	for i, code := range codes {
		if r&(1<<i) != 0 {
			out = append(out, code)
		}
	}
	return out
}

// String joins the codes.
func (r Removed) String() string { return strings.Join(r.Codes(), ",") }
