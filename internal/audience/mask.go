package audience

import (
	"strings"
	"unicode/utf8"

	"github.com/postledger/postledger/lens"
	"github.com/postledger/postledger/lens/catalogue"
)

// maskRow hides the texts of a row that was read for this purpose: addresses show
// their first letters, other texts one, JSON and bytes nothing. Numbers, times,
// truth values, enums and ids of a row stay: they say what kind of rows these are.
func maskRow(row lens.Row, items []lens.Item, t *catalogue.Table) {
	for _, item := range items {
		if item.Relation != nil {
			if r, found := t.Relation(item.Relation.Name); found {
				maskRelated(row[item.Relation.Name], item.Relation.Select, r.To)
			}
			continue
		}
		value := row[item.Field]
		column, found := t.Column(item.Field)
		if !found || value == nil {
			continue
		}
		row[item.Field] = maskValue(column.Kind, column.Element, value)
	}
}

func maskRelated(value any, items []lens.Item, t *catalogue.Table) {
	switch v := value.(type) {
	case lens.Row:
		if v != nil {
			maskRow(v, items, t)
		}
	case []lens.Row:
		for _, row := range v {
			maskRow(row, items, t)
		}
	}
}

func maskValue(kind, element catalogue.Kind, value any) any {
	switch kind {
	case catalogue.Text:
		if text, ok := value.(string); ok {
			return Mask(text)
		}
		return ellipsis
	case catalogue.JSON:
		return ellipsis
	case catalogue.Bytes:
		return []byte{}
	case catalogue.Array:
		list, ok := value.([]any)
		if !ok {
			return []any{}
		}
		masked := make([]any, len(list))
		for i, one := range list {
			if masked[i] = one; one != nil {
				masked[i] = maskValue(element, "", one)
			}
		}
		return masked
	}
	return value
}

const ellipsis = "…"

// Mask hides a text: "ada@example.net" is "a…@e….net", and "Ada" is "A…".
func Mask(text string) string {
	at := strings.LastIndexByte(text, '@')
	if at <= 0 || at == len(text)-1 {
		return first(text) + ellipsis
	}
	domain, top := text[at+1:], ""
	if dot := strings.LastIndexByte(domain, '.'); dot > 0 {
		domain, top = domain[:dot], domain[dot:]
	}
	if utf8.RuneCountInString(top) > len(".museum") {
		top = ""
	}
	return first(text[:at]) + ellipsis + "@" + first(domain) + ellipsis + top
}

// first is the first letter of a text; a text of one letter has none to show.
func first(text string) string {
	r, size := utf8.DecodeRuneInString(text)
	if r == utf8.RuneError || size == len(text) {
		return ""
	}
	return text[:size]
}
