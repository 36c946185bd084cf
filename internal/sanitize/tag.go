package sanitize

import "strings"

// maxAttr bounds the attributes of one tag; the rest is dropped.
const maxAttr = 64

// tagAttr holds the attributes of one tag that may stay, values decoded.
type tagAttr struct {
	list []attr
	buf  []byte // names and values
}

// attr is a name at buf[name:val] and its value at buf[val:end].
type attr struct{ name, val, end int }

func (t *tagAttr) reset() { t.list, t.buf = t.list[:0], t.buf[:0] }

func (t *tagAttr) add(name, val []byte) {
	a := attr{name: len(t.buf), val: len(t.buf) + len(name), end: len(t.buf) + len(name) + len(val)}
	t.buf = append(append(t.buf, name...), val...)
	t.list = append(t.list, a)
}

// get returns a value in lower case, or "" if the attribute is not there.
func (t *tagAttr) get(name string) string {
	for _, a := range t.list {
		if string(t.buf[a.name:a.val]) == name {
			return strings.ToLower(string(t.buf[a.val:a.end]))
		}
	}
	return ""
}

// readAttr collects the current tag's attributes that may stay. Of two with
// one name the tokenizer gives the first only, as parsers do.
func (f *filter) readAttr(more bool) {
	f.tag.reset()
	var name, val []byte
	for more {
		name, val, more = f.z.TagAttr()
		f.addAttr(name, val)
	}
}

// addAttr keeps an attribute if it may stay.
func (f *filter) addAttr(name, val []byte) {
	val, why := f.filterAttr(name, val)
	switch {
	case why != 0:
		f.removed |= why
	case len(f.tag.list) == maxAttr:
		f.removed |= Attribute
	default:
		f.tag.add(name, val)
	}
}

// filterAttr returns the value to write, or why the attribute goes.
func (f *filter) filterAttr(name, val []byte) ([]byte, Removed) {
	kind, ok := attributes[string(name)]
	if !ok && f.mso {
		kind, ok = officeAttributes[string(name)]
	}
	switch {
	case ok:
	case len(val) == 0 && string(name) == "http-equiv":
		return nil, Attribute // it says nothing
	case metaAttributes[string(name)] && strings.EqualFold(string(f.spelled), "meta"), isAria(name):
		kind = plain
	case len(name) > 2 && string(name[:2]) == "on":
		return nil, Event
	default:
		return nil, Attribute
	}
	switch kind {
	case link, loaded:
		clean, ok := cleanURL(val, kind == loaded)
		if !ok {
			return nil, URL
		}
		return clean, 0
	case srcset:
		if !allowedSrcset(val) {
			return nil, URL
		}
	case style:
		if isPlainCSS(val) {
			return val, 0
		}
		clean, ok := f.css.declarations(string(val))
		if !ok {
			f.removed |= CSS
		}
		return []byte(clean), 0
	case target:
		switch strings.ToLower(string(val)) {
		case "_blank", "_self", "_parent", "_top":
		default:
			return nil, Attribute
		}
	case namespace:
		if !namespaces[string(val)] {
			return nil, Attribute
		}
	}
	return val, 0
}

func (f *filter) writeTag(selfClosing bool) {
	f.out = append(f.out, '<')
	f.out = append(f.out, f.spelled...)
	for _, a := range f.tag.list {
		f.out = append(f.out, ' ')
		f.out = append(f.out, f.tag.buf[a.name:a.val]...)
		f.out = append(f.out, '=', '"')
		f.writeValue(f.tag.buf[a.val:a.end])
		f.out = append(f.out, '"')
	}
	if selfClosing {
		f.out = append(f.out, ' ', '/')
	}
	f.out = append(f.out, '>')
}
