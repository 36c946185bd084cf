package lens

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/postledger/postledger/lens/catalogue"
)

// decode turns what a driver gave for dialect.read into a value of a [Row]. What
// is no value of the column's kind is nil, as it is for every comparison.
func decode(d catalogue.Dialect, c *catalogue.Column, raw any) (any, error) {
	if raw == nil || d == catalogue.SQLite && !stored(c, raw) {
		return nil, nil
	}
	if b, isBytes := raw.([]byte); isBytes {
		if c.Kind == catalogue.Bytes {
			return append([]byte{}, b...), nil // the driver may use its own again
		}
		raw = string(b)
	}
	switch {
	case c.Encoding.Unit() > 0:
		return decodeUnix(c, raw)
	case c.Kind == catalogue.Bool:
		return decodeBool(c, raw)
	}
	switch c.Kind {
	case catalogue.Decimal:
		value, err := decodeNumber(c, raw)
		if text, isText := value.(string); isText && d == catalogue.SQLite {
			return padded(text, c.Scale), err
		}
		return value, err
	case catalogue.Int, catalogue.BigInt:
		return decodeNumber(c, raw)
	case catalogue.Float:
		return decodeFloat(c, raw)
	}
	text, isText := raw.(string)
	if !isText {
		return nil, undecodable(c, raw)
	}
	switch c.Kind {
	case catalogue.Text, catalogue.Enum:
		return raw, nil
	case catalogue.UUID:
		if id, ok := parseUUID(text); ok {
			return id, nil
		}
		return nil, nil
	case catalogue.Bytes:
		return []byte(text), nil
	case catalogue.Date, catalogue.Time, catalogue.Timestamp, catalogue.TimestampTZ:
		return decodeMoment(c, text), nil
	case catalogue.JSON:
		return decodeJSON(d, text), nil
	case catalogue.Array:
		return decodeArray(c, text)
	}
	return nil, undecodable(c, raw)
}

func undecodable(c *catalogue.Column, raw any) error {
	return fmt.Errorf("the driver gave %T for field %s (%s)", raw, c.Name, c.Kind)
}

func decodeBool(c *catalogue.Column, raw any) (any, error) {
	switch v := raw.(type) {
	case bool:
		return v, nil
	case int64:
		return v != 0, nil
	case string:
		return v != "0", nil
	}
	return nil, undecodable(c, raw)
}

// decodeNumber keeps the digits as the database writes them.
func decodeNumber(c *catalogue.Column, raw any) (any, error) {
	var text string
	switch v := raw.(type) {
	case int64:
		if c.Kind == catalogue.Int {
			return v, nil
		}
		text = strconv.FormatInt(v, 10)
	case uint64:
		text = strconv.FormatUint(v, 10)
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return nil, nil
		}
		text = strconv.FormatFloat(v, 'f', -1, 64)
	case string:
		text = v
	default:
		return nil, undecodable(c, raw)
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r != '-' && r != '.' && (r < '0' || r > '9') }) {
		return nil, nil // NaN and infinities
	}
	if c.Kind == catalogue.Int {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, undecodable(c, raw)
		}
		return n, nil
	}
	return text, nil
}

// padded writes a number with the digits after the point that its column is declared to
// have, as the other databases do. What has more keeps them.
func padded(text string, scale int) string {
	_, fraction, point := strings.Cut(text, ".")
	if missing := scale - len(fraction); missing > 0 {
		if !point {
			text += "."
		}
		text += strings.Repeat("0", missing)
	}
	return text
}

func decodeFloat(c *catalogue.Column, raw any) (any, error) {
	var f float64
	switch v := raw.(type) {
	case float64:
		f = v
	case string:
		parsed, err := strconv.ParseFloat(v, 64)
		if err != nil {
			return nil, undecodable(c, raw)
		}
		f = parsed
	default:
		return nil, undecodable(c, raw)
	}
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return nil, nil
	}
	return f, nil
}

func decodeMoment(c *catalogue.Column, text string) any {
	form := "2006-01-02 15:04:05.999999"
	switch c.Kind {
	case catalogue.Date:
		form = dateForm
	case catalogue.Time:
		form = timeForm
	}
	t, err := time.Parse(form, text)
	switch {
	case err != nil, c.Kind != catalogue.Time && t.Year() < 1:
		return nil
	case c.Kind == catalogue.Date || c.Kind == catalogue.Time:
		return t.Format(form)
	}
	return t
}

// decodeArray reads the JSON that PostgreSQL made of an array. Arrays of several
// dimensions are no values.
func decodeArray(c *catalogue.Column, text string) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.UseNumber()
	var list []any
	if err := decoder.Decode(&list); err != nil {
		return nil, fmt.Errorf("read array %s: %w", c.Name, err)
	}
	element := &catalogue.Column{Name: c.Name, Kind: c.Element}
	for i, v := range list {
		switch v := v.(type) {
		case nil:
		case []any:
			return nil, nil
		case json.Number:
			one, err := decode(catalogue.PostgreSQL, element, string(v))
			if err != nil {
				return nil, err
			}
			list[i] = one
		default:
			one, err := decode(catalogue.PostgreSQL, element, v)
			if err != nil {
				return nil, err
			}
			list[i] = one
		}
	}
	return list, nil
}
