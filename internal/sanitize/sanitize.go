package sanitize

import (
	"strings"

	"golang.org/x/net/html"
)

// HTML returns the filtered document or fragment and what kinds of things were
// removed from it.
func HTML(s string) (string, Removed) {
	s, removed := clean(s)
	f := filter{out: make([]byte, 0, len(s)+len(s)/16+64), removed: removed}
	f.run(s)
	if string(f.out) == s {
		return s, f.removed // without a second copy of what may be large
	}
	return string(f.out), f.removed
}

// filter reads tokens and writes what may stay. It reads one document and, with
// z exchanged and mso set, the content of its conditional comments.
type filter struct {
	z       *html.Tokenizer
	out     []byte
	removed Removed
	mso     bool // inside a conditional comment
	doctype bool // one was written

	taken   int     // how much the tokenizer has read of the current token
	spelled []byte  // the current tag's name as it was written
	tag     tagAttr // the current tag's attributes that may stay
	lower   []byte  // scratch for a plain tag's name
	found   tagAttr // and for its attributes
	css     sheet   // scratch for style sheets

	tokenizers, plainTags int // how many there were

	// fragments holds where the output of a conditional comment's content is.
	fragments map[string]span
}

type span struct{ begin, end int }

// run filters s: what is plain by itself, and the tokens between by the tokenizer.
// In a conditional comment all is the tokenizer's: little of it is plain.
func (f *filter) run(s string) {
	f.z = nil
	for at := 0; at < len(s); at += f.taken {
		// A tokenizer costs as much as a few plain tags save, so where there
		// is one for every four it stays.
		if !f.mso && f.tokenizers <= 8+f.plainTags/4 {
			if n := f.plain(s[at:]); n > 0 {
				if at += n; at == len(s) {
					return
				}
				f.z = nil
			}
		}
		if f.z == nil {
			f.tokenizers++
			f.z = html.NewTokenizer(strings.NewReader(s[at:]))
		}
		f.taken = 0
		if !f.token() {
			return
		}
	}
}

// next reads a token.
func (f *filter) next() html.TokenType {
	t := f.z.Next()
	f.taken += len(f.z.Raw())
	return t
}

// token filters what the tokenizer reads next: a token, and with an element that
// is dropped or has a content of its own all of it. It returns false at the end.
func (f *filter) token() bool {
	switch f.next() {
	case html.ErrorToken:
		// The reader never fails, so this is the end. An unfinished tag
		// before it is gone.
		return false
	case html.TextToken:
		f.out = writeText(f.out, f.z.Raw(), f.mso)
	case html.StartTagToken:
		f.start(false)
	case html.SelfClosingTagToken:
		f.start(true)
	case html.EndTagToken:
		name, _ := f.name(len("</"))
		f.endTag(f.lookup(name))
	case html.CommentToken:
		f.comment(f.z.Raw())
	case html.DoctypeToken:
		f.writeDoctype(f.z.Raw())
	}
	return true
}

// name returns the current tag's name in lower case and keeps its spelling,
// because XML islands tell letter cases apart. skip is the length of "<" or
// "</".
func (f *filter) name(skip int) (lower []byte, hasAttr bool) {
	raw := f.z.Raw()[skip:]
	end := 0
	for end < len(raw) && strings.IndexByte(" \t\n/>", raw[end]) < 0 {
		end++
	}
	f.spelled = append(f.spelled[:0], raw[:end]...)
	return f.z.TagName()
}

// lookup decides about an element where it stands.
func (f *filter) lookup(name []byte) element {
	e, ok := elements[string(name)]
	switch {
	case !ok:
		return element{strip, Element}
	case e.handling != officeOnly:
		return e
	case f.mso:
		return element{keep, 0}
	case string(name) == "noscript":
		return element{drop, e.removed}
	}
	return element{strip, e.removed}
}

func (f *filter) start(selfClosing bool) {
	name, hasAttr := f.name(len("<"))
	e := f.lookup(name)
	switch e.handling {
	case keep, keepVoid:
		if f.mso && string(name) == "noscript" {
			// The tokenizer would take its content for one text.
			f.z.NextIsNotRawText()
		}
		f.readAttr(hasAttr)
		f.writeTag(selfClosing)
	case keepMeta:
		f.readAttr(hasAttr)
		if !f.tag.displayMeta() {
			f.removed |= e.removed
			return
		}
		f.writeTag(selfClosing)
	case keepStyle:
		f.readAttr(hasAttr)
		f.styleElement()
	case keepTitle:
		f.titleElement()
	case drop:
		f.removed |= e.removed
		if !selfClosing || isRaw(name) {
			f.skip(string(name))
		}
	default:
		f.removed |= e.removed
	}
}

// endTag writes the end tag that is spelled so.
func (f *filter) endTag(e element) {
	if e.handling != keep {
		if e.handling == strip {
			f.removed |= e.removed
		}
		return
	}
	f.closeTag()
}

// skip drops everything up to the end tag of the element that has just been
// opened.
func (f *filter) skip(name string) {
	for depth := 1; depth > 0; {
		switch f.next() {
		case html.ErrorToken:
			return
		case html.StartTagToken:
			if inner, _ := f.z.TagName(); string(inner) == name {
				depth++
			}
		case html.EndTagToken:
			if inner, _ := f.z.TagName(); string(inner) == name {
				depth--
			}
		}
	}
}

// isRaw lists the dropped elements whose content the tokenizer reads as text
// even if the tag looks self-closing.
func isRaw(name []byte) bool {
	switch string(name) {
	case "script", "iframe", "noembed", "noframes", "noscript", "plaintext", "xmp", "textarea":
		return true
	}
	return false
}

// content returns the raw text of a style or title element that has just been
// opened and reads its end tag, which may be missing at the end of the input.
func (f *filter) content() string {
	if f.next() != html.TextToken {
		return "" // the end tag, or the end
	}
	text := string(f.z.Raw())
	f.next()
	return text
}

func (f *filter) styleElement() {
	clean, ok := f.css.stylesheet(f.content())
	if !ok {
		f.removed |= CSS
	}
	if f.mso && (strings.Contains(clean, "-->") || strings.Contains(clean, "--!>")) {
		// It would end the comment it is in, and CSS has no other way to
		// write ">".
		f.removed |= CSS
		return
	}
	f.writeTag(false)
	f.out = append(f.out, clean...)
	f.closeTag()
}

func (f *filter) titleElement() {
	f.tag.reset()
	text := f.content()
	if f.mso {
		f.removed |= Element
		return
	}
	f.writeTag(false)
	f.out = writeText(f.out, text, f.mso)
	f.closeTag()
}

func (f *filter) closeTag() {
	f.out = append(f.out, '<', '/')
	f.out = append(f.out, f.spelled...)
	f.out = append(f.out, '>')
}
