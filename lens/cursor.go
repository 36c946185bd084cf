package lens

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/postledger/postledger/lens/catalogue"
)

// Cursor says where a page ended, so that the next begins after it. It is text to
// be kept and given back, good for as long as the lens keeps its table, order and
// key; its parameters may change. "" is the beginning. It holds values of the last
// row and is no secret from whoever may read that row.
type Cursor string

// ErrCursor refuses a cursor that this lens did not give.
var ErrCursor = errors.New("the cursor is not one of this lens's")

// position is the last row: the values it is ordered by, in the form in which they
// are compared, and its key as the database has it.
type position struct{ order, key []any }

type cursorJSON struct {
	Order string    `json:"o"`
	At    []*string `json:"a"`
}

// orderName is what a cursor is bound to.
func orderName(table string, order []ordering, key []string) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q", table)
	for _, o := range order {
		fmt.Fprintf(h, " %q %t", o.column.Name, o.desc)
	}
	fmt.Fprintf(h, " %q", key)
	return hex.EncodeToString(h.Sum(nil)[:8])
}

func encodeCursor(name string, at position) (Cursor, error) {
	c := cursorJSON{Order: name}
	for _, v := range append(append([]any{}, at.order...), at.key...) {
		cell, err := encodeCell(v)
		if err != nil {
			return "", err
		}
		c.At = append(c.At, cell)
	}
	text, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("write a cursor: %w", err)
	}
	return Cursor(base64.RawURLEncoding.EncodeToString(text)), nil
}

// mostCursor bounds what is decoded: a longer one was never given.
const mostCursor = 4 << 20

// decodeCursor reads a cursor for values of an order and a key of a dialect. What could
// not have come from there is refused: a database would make something of it.
func decodeCursor(d catalogue.Dialect, c Cursor, name string, order []ordering, key []*catalogue.Column) (position, error) {
	if len(c) > mostCursor {
		return position{}, ErrCursor
	}
	text, err := base64.RawURLEncoding.DecodeString(string(c))
	if err != nil {
		return position{}, ErrCursor
	}
	var read cursorJSON
	if err := json.Unmarshal(text, &read); err != nil || read.Order != name || len(read.At) != len(order)+len(key) {
		return position{}, ErrCursor
	}
	values := make([]any, len(read.At))
	for i, cell := range read.At {
		v, ok := decodeCell(cell)
		switch {
		case !ok,
			i < len(order) && !isComparable(d, order[i].column, v),
			i >= len(order) && !isRaw(d, key[i-len(order)], v):
			return position{}, ErrCursor
		}
		values[i] = v
	}
	return position{values[:len(order)], values[len(order):]}, nil
}

// encodeCell writes a value after a letter for its type.
func encodeCell(v any) (*string, error) {
	var text string
	switch v := v.(type) {
	case nil:
		return nil, nil
	case string:
		if !utf8.ValidString(v) { // SQLite keeps any, and JSON would change it
			return encodeBytes('x', v), nil
		}
		text = "s" + v
	case int64:
		text = "i" + strconv.FormatInt(v, 10)
	case number:
		text = "d" + v.text
	case float64:
		text = "f" + strconv.FormatFloat(v, 'g', -1, 64)
	case bool:
		text = "o" + strconv.FormatBool(v)
	case time.Time:
		text = "t" + v.Format(time.RFC3339Nano)
	case []byte:
		return encodeBytes('b', string(v)), nil
	default:
		return nil, fmt.Errorf("write a cursor: a value of type %T", v)
	}
	return &text, nil
}

func encodeBytes(letter byte, v string) *string {
	text := string(letter) + base64.RawStdEncoding.EncodeToString([]byte(v))
	return &text
}

func decodeCell(cell *string) (any, bool) {
	if cell == nil {
		return nil, true
	}
	if *cell == "" {
		return nil, false
	}
	text := (*cell)[1:]
	switch (*cell)[0] {
	case 's':
		return text, true
	case 'i':
		n, err := strconv.ParseInt(text, 10, 64)
		return n, err == nil
	case 'd':
		if !plainNumber(text) {
			return nil, false
		}
		rat, ok := new(big.Rat).SetString(text)
		return number{text: text, rat: rat}, ok
	case 'f':
		f, err := strconv.ParseFloat(text, 64)
		return f, err == nil && !math.IsNaN(f)
	case 'o':
		b, err := strconv.ParseBool(text)
		return b, err == nil
	case 't':
		t, err := time.Parse(time.RFC3339Nano, text)
		return t.UTC(), err == nil
	case 'b', 'x':
		b, err := base64.RawStdEncoding.Strict().DecodeString(text)
		if (*cell)[0] == 'x' {
			return string(b), err == nil
		}
		return b, err == nil
	}
	return nil, false
}
