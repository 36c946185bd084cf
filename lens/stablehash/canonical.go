package stablehash

import (
	"bytes"
	"slices"
)

// Canonical returns the canonical form of one JSON text. It is a fixed point:
// the canonical form of a canonical form is itself.
func Canonical(text []byte) ([]byte, error) {
	if len(text) > MaxBytes {
		return nil, &Error{Rule: RuleSize, Offset: MaxBytes, Detail: "text is longer than 64 MiB"}
	}
	s := scanner{in: text, out: make([]byte, 0, len(text))}
	if err := s.value(1); err != nil {
		return nil, err
	}
	s.space()
	if s.pos < len(s.in) {
		return nil, s.fail(RuleSyntax, "text goes on after the value")
	}
	return s.out, nil
}

// scanner reads in from pos and appends the canonical form to out.
type scanner struct {
	in      []byte
	pos     int
	out     []byte
	scratch []byte // where the members of an unordered object are put in order
}

func (s *scanner) fail(rule Rule, detail string) error {
	return &Error{Rule: rule, Offset: s.pos, Detail: detail}
}

// peek returns the next byte, or 0 at the end: NUL is no JSON token.
func (s *scanner) peek() byte {
	if s.pos < len(s.in) {
		return s.in[s.pos]
	}
	return 0
}

func (s *scanner) space() {
	for s.pos < len(s.in) {
		switch s.in[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

// take skips white space and then c, if c is next.
func (s *scanner) take(c byte) bool {
	s.space()
	if s.peek() != c {
		return false
	}
	s.pos++
	return true
}

func (s *scanner) value(depth int) error {
	s.space()
	if s.pos == len(s.in) {
		return s.fail(RuleSyntax, "text ends where a value is expected")
	}
	switch c := s.in[s.pos]; {
	case c == '{' || c == '[':
		if depth > MaxDepth {
			return s.fail(RuleDepth, "value is nested deeper than 128 levels")
		}
		s.pos++
		s.out = append(s.out, c)
		if c == '{' {
			return s.object(depth)
		}
		return s.array(depth)
	case c == '"':
		return s.str()
	case c == '-' || '0' <= c && c <= '9':
		return s.number()
	}
	for _, word := range []string{"true", "false", "null"} {
		if bytes.HasPrefix(s.in[s.pos:], []byte(word)) {
			s.pos += len(word)
			s.out = append(s.out, word...)
			return nil
		}
	}
	return s.fail(RuleSyntax, "value is neither object, array, string, number, true, false nor null")
}

func (s *scanner) array(depth int) error {
	if s.take(']') {
		s.out = append(s.out, ']')
		return nil
	}
	for {
		if err := s.value(depth + 1); err != nil {
			return err
		}
		switch {
		case s.take(','):
			s.out = append(s.out, ',')
		case s.take(']'):
			s.out = append(s.out, ']')
			return nil
		default:
			return s.fail(RuleSyntax, `"," or "]" is expected`)
		}
	}
}

// member is one name and value, written at out[start:end]; the name is
// out[start+1 : nameEnd-1], without its quotes.
type member struct{ start, nameEnd, end int }

func (s *scanner) byName(a, b member) int {
	return bytes.Compare(s.out[a.start+1:a.nameEnd-1], s.out[b.start+1:b.nameEnd-1])
}

func (s *scanner) object(depth int) error {
	if s.take('}') {
		s.out = append(s.out, '}')
		return nil
	}
	var members []member
	begin := len(s.out)
	for {
		s.space()
		start := len(s.out)
		if s.peek() != '"' {
			return s.fail(RuleSyntax, "a quoted name is expected")
		}
		if err := s.str(); err != nil {
			return err
		}
		nameEnd := len(s.out)
		if !s.take(':') {
			return s.fail(RuleSyntax, `":" is expected after a name`)
		}
		s.out = append(s.out, ':')
		if err := s.value(depth + 1); err != nil {
			return err
		}
		members = append(members, member{start, nameEnd, len(s.out)})
		if s.take(',') {
			s.out = append(s.out, ',')
			continue
		}
		if !s.take('}') {
			return s.fail(RuleSyntax, `"," or "}" is expected`)
		}
		s.out = append(s.out, '}')
		return s.order(members, begin)
	}
}

// order rewrites out[begin:] with its members sorted by name.
func (s *scanner) order(members []member, begin int) error {
	sorted := slices.IsSortedFunc(members, s.byName)
	if !sorted {
		slices.SortFunc(members, s.byName)
	}
	for i := 1; i < len(members); i++ {
		if s.byName(members[i-1], members[i]) == 0 {
			return s.fail(RuleDuplicate, "object that ends here has a name twice")
		}
	}
	if sorted {
		return nil
	}
	s.scratch = s.scratch[:0]
	for _, m := range members {
		s.scratch = append(s.scratch, s.out[m.start:m.end]...)
		s.scratch = append(s.scratch, ',')
	}
	s.scratch[len(s.scratch)-1] = '}'
	copy(s.out[begin:], s.scratch)
	return nil
}
