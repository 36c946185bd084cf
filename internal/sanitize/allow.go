package sanitize

// handling says what becomes of an element.
type handling uint8

const (
	strip handling = iota // the tags go, the content stays and is filtered
	keep
	keepVoid  // kept, has no end tag
	drop      // goes with its content
	dropVoid  // goes, has no content
	keepMeta  // decided by its attributes
	keepStyle // content is CSS
	keepTitle // content is text
	officeOnly
)

type element struct {
	handling
	removed Removed // what to report when it goes
}

// elements lists every element that is not simply stripped as unknown.
var elements = buildElements()

func buildElements() map[string]element {
	m := map[string]element{}
	add := func(h handling, r Removed, names ...string) {
		for _, name := range names {
			m[name] = element{h, r}
		}
	}
	add(keep, 0, "html", "head", "body",
		"div", "span", "p", "a", "center", "font", "pre", "blockquote", "address", "nobr",
		"article", "section", "header", "footer", "main", "nav", "aside", "figure", "figcaption", "details", "summary",
		"h1", "h2", "h3", "h4", "h5", "h6", "hgroup",
		"b", "strong", "i", "em", "u", "s", "strike", "del", "ins", "sub", "sup", "small", "big", "tt", "code", "kbd",
		"samp", "var", "q", "cite", "abbr", "acronym", "dfn", "mark", "time", "bdi", "bdo", "ruby", "rt", "rp",
		"ul", "ol", "li", "dl", "dt", "dd", "menu",
		"table", "caption", "colgroup", "thead", "tbody", "tfoot", "tr", "td", "th",
		"map", "picture", "o:p")
	add(keepVoid, 0, "br", "hr", "img", "wbr", "col", "area", "source")
	add(keepMeta, Meta, "meta")
	add(keepStyle, CSS, "style")
	add(keepTitle, Element, "title")

	// VML and Office markup means something to Outlook only, so it has no
	// business outside of what only Outlook reads. Neither has noscript, whose
	// content other parsers read in two ways.
	add(officeOnly, Element, "v:rect", "v:roundrect", "v:oval", "v:line", "v:shape", "v:shapetype", "v:group", "v:background",
		"v:fill", "v:stroke", "v:textbox", "v:image", "v:imagedata", "v:path", "v:shadow", "v:f", "v:formulas",
		"w:anchorlock", "w:wrap", "o:lock", "xml", "noscript",
		"o:officedocumentsettings", "o:allowpng", "o:pixelsperinch",
		"w:worddocument", "w:view", "w:zoom", "w:donotoptimizeforbrowser", "w:dontusehtmlparagraphautospacing",
		"w:trackmoves", "w:trackformatting", "w:punctuationkerning", "w:validateagainstschemas")

	add(drop, Script, "script")
	add(drop, Embed, "iframe", "object", "applet", "svg", "math", "noembed", "noframes", "frameset", "template", "xmp", "plaintext")
	add(dropVoid, Embed, "embed", "frame", "param", "bgsound")
	add(strip, Embed, "audio", "video", "canvas")
	add(drop, Form, "textarea", "select", "datalist")
	add(dropVoid, Form, "input", "keygen")
	add(strip, Form, "form", "button", "fieldset", "legend", "label", "option", "optgroup", "output", "progress", "meter")
	add(dropVoid, Element, "base", "link", "track", "basefont")
	return m
}

// value says how an attribute's value is filtered.
type value uint8

const (
	plain  value = iota + 1
	link         // URL that is followed
	loaded       // URL that is loaded by itself
	srcset
	style
	target
	namespace
)

// attributes holds for every element, because each of them is inert wherever
// it does not belong.
var attributes = buildAttributes(map[value][]string{
	plain: {
		"class", "id", "title", "alt", "dir", "lang", "xml:lang", "role", "name", "rel", "type", "media", "hidden", "translate",
		"align", "valign", "width", "height", "border", "bgcolor", "bordercolor", "cellpadding", "cellspacing", "colspan",
		"rowspan", "span", "scope", "abbr", "headers", "summary", "rules", "frame", "nowrap", "hspace", "vspace", "clear",
		"noshade", "color", "face", "size", "sizes", "start", "value", "reversed", "compact", "shape", "coords", "open",
		"datetime", "text", "link", "vlink", "alink", "leftmargin", "topmargin", "rightmargin", "bottommargin",
		"marginwidth", "marginheight",
	},
	link:      {"href", "usemap"},
	loaded:    {"src", "background"},
	srcset:    {"srcset"},
	style:     {"style"},
	target:    {"target"},
	namespace: {"xmlns", "xmlns:v", "xmlns:o", "xmlns:w", "xmlns:x"},
})

// officeAttributes are allowed in addition where only Outlook reads.
var officeAttributes = buildAttributes(map[value][]string{
	plain: {
		"arcsize", "fill", "filled", "fillcolor", "stroke", "stroked", "strokecolor", "strokeweight", "opacity", "color2",
		"angle", "focus", "focusposition", "focussize", "method", "aspect", "origin", "position", "coordsize", "coordorigin",
		"inset", "path", "adj", "from", "to", "on", "obscured", "offset", "joinstyle", "linestyle", "dashstyle", "endcap",
		"weight", "gradientshapeok", "connecttype", "textboxrect", "limo", "eqn", "ext", "v:ext", "aspectratio", "anchorx",
		"anchory", "o:spid", "o:spt", "o:button", "o:allowincell", "o:allowoverlap", "o:insetmode", "o:title", "o:gfxdata",
		"o:preferrelative", "o:connecttype", "esd",
	},
	link:   {"o:href"},
	loaded: {"o:src"},
})

func buildAttributes(kinds map[value][]string) map[string]value {
	m := map[string]value{}
	for kind, names := range kinds {
		for _, name := range names {
			m[name] = kind
		}
	}
	return m
}

// namespaces are the only values of xmlns attributes.
var namespaces = map[string]bool{
	"http://www.w3.org/1999/xhtml":            true,
	"http://www.w3.org/TR/REC-html40":         true,
	"urn:schemas-microsoft-com:vml":           true,
	"urn:schemas-microsoft-com:office:office": true,
	"urn:schemas-microsoft-com:office:word":   true,
	"urn:schemas-microsoft-com:office:excel":  true,
}

func isAria(name []byte) bool {
	if len(name) < len("aria-x") || len(name) > 32 || string(name[:5]) != "aria-" {
		return false
	}
	for _, c := range name[5:] {
		if c < 'a' || c > 'z' {
			return false
		}
	}
	return true
}
