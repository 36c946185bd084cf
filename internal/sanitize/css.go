package sanitize

import "strings"

// maxCSSDepth bounds blocks in blocks (media in supports in …).
const maxCSSDepth = 8

// sheet filters one piece of CSS at a time. What it writes is made of whole
// runs of the input, each of which reads the same wherever it stands, so that
// leaving one out does not change the others.
type sheet struct {
	in   string
	pos  int
	out  []byte
	view []byte // scratch: a run as a careless reader might see it
	ok   bool   // nothing was dropped
}

func (c *sheet) reset(s string) {
	c.in, c.pos, c.out, c.ok = stripComments(s), 0, c.out[:0], true
}

// stylesheet filters the content of a style element.
func (c *sheet) stylesheet(s string) (clean string, ok bool) {
	c.reset(s)
	for c.pos < len(c.in) {
		c.rules(1)
		if c.peek() == '}' {
			c.pos++ // closes nothing
			c.ok = false
		}
	}
	return string(c.out), c.ok
}

// declarations filters the content of a style attribute that is not plain.
func (c *sheet) declarations(s string) (clean string, ok bool) {
	c.reset(s)
	c.block("{;")
	return string(c.out), c.ok
}

func (c *sheet) peek() byte {
	if c.pos < len(c.in) {
		return c.in[c.pos]
	}
	return 0
}

// rules filters rules up to the end or a "}" that is not theirs.
func (c *sheet) rules(depth int) {
	for {
		c.copySpace()
		rest := c.in[c.pos:]
		switch {
		case rest == "" || rest[0] == '}':
			return
		case strings.HasPrefix(rest, "<!--"), strings.HasPrefix(rest, "-->"):
			// CDO and CDC mean nothing in a style sheet (CSS Syntax §5.4.1).
			c.pos += len("-->")
			if rest[0] == '<' {
				c.pos++
			}
		case placeholder(rest) > 0:
			n := placeholder(rest)
			c.out = append(c.out, rest[:n]...)
			c.pos += n
		case rest[0] == '@':
			c.atRule(depth)
		default:
			c.rule()
		}
	}
}

// rule filters a selector and its block.
func (c *sheet) rule() {
	selector, fine := c.run("{};")
	switch c.peek() {
	case '{':
		c.pos++
	case ';':
		c.pos++
		c.ok = false
		return
	default:
		c.ok = false
		return
	}
	// Without a selector, "{" could follow "{" and read as a placeholder.
	if !fine || selector == "" || c.acts(selector) {
		c.ok = false
		c.skipBlock()
		return
	}
	c.write(selector)
	c.out = append(c.out, '{')
	c.block("{};")
	c.closeBlock()
}

// atRule filters an at-rule: prelude and block.
func (c *sheet) atRule(depth int) {
	begin := c.pos
	c.pos++
	_, fine := c.run("{};")
	prelude := c.in[begin:c.pos]
	if c.peek() != '{' {
		// A statement: @import, @charset, @namespace.
		if c.peek() == ';' {
			c.pos++
		}
		c.ok = false
		return
	}
	c.pos++
	kind := atRules[atName(prelude)]
	if !fine || kind == 0 || depth >= maxCSSDepth || c.acts(prelude[1:]) {
		c.ok = false
		c.skipBlock()
		return
	}
	c.write(prelude)
	c.out = append(c.out, '{')
	if kind == ofRules {
		c.rules(depth + 1)
	} else {
		c.block("{};")
	}
	c.closeBlock()
}

type atKind uint8

const (
	ofRules atKind = iota + 1
	ofDeclarations
)

var atRules = map[string]atKind{
	"media": ofRules, "supports": ofRules,
	"keyframes": ofRules, "-webkit-keyframes": ofRules, "-moz-keyframes": ofRules, "-o-keyframes": ofRules,
	"font-face": ofDeclarations, "page": ofDeclarations, "viewport": ofDeclarations, "-ms-viewport": ofDeclarations,
}

// atName returns the name of an at-rule in lower case. A name with escapes is
// none that we know.
func atName(prelude string) string {
	end := 1
	for end < len(prelude) && (isAlnum(prelude[end]) || prelude[end] == '-') {
		end++
	}
	if end < len(prelude) && (prelude[end] == '\\' || prelude[end] == '_' || prelude[end] >= 0x80) {
		return ""
	}
	return strings.ToLower(prelude[1:end])
}

// block filters declarations up to the end or, if it is among the stop bytes, a
// "}", which it leaves.
func (c *sheet) block(stops string) {
	for {
		text, fine := c.run(stops)
		fine = fine && c.peek() != '{' && c.declaration(text)
		if fine {
			c.write(text)
		} else {
			c.ok = false
		}
		switch c.peek() {
		case ';':
			if fine {
				c.out = append(c.out, ';')
			}
			c.pos++
		case '{':
			c.pos++
			c.skipBlock()
		default:
			return
		}
	}
}

func (c *sheet) closeBlock() {
	if c.peek() == '}' {
		c.pos++
	}
	c.out = append(c.out, '}')
}

// skipBlock drops everything up to the "}" that ends the block just entered.
func (c *sheet) skipBlock() {
	for depth := 1; depth > 0 && c.pos < len(c.in); {
		c.run("{}")
		switch c.peek() {
		case '{':
			depth++
		case '}':
			depth--
		}
		if c.pos < len(c.in) {
			c.pos++
		}
	}
}

func (c *sheet) copySpace() {
	begin := c.pos
	for c.pos < len(c.in) && isSpace(c.in[c.pos]) {
		c.pos++
	}
	c.out = append(c.out, c.in[begin:c.pos]...)
}

// write copies a run. A "<" that could be taken for markup becomes its escape,
// which means the same in strings and names.
func (c *sheet) write(s string) {
	done := 0
	for i := range len(s) {
		if s[i] == '<' && opens(s, i) {
			c.out = append(append(c.out, s[done:i]...), `\3c `...)
			done = i + 1
		}
	}
	c.out = append(c.out, s[done:]...)
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }
