package lens

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/postledger/postledger/lens/catalogue"
)

// AppendJSON writes a row as JSON, in the order and shape of the select and in the
// forms that [catalogue.Kind] names: what every database gives for the same data is
// the same text. A member that the row lacks is an error.
func (q *Query) AppendJSON(to []byte, row Row) ([]byte, error) {
	return appendShape(to, q.shape, row, "")
}

func appendShape(to []byte, s shape, row Row, path string) ([]byte, error) {
	to = append(to, '{')
	for i, item := range s {
		if i > 0 {
			to = append(to, ',')
		}
		name := item.name()
		value, held := row[name]
		at := join(path, name)
		if !held {
			return nil, &Fault{Path: at, Problem: "the row does not hold it"}
		}
		to = append(appendText(to, name), ':')
		var err error
		if item.column != nil {
			to, err = appendValue(to, item.column.Kind, item.column.Element, value, at)
		} else {
			to, err = appendRelated(to, item.nested, value, at)
		}
		if err != nil {
			return nil, err
		}
	}
	return append(to, '}'), nil
}

func (i shapeItem) name() string {
	if i.column != nil {
		return i.column.Name
	}
	return i.nested.relation.Name
}

func appendRelated(to []byte, n *nested, value any, path string) ([]byte, error) {
	rows, ok := relatedRows(value, n.relation.Many)
	switch {
	case !ok:
		return nil, &Fault{Path: path, Problem: fmt.Sprintf("holds %T, not related rows", value)}
	case !n.relation.Many && len(rows) == 0:
		return append(to, "null"...), nil
	case !n.relation.Many:
		return appendShape(to, n.shape, rows[0], path)
	}
	to = append(to, '[')
	for i, row := range rows {
		if i > 0 {
			to = append(to, ',')
		}
		var err error
		if to, err = appendShape(to, n.shape, row, fmt.Sprintf("%s[%d]", path, i)); err != nil {
			return nil, err
		}
	}
	return append(to, ']'), nil
}

func appendValue(to []byte, kind, element catalogue.Kind, value any, path string) ([]byte, error) {
	switch v := value.(type) {
	case nil:
		return append(to, "null"...), nil
	case bool:
		return strconv.AppendBool(to, v), nil
	case int64:
		return strconv.AppendInt(to, v, 10), nil
	case []byte:
		return appendText(to, base64.StdEncoding.EncodeToString(v)), nil
	case time.Time:
		form := time.RFC3339Nano
		if kind == catalogue.Timestamp {
			form = wallForm
		}
		return appendText(to, v.Format(form)), nil
	case string:
		if kind != catalogue.JSON {
			return appendText(to, v), nil
		}
	case []any:
		if kind == catalogue.JSON {
			break
		}
		to = append(to, '[')
		for i, one := range v {
			if i > 0 {
				to = append(to, ',')
			}
			var err error
			if to, err = appendValue(to, element, "", one, fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return nil, err
			}
		}
		return append(to, ']'), nil
	}
	text, err := json.Marshal(value) // floats, and whatever JSON holds
	if err != nil {
		return nil, &Fault{Path: path, Problem: fmt.Sprintf("%T cannot be written as JSON", value)}
	}
	return append(to, text...), nil
}

// appendText writes text as JSON without escaping HTML: a template does that.
func appendText(to []byte, s string) []byte {
	plain := true
	for i := range len(s) {
		if s[i] < ' ' || s[i] == '"' || s[i] == '\\' || s[i] >= 0x7f {
			plain = false
			break
		}
	}
	if plain {
		return append(append(append(to, '"'), s...), '"')
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic("lens: text that cannot be written")
	}
	return append(to, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}
