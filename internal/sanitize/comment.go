package sanitize

import (
	"bytes"
	"strings"
)

const (
	maxCondition = 120
	maxDoctype   = 300
	maxFragments = 32
)

// comment handles everything the tokenizer calls a comment, given with its
// delimiters. What is written back is one of the forms below and nothing else.
func (f *filter) comment(raw []byte) {
	if body, ok := cutAffixes(raw, "<!--", "-->"); ok && !f.mso {
		f.htmlComment(body)
		return
	}
	if body, ok := cutAffixes(raw, "<!", ">"); ok && !f.mso {
		f.revealed(body)
		return
	}
	f.removed |= Comment
}

// htmlComment handles a comment that browsers see as one.
func (f *filter) htmlComment(body []byte) {
	if strings.EqualFold(string(bytes.TrimSpace(body)), "<![endif]") {
		f.out = append(f.out, "<!--<![endif]-->"...)
		return
	}
	condition, inner, ok := splitCondition(body)
	if !ok {
		f.removed |= Comment
		return
	}
	hidden, ok := cutEndif(inner)
	if !ok {
		// What is left of <!--[if !mso]><!--> and of its other spellings.
		switch string(bytes.TrimSpace(inner)) {
		case "", "<!", "<!--":
			f.writeCondition("<!--[if ", condition, "]><!-->")
		default:
			f.removed |= Comment
		}
		return
	}
	f.writeCondition("<!--[if ", condition, "]>")
	f.hidden(hidden)
	f.out = append(f.out, "<![endif]-->"...)
}

// hidden filters the content of a conditional comment. Layouts repeat the same
// few fragments, so what was written for one is written again.
func (f *filter) hidden(content []byte) {
	if at, ok := f.fragments[string(content)]; ok {
		f.out = append(f.out, f.out[at.begin:at.end]...)
		return
	}
	begin := len(f.out)
	outer, taken := f.z, f.taken
	f.mso = true
	f.run(string(content))
	f.mso = false
	f.z, f.taken = outer, taken
	if len(f.fragments) < maxFragments {
		if f.fragments == nil {
			f.fragments = map[string]span{}
		}
		f.fragments[string(content)] = span{begin, len(f.out)}
	}
}

func (f *filter) writeCondition(before string, condition []byte, after string) {
	f.out = append(append(append(f.out, before...), condition...), after...)
}

// revealed handles <![if …]> and <![endif]>, which browsers skip as bogus
// comments. "<![endif]-->" is what ends a hidden comment that was closed early.
func (f *filter) revealed(body []byte) {
	if len(body) > 0 && body[0] == '[' {
		switch lower := strings.ToLower(string(body)); lower {
		case "[endif]", "[endif]--":
			f.out = append(f.out, "<!"+lower+">"...)
			return
		}
		if condition, inner, ok := splitCondition(append(bytes.Clone(body), '>')); ok && len(inner) == 0 {
			f.writeCondition("<![if ", condition, "]>")
			return
		}
	}
	f.removed |= Comment
}

// splitCondition reads "[if condition]>rest".
func splitCondition(body []byte) (condition, rest []byte, ok bool) {
	if len(body) < len("[if x]>") || !strings.EqualFold(string(body[:4]), "[if ") {
		return nil, nil, false
	}
	end := bytes.IndexByte(body, ']')
	if end < 0 || end > maxCondition || end+1 >= len(body) || body[end+1] != '>' {
		return nil, nil, false
	}
	condition = body[4:end]
	for _, c := range condition {
		if !isAlnum(c) && strings.IndexByte(" .!()&|", c) < 0 {
			return nil, nil, false
		}
	}
	if len(bytes.TrimSpace(condition)) == 0 {
		return nil, nil, false
	}
	return condition, body[end+2:], true
}

func cutEndif(inner []byte) ([]byte, bool) {
	trimmed := bytes.TrimRight(inner, " \t\n")
	n := len(trimmed) - len("<![endif]")
	if n < 0 || !strings.EqualFold(string(trimmed[n:]), "<![endif]") {
		return nil, false
	}
	return trimmed[:n], true
}

func cutAffixes(s []byte, prefix, suffix string) ([]byte, bool) {
	if len(s) < len(prefix)+len(suffix) || !bytes.HasPrefix(s, []byte(prefix)) || !bytes.HasSuffix(s, []byte(suffix)) {
		return nil, false
	}
	return s[len(prefix) : len(s)-len(suffix)], true
}

// writeDoctype keeps the first DOCTYPE if it has nothing unusual in it.
func (f *filter) writeDoctype(raw []byte) {
	if f.mso || f.doctype || len(raw) > maxDoctype || raw[len(raw)-1] != '>' {
		f.removed |= Doctype
		return
	}
	for _, c := range raw[len("<!") : len(raw)-1] {
		if !isAlnum(c) && strings.IndexByte(" \t\n\"'/.:-+,()", c) < 0 {
			f.removed |= Doctype
			return
		}
	}
	f.doctype = true
	f.out = append(f.out, raw...)
}

func isAlnum(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
